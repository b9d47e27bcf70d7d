// Engines whose model is on a device say what loops on the processor say.
#include "../engine/dequantizing_codec.hpp"
#include "../engine/model_engines.hpp"
#include "../engine/session_files.hpp"
#include "../repetitions.hpp"
#include "../test_data.hpp"
#include "device_models.hpp"
#include "engine/snapshot/device_slots.hpp"
#include "plain_backend.hpp"

#include <cogen/detail/cache/transfer.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <iterator>
#include <optional>
#include <set>
#include <thread>

namespace cogen::test {

namespace {

namespace data = boost::unit_test::data;

const std::vector<std::string> with_keys{"llama_default", "llama_llama3", "llama_yarn", "mistral_window"};
const std::vector<std::string> goldens{"llama_default", "llama_llama3",  "llama_yarn",       "mistral_window",
                                       "mamba_tiny",    "qwen3_5_typed", "falcon_h1_scaled", "bart_tiny"};

engine_options small_engine(const model& model) {
  auto options = tiny_engine(model);
  options.kv.dtype.reset();
  return options;
}

std::vector<token> ids_of(const completion& whole) {
  std::vector<token> ids;
  for (const auto& choice : whole.tokens) ids.push_back(choice.id);
  return ids;
}

/// The token that is sampled after these is the expected one. (GCC takes no co_await before a list in BOOST_TEST.)
net::awaitable<void> check_next(sequence& seq, std::vector<token> tokens, token expected) {
  const auto found = co_await seq.async_decode(std::move(tokens));
  BOOST_TEST(found.id == expected);
}

/// Of 3 tokens and more, with room behind them for 40 others.
std::vector<std::vector<token>> prompts_for(const model& model, int count) {
  const int more = model.config().max_positions > 120 ? 11 : 8;
  std::vector<std::vector<token>> prompts;
  for (int i = 0; i < count; ++i) prompts.push_back(some_tokens(model, 3 + more * i, static_cast<unsigned>(i)));
  return prompts;
}

/// Beside source_for(model, index of the prompt), where the model has an encoder.
std::vector<std::vector<token>> answer(engine& running, const std::vector<std::vector<token>>& prompts, int tokens,
                                       const cogen::model* model = nullptr) {
  net::io_context context;
  std::vector<token_stream> streams;
  std::vector<std::vector<token>> received(prompts.size());
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    request wanted{.prompt = token_ids(prompts[i]), .max_tokens = tokens, .ignore_eos = true};
    if (model && model->has_encoder()) wanted.encoder_input = source_for(*model, static_cast<unsigned>(i));
    streams.push_back(running.generate(std::move(wanted)));
    streams[i].async_complete(net::bind_executor(context, [&received, i](error_code code, completion whole) {
      BOOST_TEST(!code);
      received[i] = ids_of(whole);
    }));
  }
  settle(running, context);
  return received;
}

BOOST_AUTO_TEST_SUITE(device_engine)

BOOST_DATA_TEST_CASE(a_batch_says_what_loops_on_the_processor_say, data::make(goldens) * data::make({true, false}),
                     name, recorded) {
  const auto where = std::make_shared<plain_backend>();
  where->records = recorded;
  if (recorded) where->page = 4096;
  const auto model = golden_model_on(where, name);
  const auto reference = golden_model(name);
  const auto options = small_engine(*model);
  engine running(model, options);
  const auto prompts = prompts_for(*reference, 7);
  const auto received = answer(running, prompts, 40, model.get());
  for (std::size_t i = 0; i < prompts.size(); ++i)
    BOOST_TEST(
        received[i] == loop_by_hand(*reference, tiny_engine(*reference), prompts[i], 40, static_cast<unsigned>(i)),
        boost::test_tools::per_element());
  BOOST_TEST(running.stats().free_slots == options.batching.slots);
}

BOOST_DATA_TEST_CASE(all_logits_are_those_of_the_processor, data::make(goldens), name) {
  const auto model = golden_model_on(std::make_shared<plain_backend>(), name);
  const auto reference = golden_model(name);
  engine running(model, small_engine(*model));
  const auto tokens = some_tokens(*reference, 90, 5);
  drive(running, [&]() -> net::awaitable<void> {
    auto sequence = open(running, *model);
    const auto output = co_await sequence.async_forward(tokens, logits_of::all);
    BOOST_REQUIRE_EQUAL(output.rows(), 90);
    for (const int row : {0, 15, 16, 70, 89}) {
      const auto expected =
          logits_after(*reference, tiny_engine(*reference), {tokens.begin(), tokens.begin() + row + 1});
      for (std::size_t i = 0; i < expected.size(); ++i)
        BOOST_TEST(std::abs(output[row][static_cast<int>(i)] - expected[i]) < 1e-3F,
                   "row " << row << ", token " << i << ": " << output[row][static_cast<int>(i)] << " instead of "
                          << expected[i]);
    }
  });
}

BOOST_DATA_TEST_CASE(what_is_sampled_is_what_the_processor_samples, data::make({true, false}), recorded) {
  const auto where = std::make_shared<plain_backend>();
  where->records = recorded;
  const auto model = golden_model_on(where, "llama_default");
  const auto reference = golden_model("llama_default");
  const std::vector ways{
      sampling_params{.temperature = 1.5, .seed = 1},
      sampling_params{.temperature = 3, .repetition_penalty = 1.4, .seed = 2},
      sampling_params{.temperature = 2, .top_k = 20, .top_p = 0.9, .frequency_penalty = 0.5, .seed = 3},
      sampling_params{.temperature = 2, .min_p = 0.01, .seed = 4, .logprobs = 2},
      sampling_params{.presence_penalty = 2, .logit_bias = {{5, 3}}},
      sampling_params{.temperature = 2, .seed = 6, .processor = [](auto, auto scores) { scores[3] += 2; }}};
  const auto sampled_by = [&](engine running) {
    net::io_context context;
    std::vector<token_stream> streams;
    std::vector<std::vector<token>> received(ways.size());
    for (std::size_t i = 0; i < ways.size(); ++i) {
      const auto prompt = some_tokens(*reference, 9, static_cast<unsigned>(i));
      streams.push_back(
          running.generate({.prompt = token_ids(prompt), .max_tokens = 40, .sampling = ways[i], .ignore_eos = true}));
      streams[i].async_complete(net::bind_executor(context, [&received, i](error_code code, completion whole) {
        BOOST_TEST(!code);
        received[i] = ids_of(whole);
      }));
    }
    settle(running, context);
    return received;
  };
  const auto received = sampled_by(engine(model, small_engine(*model)));
  const auto expected = sampled_by(engine(reference, tiny_engine(*reference)));
  for (std::size_t i = 0; i < ways.size(); ++i)
    BOOST_TEST(received[i] == expected[i], boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(processed_log_probabilities_are_those_of_the_processor) {
  const auto model = golden_model_on(std::make_shared<plain_backend>(), "llama_default");
  const auto reference = golden_model("llama_default");
  const auto tokens_of = [&](engine running) {
    std::vector<sampled_token> tokens;
    drive(running, [&]() -> net::awaitable<void> {
      auto stream = running.generate(
          {.prompt = token_ids(some_tokens(*reference, 9, 3)),
           .max_tokens = 20,
           .sampling =
               {.temperature = 2, .top_k = 5, .seed = 4, .logprobs = 8, .logprobs_mode = logprobs_mode::processed},
           .ignore_eos = true});
      tokens = (co_await stream.async_complete()).tokens;
    });
    return tokens;
  };
  const auto received = tokens_of(engine(model, small_engine(*model)));
  const auto expected = tokens_of(engine(reference, tiny_engine(*reference)));
  BOOST_REQUIRE_EQUAL(received.size(), expected.size());
  for (std::size_t i = 0; i < received.size(); ++i) {
    BOOST_TEST(received[i].id == expected[i].id);
    BOOST_TEST(std::abs(received[i].logprob - expected[i].logprob) < 1e-3F);
    BOOST_REQUIRE(received[i].top.size() == 5u);
    double total = 0;
    for (const auto& each : received[i].top) total += std::exp(each.logprob);
    BOOST_TEST(std::abs(total - 1) < 1e-5);
  }
}

BOOST_DATA_TEST_CASE(sequences_fork_and_go_back, data::make({"llama_default", "bart_tiny"}), name) {
  const auto model = golden_model_on(std::make_shared<plain_backend>(), name);
  const auto reference = golden_model(name);
  engine running(model, small_engine(*model));
  const auto tokens = some_tokens(*reference, 80, 2);
  const auto next_after = [&](std::vector<token> held) {
    return loop_by_hand(*reference, tiny_engine(*reference), held, 1).front();
  };
  drive(running, [&]() -> net::awaitable<void> {
    auto first = open(running, *model);
    co_await first.async_forward(tokens);
    auto second = first.fork();
    co_await check_next(second, {7, 8}, next_after(joined(tokens, {7, 8})));
    co_await check_next(first, {9}, next_after(joined(tokens, {9})));
    first.truncate(50);
    co_await check_next(first, {3}, next_after(joined({tokens.begin(), tokens.begin() + 50}, {3})));
  });
}

/// By turns some tokens are said to five sequences in two slots.
net::awaitable<void> take_turns(engine& running, const model& reference) {
  std::vector<sequence> sequences;
  std::vector<std::vector<token>> held(5);
  for (std::size_t i = 0; i < held.size(); ++i) sequences.push_back(open(running, reference));
  for (unsigned turn = 0; turn < 3; ++turn)
    for (unsigned i = 0; i < held.size(); ++i) {
      auto said = some_tokens(reference, 6 + static_cast<int>(i), 100 * i + turn);
      if (turn > 0) said.front() = 5;
      held[i].insert(held[i].end(), said.begin(), said.end());
      const auto expected = loop_by_hand(reference, tiny_engine(reference), held[i], 1).front();
      const auto received = co_await sequences[i].async_decode(said);
      BOOST_TEST(received.id == expected);
      held[i].push_back(received.id);
    }
}

BOOST_DATA_TEST_CASE(preempted_sequences_go_on, data::make({0, 1, 2, 3}) * data::make({"llama_default", "bart_tiny"}),
                     failing, name) {
  const auto where = std::make_shared<plain_backend>();
  where->page = 4096;
  int copies = 0;
  where->hook = [&](std::string_view operation) {
    if (operation == "copy" && failing > 0 && ++copies % failing == 0) throw std::runtime_error("the copy was lost");
  };
  const auto model = golden_model_on(where, name);
  auto options = small_engine(*model);
  options.batching.slots = 2;
  options.policies.idle_timeout = std::chrono::milliseconds(0);
  engine running(model, options);
  drive(running, [&] { return take_turns(running, *golden_model(name)); });
  BOOST_TEST(running.stats().swapped_out > 3u);
  BOOST_TEST(running.stats().free_slots == 2);
}

/// A sequence is swapped out to a file or to memory, saved from there, comes back, and is opened from what was saved.
/// Whatever is lost on the way is computed again, or not opened. Returns whether there was something to lose: the
/// failing one of the copies and allocations of host memory.
bool swaps_survive(plain_backend& where, const std::shared_ptr<const model>& model, const cogen::model& reference,
                   bool on_a_file, int failing) {
  int calls = 0;
  where.hook = {};
  auto options = small_engine(*model);
  options.batching.slots = 2;
  options.policies.idle_timeout = std::chrono::milliseconds(0);
  if (on_a_file) {
    options.swap.bytes = 0;
    options.swap.directory = std::filesystem::temp_directory_path();
  }
  const auto tokens = some_tokens(reference, 80, 2);
  const auto next = loop_by_hand(reference, tiny_engine(reference), joined(tokens, {7}), 1).front();
  const session_path file;
  engine running(model, options);
  answer(running, {some_tokens(reference, 2, 1)}, 4, model.get());  // the memory of steps is made
  where.hook = [&](std::string_view operation) {
    if ((operation == "copy" || operation == "host memory") && ++calls == failing)
      throw std::runtime_error("it was lost");
  };
  drive(running, [&]() -> net::awaitable<void> {
    auto seq = open(running, reference);
    co_await seq.async_forward(tokens);
    co_await seq.async_save(file.path);
    co_await seq.async_suspend();
    co_await seq.async_save(file.path);
    BOOST_TEST((co_await seq.async_decode({7})).id == next);
    try {
      auto opened = co_await running.async_load_session(file.path);
      BOOST_TEST((co_await opened.async_decode({7})).id == next);
    } catch (const generation_error& error) {
      BOOST_TEST(error.what() == "it was lost");
    }
  });
  BOOST_TEST(!running.error());
  BOOST_TEST(running.stats().sequences == 0);
  BOOST_TEST(running.stats().swap_bytes == 0);
  where.hook = {};
  return calls >= failing;
}

BOOST_DATA_TEST_CASE(a_swap_that_fails_anywhere_is_computed_again,
                     data::make(thin({"llama_default", "bart_tiny", "mamba_tiny", "mamba2_published", "qwen3_5_typed"},
                                     2)) *
                         data::make({false, true}),
                     name, on_a_file) {
  const auto where = std::make_shared<plain_backend>();
  const auto model = golden_model_on(where, name);
  int failing = 1;
  while (swaps_survive(*where, model, *golden_model(name), on_a_file, failing)) ++failing;
  BOOST_TEST(failing > 5);  // memory, two copies out and one in, and what was read
}

BOOST_AUTO_TEST_CASE(a_slot_takes_the_bytes_of_its_tokens_and_no_others) {
  const auto where = std::make_shared<plain_backend>();
  const std::vector<cache::kv_cache_spec> shapes(2, {.kv_heads = 1, .head_dim = 4});
  detail::device_slots slots(where, shapes, {.type = at::kFloat, .slots = 1, .max_sequence_length = 8}, 0);
  cache::immediate_transfer transfer;
  std::vector<std::byte> bytes(2 * 2 * 3 * 4 * sizeof(float));
  const auto copy_in = [&](std::size_t count) {
    bool done = false;
    slots.copy_in(0, 3, std::span(bytes).first(count), 0, transfer, [&](std::exception_ptr error) { done = !error; });
    return done;
  };
  BOOST_CHECK_THROW(copy_in(bytes.size() - 1), std::invalid_argument);
  slots.clear(0);
  BOOST_TEST(copy_in(bytes.size()));
  BOOST_TEST(slots.kv.length(0) == 3);
}

/// What a cache quantizes does not depend on chunks, and equals what the processor quantizes.
BOOST_DATA_TEST_CASE(quantized_caches_say_what_those_of_the_processor_say, data::make({0, 1, 2, 3}), form) {
  const auto where = std::make_shared<plain_backend>();
  const auto model = golden_model_on(where, "llama_default");
  const auto reference = golden_model("llama_default");
  const cache::quantization forms[] = {cache::int8(), cache::int8_int4(), cache::int4(), cache::kivi2()};
  auto there = small_engine(*model);
  auto here = tiny_engine(*reference);
  for (auto* options : {&there, &here}) {
    options->kv.quantization = forms[form];
    options->kv.quantization->residual = 20;
    options->batching.slots = 2;
    options->policies.idle_timeout = std::chrono::milliseconds(0);
  }
  here.kv.quantization = dequantizing(*here.kv.quantization);
  const auto prompts = prompts_for(*reference, 6);
  engine running(model, there);
  engine other(reference, here);
  const auto received = answer(running, prompts, 100);
  const auto expected = answer(other, prompts, 100);
  for (std::size_t i = 0; i < prompts.size(); ++i)
    BOOST_TEST(received[i] == expected[i], boost::test_tools::per_element());
  drive(running, [&]() -> net::awaitable<void> {
    auto first = running.open();
    const auto tokens = some_tokens(*reference, 150, 2);
    co_await first.async_forward(tokens);
    auto second = first.fork();
    const auto after = [&](const std::vector<token>& held) { return loop_by_hand(*reference, here, held, 1).front(); };
    co_await check_next(second, {7, 8}, after(joined(tokens, {7, 8})));
    first.truncate(145);
    co_await check_next(first, {3}, after(joined({tokens.begin(), tokens.begin() + 145}, {3})));
    first.truncate(30);
    co_await check_next(first, {4}, after(joined({tokens.begin(), tokens.begin() + 30}, {4})));
  });
}

/// Longer than the model's positions, and than what is kept.
BOOST_AUTO_TEST_CASE(sinks_go_on_without_end_as_on_the_processor) {
  const auto model = golden_model_on(std::make_shared<plain_backend>(), "llama_default");
  const auto reference = golden_model("llama_default");
  auto there = small_engine(*model);
  auto here = tiny_engine(*reference);
  for (auto* options : {&there, &here}) {
    options->kv.sinks = cache::sink_window{.sinks = 4, .window = 40};
    options->limits.max_sequence_length = 600;
  }
  engine running(model, there);
  const auto prompts = prompts_for(*reference, 6);
  const auto received = answer(running, prompts, 400);
  for (std::size_t i = 0; i < prompts.size(); ++i)
    BOOST_TEST(received[i] == loop_by_hand(*reference, here, prompts[i], 400), boost::test_tools::per_element());
}

/// Caches on the host, of which layers come near in turns: prompts in chunks, forks, cuts and swap-outs.
BOOST_DATA_TEST_CASE(offloaded_caches_say_what_those_of_the_processor_say, data::make(with_keys), name) {
  const auto model = golden_model_on(std::make_shared<plain_backend>(), name);
  const auto reference = golden_model(name);
  auto options = small_engine(*model);
  options.kv.offload = true;
  options.batching.slots = 3;
  options.policies.idle_timeout = std::chrono::milliseconds(0);
  engine running(model, options);
  const auto here = tiny_engine(*reference);
  const auto prompts = prompts_for(*reference, 7);
  const auto received = answer(running, prompts, 40);
  for (std::size_t i = 0; i < prompts.size(); ++i)
    BOOST_TEST(received[i] == loop_by_hand(*reference, here, prompts[i], 40), boost::test_tools::per_element());
  const auto tokens = some_tokens(*reference, 90, 2);
  drive(running, [&]() -> net::awaitable<void> {
    const auto after = [&](const std::vector<token>& held) { return loop_by_hand(*reference, here, held, 1).front(); };
    auto first = running.open();
    co_await first.async_forward(tokens);
    auto second = first.fork();
    co_await check_next(second, {7, 8}, after(joined(tokens, {7, 8})));
    first.truncate(50);
    co_await check_next(first, {3}, after(joined({tokens.begin(), tokens.begin() + 50}, {3})));
  });
  drive(running, [&] { return take_turns(running, *reference); });
  BOOST_TEST(running.stats().swapped_out > 0u);
}

/// So many requests at once: how many of them come to their end, or hear that the device failed.
int count_failures(engine& running, const std::vector<token>& prompt, int requests) {
  net::io_context context;
  int received = 0;
  std::vector<token_stream> streams;
  for (int i = 0; i < requests; ++i) {
    streams.push_back(running.generate({.prompt = token_ids(prompt), .max_tokens = 4, .ignore_eos = true}));
    streams.back().async_complete(net::bind_executor(context, [&](error_code code, const completion&) {
      received += code == make_error_code(error::device_failed) || !code;
    }));
  }
  settle(running, context);
  return received;
}

/// Tokens that did not come, or did not go, were not read.
BOOST_AUTO_TEST_CASE(a_lost_copy_of_an_offloaded_layer_fails_every_operation) {
  int copies = 0, failing = 0, died = 0;
  const auto where = std::make_shared<plain_backend>();
  where->hook = [&](std::string_view operation) {
    if (operation == "copy" && ++copies == failing) throw std::runtime_error("the copy was lost");
  };
  const auto model = golden_model_on(where, "llama_default");
  auto options = small_engine(*model);
  options.kv.offload = true;
  for (failing = 1; failing < 60; failing += 3) {
    copies = 0;
    engine running(model, options);
    BOOST_TEST(count_failures(running, some_tokens(*model, 5, 1), 3) == 3);
    BOOST_TEST(static_cast<bool>(running.error()) == (copies >= failing));
    died += static_cast<bool>(running.error());
  }
  BOOST_TEST(died > 10);
}

/// What an engine says after some tokens.
std::vector<float> output_of(const std::shared_ptr<const model>& model, const engine_options& options,
                             int tokens = 60) {
  engine running(model, options);
  std::vector<float> received;
  drive(running, [&]() -> net::awaitable<void> {
    auto sequence = running.open();
    const auto after = co_await sequence.async_forward(some_tokens(*model, tokens, 5));
    received.assign(after.last().begin(), after.last().end());
  });
  return received;
}

/// By the length of what is expected.
double distance(const std::vector<float>& received, const std::vector<float>& expected) {
  double off = 0, total = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    off += std::pow(received[i] - expected[i], 2);
    total += std::pow(expected[i], 2);
  }
  return std::sqrt(off / total);
}

/// Three bits of fraction: near, and not the same.
BOOST_AUTO_TEST_CASE(caches_of_8_bit_floats_say_nearly_the_same) {
  const auto model = golden_model_on(std::make_shared<plain_backend>(), "llama_default");
  const auto whole = small_engine(*model);
  auto options = whole;
  options.kv.dtype = cache::scalar::fp8;
  const double off = distance(output_of(model, options), output_of(model, whole));
  BOOST_TEST(off < 0.2);
  BOOST_TEST(off > 1e-4);
}

/// Of a model of random weights, which round badly, and of one whose file keeps some in 4 bits already.
BOOST_AUTO_TEST_CASE(weights_of_fewer_bits_say_nearly_the_same) {
  const auto off = [](const auto& model_of, device_weights bits) {
    const auto quantized = model_of(bits), whole = model_of(device_weights::whole);
    return distance(output_of(quantized, small_engine(*quantized)), output_of(whole, small_engine(*whole)));
  };
  const auto where = std::make_shared<plain_backend>();
  const auto seeded = [&](device_weights bits) { return seeded_model_on(where, at::kFloat, 0, bits); };
  const auto stored = [&](device_weights bits) { return golden_model_on(where, "llama_gguf", at::kFloat, bits); };
  BOOST_TEST(off(seeded, device_weights::int8) < 0.05);
  BOOST_TEST(off(seeded, device_weights::int8) > 1e-4);
  BOOST_TEST(off(seeded, device_weights::int4) < 0.5);
  BOOST_TEST(off(seeded, device_weights::int4) > 0.01);
  BOOST_TEST(off(seeded, device_weights::fp8) < 0.2);
  BOOST_TEST(off(seeded, device_weights::fp8) > 1e-3);
  BOOST_TEST(off(stored, device_weights::int8) < 0.05);
  BOOST_TEST(off(stored, device_weights::int8) > 1e-4);
  BOOST_TEST(off(stored, device_weights::int4) < 0.3);
  BOOST_TEST(off(stored, device_weights::int4) > 1e-4);
  BOOST_TEST(off(stored, device_weights::fp8) < 0.2);
  BOOST_TEST(off(stored, device_weights::fp8) > 1e-3);
  BOOST_TEST(off(stored, device_weights::stored) < 1e-5);
}

/// With 8-bit floats, activations of large steps are rounded, and those of small ones are not.
BOOST_AUTO_TEST_CASE(many_rows_are_rounded_where_weights_are_8_bit_floats) {
  const auto where = std::make_shared<plain_backend>();
  const auto in_steps_of = [&](int tokens, device_weights bits) {
    const auto model = seeded_model_on(where, at::kFloat, 0, bits);
    auto options = small_engine(*model);
    options.batching.max_batched_tokens = tokens;
    return output_of(model, options, 90);
  };
  BOOST_TEST(distance(in_steps_of(100, device_weights::int8), in_steps_of(50, device_weights::int8)) < 1e-5);
  const double off = distance(in_steps_of(100, device_weights::fp8), in_steps_of(50, device_weights::fp8));
  BOOST_TEST(off > 1e-3);
  BOOST_TEST(off < 0.2);
}

BOOST_AUTO_TEST_CASE(weights_that_cannot_be_quantized_are_refused) {
  try {
    golden_model_on(std::make_shared<plain_backend>(), "llama_default", at::kFloat, device_weights::int4);
    BOOST_FAIL("not refused");
  } catch (const std::invalid_argument& error) {
    BOOST_TEST(error.what() == "rows of 42 numbers cannot be quantized in 4 bits; a multiple of 32 is needed");
  }
}

BOOST_AUTO_TEST_CASE(models_on_the_processor_keep_the_weights_of_their_file) {
  try {
    load_model(golden_folder("llama_default"), {.device_weights = device_weights::int4});
    BOOST_FAIL("not refused");
  } catch (const std::invalid_argument& error) {
    BOOST_TEST(error.what() ==
               "load_options.device_weights is int4; models on the CPU keep weights as their file has them");
  }
}

/// What a ring has forgotten is run again.
BOOST_DATA_TEST_CASE(slots_that_forget_are_forked_cut_and_preempted, data::make({true, false}), sinks) {
  const auto name = sinks ? "llama_default" : "mistral_window";
  const auto model = golden_model_on(std::make_shared<plain_backend>(), name);
  const auto reference = golden_model(name);
  auto there = small_engine(*model);
  auto here = tiny_engine(*reference);
  if (sinks) there.kv.sinks = here.kv.sinks = cache::sink_window{.sinks = 4, .window = 40};
  there.batching.slots = 2;
  there.policies.idle_timeout = std::chrono::milliseconds(0);
  engine running(model, there);
  const auto after = [&](const std::vector<token>& held) { return loop_by_hand(*reference, here, held, 1).front(); };
  const auto tokens = some_tokens(*reference, 150, 2);
  drive(running, [&]() -> net::awaitable<void> {
    auto first = running.open();
    co_await first.async_forward(tokens);
    auto second = first.fork();
    auto third = first.fork();
    const auto drawn = co_await second.async_decode({7, 8});
    const token sampled = drawn.id;
    BOOST_TEST(sampled == after(joined(tokens, {7, 8})));
    co_await check_next(third, {5}, after(joined(tokens, {5})));
    for (const int length : {145, 100, 3}) {
      first.truncate(length);
      co_await check_next(first, {3}, after(joined({tokens.begin(), tokens.begin() + length}, {3})));
    }
    co_await check_next(second, {9}, after(joined(tokens, {7, 8, sampled, 9})));
  });
  BOOST_TEST(running.stats().swapped_out > 0u);
}

/// The room that a ring takes does not grow with the length.
BOOST_AUTO_TEST_CASE(rings_take_what_they_show_and_no_more) {
  const auto model = golden_model_on(std::make_shared<plain_backend>(), "llama_default");
  auto options = small_engine(*model);
  options.kv.bytes = 1 << 20;
  const auto refused = [&] {
    try {
      engine running(model, options);
      return false;
    } catch (const std::invalid_argument&) {
      return true;
    }
  };
  options.limits.max_sequence_length = 256;
  BOOST_TEST(!refused());
  options.kv.sinks = cache::sink_window{.sinks = 4, .window = 40};
  options.limits.max_sequence_length = 1 << 30;
  BOOST_TEST(!refused());
  options.limits.max_sequence_length.reset();
  BOOST_TEST(!refused());
  options.kv.bytes = 1 << 12;
  BOOST_TEST(refused());
}

BOOST_AUTO_TEST_CASE(tokens_are_run_once_for_all_who_begin_with_them) {
  const auto model = golden_model_on(std::make_shared<plain_backend>(), "llama_default");
  const auto reference = golden_model("llama_default");
  engine running(model, small_engine(*model));
  const auto common = some_tokens(*reference, 150, 3);
  const std::vector prompts{joined(common, {1, 2}), joined(common, {3}), joined(common, {4, 5, 6})};
  const auto received = answer(running, prompts, 20);
  for (std::size_t i = 0; i < prompts.size(); ++i)
    BOOST_TEST(received[i] == loop_by_hand(*reference, tiny_engine(*reference), prompts[i], 20),
               boost::test_tools::per_element());
  BOOST_TEST(running.stats().prefix_hit_tokens >= 2 * 128u);
}

/// While an engine is made, and while it runs. The device is as before for the next one.
BOOST_AUTO_TEST_CASE(an_error_of_the_device_fails_every_operation) {
  int calls = 0, failing = 0;
  const auto where = std::make_shared<plain_backend>();
  where->hook = [&](std::string_view operation) {
    if (operation != "copy" && ++calls == failing) throw std::runtime_error("the device is gone");
  };
  const auto model = golden_model_on(where, "llama_default");
  const auto options = small_engine(*model);
  const auto prompts = prompts_for(*model, 2);
  const auto answer_of_next = [&] {
    failing = 0;
    engine next(model, options);
    return answer(next, prompts, 5);
  };
  const auto expected = answer_of_next();
  int refused = 0, died = 0, survived = 0;
  for (int call = 1; survived < 2; ++call) {
    calls = 0, failing = call;
    try {
      engine running(model, options);
      BOOST_TEST(count_failures(running, some_tokens(*model, 5, 1), 6) == 6);
      BOOST_TEST(static_cast<bool>(running.error()) == (calls >= failing));
      if (running.error()) BOOST_TEST(running.error().message() == "a step failed: the device is gone");
      ++(running.error() ? died : survived);
    } catch (const std::runtime_error& error) {
      BOOST_TEST(error.what() == "the device is gone");
      ++refused;
    }
    BOOST_TEST((answer_of_next() == expected), "after call " << call);
  }
  BOOST_TEST(refused > 5);
  BOOST_TEST(died > 15);
}

/// A step's memory is the device's until its callback has been called, also where a wait for it throws.
BOOST_AUTO_TEST_CASE(an_engine_ends_after_the_callbacks_of_a_device_that_has_failed) {
  const auto where = std::make_shared<plain_backend>();
  const auto model = golden_model_on(where, "llama_default");
  std::promise<void> failed;
  const auto failure = failed.get_future().share();
  std::vector<std::thread> threads;
  std::atomic<std::size_t> called = 0;
  net::io_context context;
  int ended = 0;
  {
    engine running(model, small_engine(*model));
    running.poll_one();
    where->later = [&](const std::function<void()>& call) {
      threads.emplace_back([&called, failure, call] {
        failure.wait();
        ++called;
        call();
      });
    };
    where->hook = [&](std::string_view operation) {
      if (operation != "wait") return;
      where->hook = {};
      failed.set_value();
      throw std::runtime_error("the device is gone");
    };
    auto stream = running.generate({.prompt = token_ids(some_tokens(*model, 5, 1)), .max_tokens = 40});
    stream.async_complete(net::bind_executor(context, [&](error_code code, const completion&) {
      BOOST_TEST(static_cast<bool>(code));
      ++ended;
    }));
    for (int round = 0; round < 5; ++round) running.poll_one();
    BOOST_TEST(threads.size() == 2u);
    BOOST_TEST(called == 0u);
  }
  BOOST_TEST(called == threads.size());
  for (auto& each : threads) each.join();
  context.run();
  BOOST_TEST(ended == 1);
}

/// Libraries keep memory for each thread, so it is not enough that another one has run a step.
BOOST_AUTO_TEST_CASE(steps_are_recorded_on_the_thread_that_runs_them) {
  const auto where = std::make_shared<plain_backend>();
  const auto model = golden_model_on(where, "llama_default");
  auto options = small_engine(*model);
  options.external_stepping = false;
  std::set<std::thread::id> recorded, ran;
  where->hook = [&](std::string_view operation) {
    if (operation == "record") recorded.insert(std::this_thread::get_id());
    if (operation == "then") ran.insert(std::this_thread::get_id());
  };
  {
    engine running(model, options);
    BOOST_TEST(recorded.size() == 1u);
    net::io_context context;
    auto stream = running.generate({.prompt = token_ids(some_tokens(*model, 5, 1)), .max_tokens = 4});
    stream.async_complete(net::bind_executor(context, [](error_code code, const completion&) { BOOST_TEST(!code); }));
    context.run();
  }
  BOOST_TEST((recorded == ran));
  where->hook = [](std::string_view operation) {
    if (operation == "record") throw std::runtime_error("the device is gone");
  };
  BOOST_CHECK_EXCEPTION(engine(model, options), std::runtime_error,
                        [](const auto& error) { return error.what() == std::string("the device is gone"); });
}

/// Streams do not wait for zeros and copies that were begun outside of them.
BOOST_AUTO_TEST_CASE(a_stream_is_used_once_the_device_has_made_its_tensors) {
  const auto where = std::make_shared<plain_backend>();
  const auto model = golden_model_on(where, "llama_default");
  std::vector<std::string> calls;
  where->hook = [&](const char* operation) { calls.emplace_back(operation); };
  const auto comes_before_use = [&] {
    const auto use = std::ranges::find_if(calls, [](const auto& call) { return call == "run" || call == "copy"; });
    BOOST_REQUIRE(use != calls.begin());
    BOOST_TEST(*std::prev(use) == "synchronize");
    calls.clear();
  };
  engine running(model, small_engine(*model));
  BOOST_TEST(calls.front() == "allocate");
  running.poll_one();
  comes_before_use();
  model->make_cache({.type = cache::scalar::f32, .max_sequence_length = 64});
  comes_before_use();
}

BOOST_AUTO_TEST_CASE(options_that_have_no_meaning_there_are_refused) {
  const auto model = golden_model_on(std::make_shared<plain_backend>(), "llama_default");
  const auto why_not = [&](auto change) {
    auto options = small_engine(*model);
    change(options);
    try {
      engine refused(model, options);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  BOOST_TEST(why_not([](engine_options& o) { o.kv.dtype = cache::scalar::f16; }) ==
             "engine_options.kv.dtype is Half; engines on cpu keep Float or Float8_e4m3fn");
  BOOST_TEST(why_not([](engine_options& o) { o.kv.dtype = cache::scalar::fp8, o.kv.quantization = cache::int8(); }) ==
             "engine_options.kv.quantization and a kv.dtype of fp8 are both set; quantized caches keep their newest "
             "tokens in the model's own type");
  BOOST_TEST(why_not([](engine_options& o) { o.kv.sinks = cache::sink_window(), o.kv.quantization = cache::int8(); }) ==
             "engine_options.kv.quantization and kv.sinks are both set; a cache has one or the other");
  BOOST_TEST(
      why_not([](engine_options& o) { o.kv.offload = true, o.kv.sinks = cache::sink_window(); }) ==
      "engine_options.kv.offload and kv.sinks are both set; engines on cpu offload what keeps every token in full "
      "precision");
  BOOST_TEST(why_not([](engine_options& o) { o.kv.sinks = cache::sink_window{.sinks = 65, .window = 30}; }) ==
             "engine_options.kv.sinks.sinks is 65; it may be 0 to 64");
  BOOST_TEST(why_not([](engine_options& o) { o.batching.slots = 0; }) ==
             "engine_options.batching.slots is 0; it must be at least 1");
  BOOST_TEST(why_not([](engine_options& o) { o.kv.bytes = 1 << 10; }).find("has 0 MiB for caches") !=
             std::string::npos);
  BOOST_TEST(why_not([](engine_options& o) { o.limits.max_sequence_length = 1 << 20; }).find("this model holds") !=
             std::string::npos);
}

/// Why an engine is refused; empty if it is not.
std::string why_not(const std::shared_ptr<const model>& model, const engine_options& options) {
  try {
    engine refused(model, options);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

BOOST_AUTO_TEST_CASE(vocabularies_that_a_device_cannot_sample_from_are_refused) {
  const auto where = std::make_shared<plain_backend>();
  const auto model = golden_model_on(where, "llama_default");
  where->vocabulary = model->config().vocabulary;
  BOOST_TEST(why_not(model, small_engine(*model)) == "");
  --where->vocabulary;
  BOOST_TEST(why_not(model, small_engine(*model)) ==
             fmt::format("the model's vocabulary has {} tokens; engines on cpu sample from at most {}",
                         model->config().vocabulary, where->vocabulary));
}

/// What steps need is not given to the caches.
BOOST_AUTO_TEST_CASE(longer_steps_leave_less_for_the_caches) {
  const auto where = std::make_shared<plain_backend>();
  const auto model = golden_model_on(where, "llama_default");
  auto options = small_engine(*model);
  options.batching.slots = 1 << 16;
  const auto room = [&] {
    const auto why = why_not(model, options);
    const auto position = why.find("cpu has ");
    BOOST_REQUIRE(position != std::string::npos);
    return std::stoi(why.substr(position + 8));
  };
  where->free = std::int64_t{3} << 28;
  options.batching.max_batched_tokens = 1 << 10;
  const auto with_short_steps = room();
  BOOST_TEST(with_short_steps > 0);
  where->free += std::int64_t{1} << 26;
  BOOST_TEST(room() == with_short_steps + 64);
  options.batching.max_batched_tokens = 1 << 20;
  BOOST_TEST(room() < with_short_steps);
}

BOOST_AUTO_TEST_CASE(sequences_end_with_a_table_of_positions_whatever_a_cache_forgets) {
  const auto model = golden_model("gpt2_published", "reference");
  engine_options options{.batching = {.slots = 1}, .kv = {.sinks = cache::sink_window{.sinks = 4, .window = 12}}};
  options.limits.max_sequence_length = 64;
  BOOST_CHECK_NO_THROW(engine(model, options));
  options.limits.max_sequence_length = 65;
  BOOST_CHECK_EXCEPTION(engine(model, options), std::invalid_argument, [](const auto& error) {
    return std::string(error.what()).ends_with("max_sequence_length is 65; this model holds 64 positions");
  });
}

BOOST_AUTO_TEST_CASE(devices_that_are_not_there_are_named) {
  const auto said_of = [](const char* name) {
    try {
      device::backend_named(name);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  for (const char* name : {"gpu", "cuda:", "cuda:-1", "cuda:1x", ""})
    BOOST_TEST(said_of(name).find("known are \"cpu\", \"reference\", \"cuda\" and \"cuda:N\"") != std::string::npos);
  BOOST_TEST(said_of("cuda:99").starts_with("device \"cuda:99\": "));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
