// Engines over models that are split: ranks are threads, the engine is rank 0's.
#include "engine/external_stepping.hpp"
#include "engine/model_engines.hpp"
#include "engine/session_files.hpp"
#include "engine/snapshot/session_format.hpp"
#include "formats/checkpoint/checksum.hpp"
#include "network/model/load_rank.hpp"
#include "network/parallel/rank_group.hpp"
#include "test_data.hpp"
#include "thread_transport.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <ostream>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace cogen {

namespace test {
namespace {

/// How a model is split, and where its ranks compute.
struct layout {
  int tensor;
  int pipeline;
  std::string device = "cpu";

  int ranks() const { return tensor * pipeline; }
};

std::ostream& operator<<(std::ostream& out, const layout& split) {
  return out << split.tensor << " tensor, " << split.pipeline << " pipeline on " << split.device;
}

namespace data = boost::unit_test::data;

/// Those of the devices of this build.
std::vector<layout> available(std::vector<layout> layouts) {
  std::erase_if(layouts, [](const layout& split) { return std::ranges::count(devices, split.device) == 0; });
  return layouts;
}

const auto splits = available({{2, 1}, {3, 1}, {1, 2}, {2, 2}, {2, 1, "reference"}, {3, 1, "reference"}});
const std::vector<std::string> goldens{"llama_default",         "mixtral_published", "deepseek_v3_published",
                                       "gpt_neox_published",    "jamba_tiny",        "bart_tiny",
                                       "gpt_bigcode_published", "gpt_oss_published", "qwen3_next_published",
                                       "gemma3n_stages",        "zamba2_published"};

using use_engine = std::function<void(engine&, const model&)>;

/// Loads a golden over ranks. Rank 0 makes an engine and calls `use`, the others work for it.
void over_ranks(thread_ranks& ranks, const std::string& golden, const layout& split,
                const std::function<void(engine_options&)>& change, const use_engine& use) {
  run_ranks(ranks, [&](auto transport) {
    const auto group = std::make_shared<parallel::rank_group>(std::move(transport), split.tensor, split.pipeline);
    const auto model = nn::load_rank(golden_folder(golden), {.threads = 1, .device = split.device}, group);
    auto options = tiny_engine(*model);
    change(options);
    if (!group->leads()) return run_worker(model, options);
    engine running(model, options);
    use(running, *model);
  });
}

void over_ranks(const std::string& golden, const layout& split, const std::function<void(engine_options&)>& change,
                const use_engine& use) {
  thread_ranks ranks(split.ranks());
  over_ranks(ranks, golden, split, change, use);
}

void as_it_is(engine_options&) {}

std::vector<std::vector<token>> answers(engine& running, const model& model, int count, bool together) {
  net::io_context context;
  std::vector<token_stream> streams;
  std::vector<std::vector<token>> received(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    auto wanted = request{.prompt = token_ids(some_tokens(model, 5 + 9 * i, static_cast<unsigned>(i))),
                          .max_tokens = 12,
                          .ignore_eos = true};
    if (model.has_encoder()) wanted.encoder_input = source_for(model, static_cast<unsigned>(i));
    streams.push_back(running.generate(wanted));
    streams.back().async_complete(net::bind_executor(context, [&received, i](error_code code, completion whole) {
      BOOST_TEST(!code);
      received[static_cast<std::size_t>(i)] = ids_of(whole.tokens);
    }));
    if (!together) settle(running, context);
  }
  settle(running, context);
  return received;
}

BOOST_AUTO_TEST_SUITE(split_engines)

BOOST_DATA_TEST_CASE(answers_do_not_depend_on_others, data::make(goldens) * data::make(splits), golden, split) {
  over_ranks(golden, split, as_it_is, [&](engine& running, const model& model) {
    const auto together = answers(running, model, 6, true);
    BOOST_TEST((together == answers(running, model, 6, false)));
    if (split.tensor > 1 && split.device == "cpu") return;  // other rounding
    engine whole(load_model(golden_folder(golden), {.threads = 1, .device = split.device}), tiny_engine(model));
    BOOST_TEST((together == answers(whole, model, 6, true)), "other tokens than of one process");
  });
}

/// Counts the steps that are launched while another one is in flight.
class overlaps final : public event_sink {
 public:
  void on_step(const step_event& step) override {
    steps_ += 1;
    if (step.begin < last_end_) overlapping_ += 1, rows_ = std::max(rows_, step.rows);
    last_end_ = step.end;
  }

  int steps() const { return steps_; }
  int overlapping() const { return overlapping_; }
  int rows() const { return rows_; }  ///< the most of an overlapping step

 private:
  clock::time_point last_end_{};
  int steps_ = 0, overlapping_ = 0, rows_ = 0;
};

BOOST_DATA_TEST_CASE(stages_have_two_steps_at_once, data::make({layout{2, 1}, {1, 2}, {2, 2}}), split) {
  const auto counted = std::make_shared<overlaps>();
  const auto count = [&](engine_options& options) {
    options.batching.slots = 6;
    options.events = counted;
  };
  over_ranks("llama_default", split, count, [&](engine& running, const model& model) {
    answers(running, model, 6, true);
    BOOST_TEST(counted->steps() > 20);
    if (split.pipeline == 1) {
      BOOST_TEST(counted->overlapping() == 0);
      return;
    }
    BOOST_TEST(counted->overlapping() > counted->steps() / 2);
    BOOST_TEST(counted->rows() <= 4);  // a prompt and half of the others
    const auto previous = counted->overlapping();
    answers(running, model, 1, true);
    BOOST_TEST(counted->overlapping() == previous);
  });
}

/// What a prompt that is read in many steps is reported with, beside others, one of which is sampled by its own
/// processor.
std::vector<double> prompt_report(engine& running, const model& model) {
  net::io_context context;
  std::vector<token_stream> streams;
  for (int i = 0; i < 4; ++i) {
    request wanted{
        .prompt = token_ids(some_tokens(model, 90 + i, static_cast<unsigned>(i))), .max_tokens = 6, .ignore_eos = true};
    if (i == 1) wanted.sampling.processor = [](auto, auto scores) { scores[7] += 1000; };
    if (i == 2) wanted.prompt_logprobs = 1;
    streams.push_back(running.generate(std::move(wanted)));
    streams.back().async_complete(net::bind_executor(context, [i](error_code code, const completion& whole) {
      BOOST_TEST(!code);
      if (i == 1) BOOST_TEST((ids_of(whole.tokens) == std::vector<token>(6, 7)));
    }));
  }
  settle(running, context);
  std::vector<double> reported;
  for (const auto& each : streams[2].prompt_logprobs()) reported.push_back(each.logprob);
  return reported;
}

BOOST_DATA_TEST_CASE(prompts_are_scored_while_the_next_part_of_them_is_in_flight,
                     data::make(available({{1, 2}, {2, 1, "reference"}})), split) {
  over_ranks("llama_default", split, as_it_is, [&](engine& running, const model& model) {
    engine whole(golden_model("llama_default"), tiny_engine(model));
    const auto expected = prompt_report(whole, model), reported = prompt_report(running, model);
    BOOST_TEST(expected.size() == 92u);
    BOOST_REQUIRE_EQUAL(reported.size(), expected.size());
    const double most = split.device == "cpu" ? 0 : 4e-4;
    for (std::size_t i = 0; i < expected.size(); ++i) BOOST_TEST(std::abs(reported[i] - expected[i]) <= most);
  });
}

// Streams end while their rows are in flight, and the others go on as they would alone.
BOOST_DATA_TEST_CASE(streams_are_dropped_in_the_middle, data::make({layout{1, 2}, {2, 2}}), split) {
  over_ranks("llama_default", split, as_it_is, [&](engine& running, const model& model) {
    const auto expected = answers(running, model, 6, false);
    std::mt19937 random(5);
    net::io_context context;
    for (int round = 0; round < 20; ++round) {
      std::vector<std::vector<token>> received(6);
      std::vector<token_stream> streams;
      for (int i = 0; i < 6; ++i) {
        streams.push_back(
            running.generate({.prompt = token_ids(some_tokens(model, 5 + 9 * i, static_cast<unsigned>(i))),
                              .max_tokens = 12,
                              .ignore_eos = true}));
        streams.back().async_complete(net::bind_executor(context, [&received, i](error_code code, completion whole) {
          if (!code) received[static_cast<std::size_t>(i)] = ids_of(whole.tokens);
        }));
      }
      const auto dropped = random() % 6;
      for (auto steps = random() % 30; steps > 0; --steps) running.poll_one();
      streams.erase(streams.begin() + static_cast<std::ptrdiff_t>(dropped));
      settle(running, context);
      for (std::size_t i = 0; i < 6; ++i)
        if (i != dropped) BOOST_TEST(received[i] == expected[i], boost::test_tools::per_element());
    }
    BOOST_TEST(running.stats().sequences == 0);
  });
}

/// On a device, bits depend on how a prompt is cut.
bool are_alike(const logits& output, const logits& other, const layout& split) {
  if (split.device == "cpu") return std::ranges::equal(output.last(), other.last());
  constexpr float most = 2e-4F;  // that of golden_check, which compares with other programs
  return std::ranges::equal(output.last(), other.last(), [](float a, float b) { return std::abs(a - b) <= most; });
}

/// A sequence and what it holds.
struct held_sequence {
  sequence handle;
  std::vector<token> tokens;
};

// More sequences than slots: they are swapped out and in on all ranks. A rank whose part of a slot were not what the
// tokens say would change the logits.
BOOST_DATA_TEST_CASE(sequences_are_forked_cut_and_swapped,
                     data::make(std::vector<std::string>{"llama_default", "deepseek_v3_published", "jamba_tiny"}) *
                         data::make(splits),
                     golden, split) {
  const auto few_slots = [](engine_options& options) {
    options.batching.slots = 2;
    options.policies.idle_timeout = {};
  };
  over_ranks(golden, split, few_slots, [&](engine& running, const model& model) {
    std::mt19937 random(7);
    const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random()) % bound; };
    drive(running, [&]() -> net::awaitable<void> {
      std::vector<held_sequence> sequences;
      for (int round = 0; round < 40; ++round) {
        if (sequences.size() < 4 && below(3) == 0) {
          sequences.push_back({running.open(), {}});
        } else if (!sequences.empty()) {
          auto& held = sequences[below(sequences.size())];
          if (sequences.size() < 5 && below(5) == 0 && !held.tokens.empty()) {
            held_sequence child{held.handle.fork(), held.tokens};
            sequences.push_back(std::move(child));
          } else if (held.tokens.size() > 8 && below(4) == 0) {
            held.tokens.resize(held.tokens.size() - below(6));
            held.handle.truncate(static_cast<int>(held.tokens.size()));
          } else if (below(4) == 0) {
            co_await held.handle.async_suspend();
          } else if (held.tokens.size() < 60) {
            const auto more = some_tokens(model, 1 + static_cast<int>(below(9)), static_cast<unsigned>(random()));
            held.tokens = joined(held.tokens, more);
            const auto logits = co_await held.handle.async_forward(more);
            auto fresh = running.open();
            const auto again = co_await fresh.async_forward(held.tokens);
            BOOST_TEST(are_alike(logits, again, split), "round " << round);
          } else if (below(2) == 0) {
            sequences.erase(sequences.begin() + static_cast<std::ptrdiff_t>(below(sequences.size())));
          }
        }
      }
    });
    BOOST_TEST(running.stats().swapped_out > 0u);
  });
}

BOOST_DATA_TEST_CASE(a_session_goes_on_over_as_many_ranks, data::make(splits), split) {
  const session_path file;
  std::vector<float> expected;
  std::vector<token> tokens;
  over_ranks("llama_default", split, as_it_is, [&](engine& running, const model& model) {
    tokens = some_tokens(model, 30, 3);
    drive(running, [&]() -> net::awaitable<void> {
      auto seq = running.open();
      co_await seq.async_forward(tokens);
      co_await seq.async_save(file.path);
      const auto logits = co_await seq.async_forward({5});
      expected.assign(logits.last().begin(), logits.last().end());
    });
  });
  over_ranks("llama_default", split, as_it_is, [&](engine& running, const model&) {
    drive(running, [&]() -> net::awaitable<void> {
      auto seq = co_await running.async_load_session(file.path);
      BOOST_TEST((seq.tokens() == tokens));
      const auto steps = running.stats().steps;
      const auto logits = co_await seq.async_forward({5});
      BOOST_TEST(running.stats().steps - steps <= 2u, "the session's tokens were computed again");
      BOOST_TEST(std::ranges::equal(logits.last(), expected));
    });
  });
}

/// Each rank looks at its own part of what somebody made up: rank 0 when the session is opened; what another one does
/// not take is computed again.
BOOST_DATA_TEST_CASE(forged_parts_of_sessions_are_not_used, data::make(splits), split) {
  const session_path file;
  over_ranks("llama_default", split, as_it_is, [&](engine& running, const model& model) {
    std::vector<float> right;
    drive(running, [&]() -> net::awaitable<void> {
      auto seq = running.open();
      co_await seq.async_forward(some_tokens(model, 30, 3));
      co_await seq.async_save(file.path);
      const auto logits = co_await seq.async_forward({5});
      right.assign(logits.last().begin(), logits.last().end());
    });
    const auto whole = file.bytes();
    const auto refusal = [&](const std::string& bytes) {
      std::string said;
      file.write(bytes);
      drive(running, [&]() -> net::awaitable<void> {
        auto [refused, seq] = co_await running.async_load_session(file.path, {}, net::as_tuple(net::use_awaitable));
        if (refused) co_return void(said = seq.error().message());
        const auto logits = co_await seq.async_forward({5});
        BOOST_TEST(std::ranges::equal(logits.last(), right));
      });
      return said;
    };
    const auto forged = [&](const std::function<void(char* body)>& change) {
      detail::session_preamble first;
      std::memcpy(&first, whole.data(), sizeof(first));
      auto bytes = whole;
      const auto begin = sizeof(first) + first.head_bytes;
      change(bytes.data() + begin);
      const auto sum = load::checksum_of(std::as_bytes(std::span(bytes).subspan(begin, first.body_bytes)));
      std::memcpy(bytes.data() + begin + first.body_bytes, &sum, sizeof(sum));
      return bytes;
    };
    const auto ranks = static_cast<std::size_t>(split.ranks());
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const auto said = refusal(forged([&](char* body) {
        std::vector<std::uint64_t> sizes(ranks);
        std::memcpy(sizes.data(), body, ranks * sizeof(sizes[0]));
        const auto offset = std::accumulate(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(rank),
                                            std::uint64_t{ranks * sizeof(sizes[0])});
        constexpr std::uint32_t no_number = 0x7fff7fff;
        std::memcpy(body + offset, &no_number, sizeof(no_number));
      }));
      BOOST_TEST((said.find("it holds a number that is not finite") != std::string::npos) == (rank == 0), said);
    }
    const auto with_sizes = [&](std::uint64_t more, std::uint64_t fewer) {
      return refusal(forged([&](char* body) {
        std::uint64_t sizes[2];
        std::memcpy(sizes, body, sizeof(sizes));
        sizes[0] += more, sizes[1] -= fewer;
        std::memcpy(body, sizes, sizeof(sizes));
      }));
    };
    with_sizes(4, 4);
    with_sizes(-std::uint64_t{4}, -std::uint64_t{4});
    BOOST_TEST(
        with_sizes(std::numeric_limits<std::int64_t>::max(), 0).find("a snapshot is shorter than its ranks' parts") !=
        std::string::npos);
    BOOST_TEST(with_sizes(0, 4).find("a snapshot is longer than its ranks' parts") != std::string::npos);
    BOOST_TEST(refusal(whole) == "");
    BOOST_TEST(!running.error());
  });
}

/// Two streams and a sequence that is swapped; how each operation ended.
std::vector<std::string> ends_of(engine& running) {
  net::io_context context;
  std::vector<std::string> ends;
  std::vector<token_stream> streams;
  for (const int length : {3, 20}) {
    streams.push_back(running.generate(
        {.prompt = token_ids(std::vector<token>(static_cast<std::size_t>(length), 5)), .max_tokens = 4}));
    auto& stream = streams.back();
    const auto index = streams.size() - 1;
    stream.async_complete(net::bind_executor(context, [&ends, &streams, index](error_code code, const completion&) {
      ends.push_back(code ? streams[index].error().message() : "");
    }));
  }
  auto seq = running.open();
  seq.async_forward({1, 2, 3}, logits_of::last, net::bind_executor(context, [&](error_code code, const logits&) {
                      ends.push_back(code ? seq.error().message() : "");
                      if (code) return;
                      seq.async_suspend(net::bind_executor(context, [&](error_code suspended) {
                        ends.push_back(suspended ? seq.error().message() : "");
                      }));
                    }));
  settle(running, context);
  return ends;
}

// Whatever is exchanged when a rank fails: every operation ends, with one error that names the rank, and nobody waits.
BOOST_DATA_TEST_CASE(a_rank_fails_at_each_point,
                     data::make({true, false}) * data::make(available({{2, 1}, {1, 2}, {2, 2}, {2, 1, "reference"}})),
                     leads, split) {
  const int failing = leads ? 0 : split.ranks() - 1;
  for (int point = 1;; ++point) {
    thread_ranks ranks(split.ranks());
    std::atomic<bool> failed = false;
    ranks.before_exchange = [&](int rank, int exchange) {
      if (rank != failing || exchange != point) return;
      failed = true;
      throw std::runtime_error("the power is gone");
    };
    std::optional<std::vector<std::string>> ends;
    const auto run = [&] {
      over_ranks(
          ranks, "llama_default", split, [](engine_options& options) { options.batching.slots = 2; },
          [&](engine& running, const model&) { ends = ends_of(running); });
    };
    if (point > 500) BOOST_FAIL("it never ends");
    try {
      run();
    } catch (const std::exception& error) {
      BOOST_TEST(std::string(error.what()).find("the power is gone") != std::string::npos, error.what());
    }
    if (!failed) {
      BOOST_TEST(point > 10);
      break;
    }
    if (!ends) continue;  // the engine was not made
    BOOST_TEST(ends->size() >= 3u);
    for (const auto& each : *ends)
      BOOST_TEST((each.empty() || each.find("the power is gone") != std::string::npos), each);
  }
}

BOOST_AUTO_TEST_CASE(other_options_than_the_engines_are_refused) {
  std::mutex mutex;
  std::vector<std::string> said;
  run_ranks(2, [&](auto transport) {
    const auto group = std::make_shared<parallel::rank_group>(std::move(transport), 2, 1);
    const auto model = nn::load_rank(golden_folder("llama_default"), {.threads = 1}, group);
    auto options = tiny_engine(*model);
    options.batching.slots += group->rank();
    try {
      if (group->leads())
        engine(model, options);
      else
        run_worker(model, options);
    } catch (const std::invalid_argument& error) {
      const std::lock_guard lock(mutex);
      said.emplace_back(error.what());
    }
  });
  BOOST_REQUIRE(said.size() == 2u);
  BOOST_TEST(said[0] == said[1]);
  BOOST_TEST(said[0].starts_with("engine_options differ between ranks: rank 0 has 4 slots"), said[0]);
}

BOOST_AUTO_TEST_CASE(each_rank_has_its_own_call) {
  std::atomic<int> refused = 0;
  run_ranks(2, [&](auto transport) {
    const auto group = std::make_shared<parallel::rank_group>(std::move(transport), 1, 2);
    const auto model = nn::load_rank(golden_folder("llama_default"), {.threads = 1}, group);
    try {
      if (group->leads())
        run_worker(model, tiny_engine(*model));
      else
        engine(model, tiny_engine(*model));
    } catch (const std::logic_error&) {
      ++refused;
    }
  });
  BOOST_TEST(refused == 2);
  BOOST_CHECK_THROW(run_worker(golden_model("llama_default"), tiny_engine()), std::logic_error);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_split_is_refused) {
  thread_ranks ranks(2);
  const auto group = std::make_shared<parallel::rank_group>(ranks.transport(0), 1, 2);
  const auto load = [&](const std::string& golden, const load_options& options) {
    nn::load_rank(golden_folder(golden), options, group);
  };
  BOOST_CHECK_THROW(load("gemma3n_text", {}), std::invalid_argument);
  BOOST_CHECK_THROW(load("bert_tiny", {}), std::invalid_argument);
  BOOST_CHECK_THROW(load("llama_default", {.device = "reference"}), std::invalid_argument);
  BOOST_CHECK_THROW(load("glm4_moe_mtp", {.multi_token_prediction = true}), std::invalid_argument);
  BOOST_CHECK_THROW(load_model(golden_folder("llama_default"), {.parallel = {.tensor = 0}}), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace test
}  // namespace cogen
