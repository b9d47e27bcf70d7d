// Engines over every kind of cache say what a loop over forward() with the same kind says.
#include "../test_data.hpp"
#include "kept_engines.hpp"
#include "plain_codec.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <fmt/format.h>

#include <functional>
#include <optional>
#include <ostream>

namespace cogen::test {

namespace {

namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(kinds)

BOOST_DATA_TEST_CASE(a_batch_says_what_loops_over_forward_say, data::make(kept_engines_everywhere()), each) {
  const auto model = golden_model(each.golden);
  const auto options = each.options();
  engine running(each.model(), options);
  net::io_context context;
  std::vector<std::vector<token>> prompts;
  std::vector<token_stream> streams;
  std::vector<std::optional<completion>> received(6);
  for (std::size_t i = 0; i < received.size(); ++i) {
    const auto seed = static_cast<unsigned>(i);
    const int longest = *options.limits.max_sequence_length - 45;
    prompts.push_back(some_tokens(*model, 5 + longest / 6 * static_cast<int>(i), seed));
    auto wanted = request{.prompt = token_ids(prompts[i]), .max_tokens = 40, .ignore_eos = true};
    if (model->has_encoder()) wanted.encoder_input = source_for(*model, seed);
    streams.push_back(running.generate(wanted));
    streams[i].async_complete(net::bind_executor(context, [&received, i](error_code code, completion whole) {
      BOOST_TEST(!code);
      received[i] = std::move(whole);
    }));
  }
  settle(running, context);
  for (std::size_t i = 0; i < received.size(); ++i) {
    BOOST_REQUIRE(received[i]);
    std::vector<token> ids;
    for (const auto& choice : received[i]->tokens) ids.push_back(choice.id);
    BOOST_TEST(ids == loop_by_hand(*model, each.by_hand(options), prompts[i], 40, static_cast<unsigned>(i)),
               boost::test_tools::per_element());
  }
  BOOST_TEST(running.stats().free_slots == options.batching.slots);
}

BOOST_DATA_TEST_CASE(a_sequence_goes_back_any_way, data::make(kept_engines()), each) {
  const auto model = golden_model(each.golden);
  const auto options = each.options();
  engine running(model, options);
  const int count = *options.limits.max_sequence_length * 3 / 4;
  const auto tokens = some_tokens(*model, count, 1);
  const auto first = [&](int count) { return std::vector<token>(tokens.begin(), tokens.begin() + count); };
  drive(running, [&]() -> net::awaitable<void> {
    auto sequence = open(running, *model);
    co_await sequence.async_forward(tokens);
    for (const int length : {count - 5, count * 5 / 6, count * 2 / 5, count / 9, 1}) {
      sequence.truncate(length);
      const auto cut = co_await sequence.async_forward({7, 8});
      BOOST_TEST((as_vector(cut.last()) == logits_after(*model, options, joined(first(length), {7, 8}))),
                 "cut to " << length);
    }
  });
}

// A parent that cannot return leaves its slot to its forks and takes another one: hence more slots than sequences.
BOOST_DATA_TEST_CASE(forks_go_their_own_ways, data::make(kept_engines()), each) {
  const auto model = golden_model(each.golden);
  auto options = each.options();
  options.batching.slots = 6;
  engine running(model, options);
  const int count = *options.limits.max_sequence_length * 3 / 4;
  const auto tokens = some_tokens(*model, count, 2);
  const auto first = [&](int count) { return std::vector<token>(tokens.begin(), tokens.begin() + count); };
  drive(running, [&]() -> net::awaitable<void> {
    auto parent = open(running, *model);
    co_await parent.async_forward(tokens);
    auto near = parent.fork();
    auto far = parent.fork();
    far.truncate(30);
    parent.truncate(count - 3);
    auto late = parent.fork();
    const auto check = [&](sequence& seq, int held, token next) -> net::awaitable<void> {
      const auto found = co_await seq.async_forward({next});
      BOOST_TEST((as_vector(found.last()) == logits_after(*model, options, joined(first(held), {next}))),
                 "from " << held << " on");
    };
    co_await check(near, count, 3);
    co_await check(far, 30, 4);
    co_await check(late, count - 3, 5);
    co_await check(parent, count - 3, 6);
  });
  BOOST_TEST(running.stats().free_slots == options.batching.slots);
}

BOOST_DATA_TEST_CASE(a_fork_outlives_its_parent, data::make(kept_engines()), each) {
  const auto model = golden_model(each.golden);
  const auto options = each.options();
  engine running(model, options);
  const auto tokens = some_tokens(*model, *options.limits.max_sequence_length * 3 / 4, 2);
  drive(running, [&]() -> net::awaitable<void> {
    std::optional<sequence> parent = open(running, *model);
    co_await parent->async_forward(tokens);
    auto child = parent->fork();
    auto sibling = parent->fork();
    parent.reset();
    const auto expected = logits_after(*model, options, joined(tokens, {3}));
    const auto of_child = co_await child.async_forward({3});
    const auto of_sibling = co_await sibling.async_forward({3});
    BOOST_TEST((as_vector(of_child.last()) == expected));
    BOOST_TEST((as_vector(of_sibling.last()) == expected));
    auto grandchild = child.fork();
    const auto after = co_await grandchild.async_forward({4});
    BOOST_TEST((as_vector(after.last()) == logits_after(*model, options, joined(tokens, {3, 4}))));
  });
}

/// Tokens that an engine runs for a cut of `cut` and one more token, after 100 were held.
std::uint64_t tokens_run_after_a_cut(const std::string& golden, const engine_options& options, int cut) {
  const auto model = golden_model(golden);
  engine running(model, options);
  std::uint64_t previous_tokens = 0;
  drive(running, [&]() -> net::awaitable<void> {
    auto sequence = running.open();
    co_await sequence.async_forward(some_tokens(*model, 100, 3));
    previous_tokens = running.stats().tokens;
    sequence.truncate(100 - cut);
    co_await sequence.async_forward({7});
  });
  return running.stats().tokens - previous_tokens;
}

BOOST_AUTO_TEST_CASE(only_a_cut_beyond_the_rollback_limit_is_run_again) {
  BOOST_TEST(tokens_run_after_a_cut("llama_default", tiny_engine(), 90) == 1u);
  BOOST_TEST(tokens_run_after_a_cut("mistral_window", tiny_engine(), 8) == 1u);
  BOOST_TEST(tokens_run_after_a_cut("mistral_window", tiny_engine(), 9) == 92u);
  BOOST_TEST(tokens_run_after_a_cut("mamba_tiny", tiny_engine(), 1) == 100u);
  BOOST_TEST(tokens_run_after_a_cut("jamba_tiny", tiny_engine(), 1) == 100u);
  auto options = tiny_engine();
  quantized(cache::int8())(options);
  BOOST_TEST(tokens_run_after_a_cut("llama_default", options, 8) == 1u);
  BOOST_TEST(tokens_run_after_a_cut("llama_default", options, 9) == 92u);
}

BOOST_AUTO_TEST_CASE(sinks_generate_beyond_the_positions) {
  for (const std::string golden : {"llama_default", "gemma3_text", "jamba_tiny"}) {
    const auto model = golden_model(golden);
    BOOST_TEST(model->config().max_positions == 256);
    auto options = tiny_engine();
    options.kv.sinks = {.sinks = 4, .window = 12};
    options.limits.max_sequence_length.reset();
    options.kv.bytes = 64 << 20;  // a sequence without end takes no more than its rings
    engine running(model, options);
    net::io_context context;
    const auto prompt = some_tokens(*model, 30, 4);
    auto stream = running.generate({.prompt = token_ids(prompt), .max_tokens = 500, .ignore_eos = true});
    std::vector<token> ids;
    stream.async_complete(net::bind_executor(context, [&](error_code code, const completion& whole) {
      BOOST_TEST(!code);
      for (const auto& choice : whole.tokens) ids.push_back(choice.id);
    }));
    settle(running, context);
    BOOST_TEST(ids == loop_by_hand(*model, options, prompt, 500), boost::test_tools::per_element());
  }
}

std::vector<token> output_of(engine& running, request wanted) {
  net::io_context context;
  auto stream = running.generate(std::move(wanted));
  std::vector<token> ids;
  stream.async_complete(net::bind_executor(context, [&](error_code code, const completion& whole) {
    BOOST_TEST(!code);
    for (const auto& choice : whole.tokens) ids.push_back(choice.id);
  }));
  settle(running, context);
  return ids;
}

BOOST_AUTO_TEST_CASE(answers_begin_as_the_model_begins_them) {
  const auto model = golden_model("bart_tiny");
  const auto options = tiny_engine(*model);
  engine running(model, options);
  const token start = model->config().decoder_start.value();
  const auto encoder_input = source_for(*model);
  const auto external_stepping = [&](const std::vector<token>& begun) {
    return loop_by_hand(*model, options, begun, 20);
  };
  const auto answer = [&](request wanted) {
    wanted.max_tokens = 20;
    wanted.ignore_eos = true;
    return output_of(running, std::move(wanted));
  };
  BOOST_TEST(answer(request{.encoder_input = encoder_input}) == external_stepping({start}),
             boost::test_tools::per_element());
  BOOST_TEST(answer(request{.prompt = token_ids{start}, .encoder_input = encoder_input}) == external_stepping({start}),
             boost::test_tools::per_element());
  BOOST_TEST(
      answer(request{.prompt = token_ids{5, 6}, .encoder_input = encoder_input}) == external_stepping({start, 5, 6}),
      boost::test_tools::per_element());
  BOOST_TEST(external_stepping({start}) != external_stepping({start, 5, 6}));
}

BOOST_AUTO_TEST_CASE(many_answers_share_a_batch_of_small_steps) {
  const auto model = golden_model("bart_tiny");
  auto options = tiny_engine(*model);
  options.batching.slots = 3;
  options.batching.max_batched_tokens = 8;
  engine running(model, options);
  net::io_context context;
  std::vector<token_stream> streams;
  std::vector<std::vector<token>> received(7);
  for (unsigned i = 0; i < received.size(); ++i) {
    streams.push_back(running.generate({.encoder_input = source_for(*model, i), .max_tokens = 30, .ignore_eos = true}));
    streams.back().async_complete(net::bind_executor(context, [&received, i](error_code, const completion& whole) {
      for (const auto& choice : whole.tokens) received[i].push_back(choice.id);
    }));
  }
  settle(running, context);
  const token start = model->config().decoder_start.value();
  for (unsigned i = 0; i < received.size(); ++i)
    BOOST_TEST(received[i] == loop_by_hand(*model, options, {start}, 30, i), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(lengths_beyond_the_positions_are_refused_whatever_the_cache) {
  for (const auto& [golden, positions] : {std::pair<std::string, int>{"bart_tiny", 96}, {"llama_default", 256}}) {
    auto options = tiny_engine(*golden_model(golden));
    options.kv.sinks = {.sinks = 4, .window = 12};
    options.limits.max_sequence_length = 1000;
    if (golden == "llama_default") options.kv.layer_factory = own_first_layer;  // which keeps, and sees, everything
    BOOST_CHECK_EXCEPTION(engine(golden_model(golden), options), std::invalid_argument, [&](const auto& error) {
      const std::string said = error.what();
      return said.find("max_sequence_length is 1000") != std::string::npos &&
             said.find(std::to_string(positions)) != std::string::npos;
    });
  }
}

BOOST_AUTO_TEST_CASE(options_beyond_their_limits_are_refused_with_name_value_and_limit_on_every_backend) {
  const auto refused = [](const std::string& sentence, const keep& spoil) {
    auto options = tiny_engine();
    spoil(options);
    const auto is_it = [&](const auto& error) {
      BOOST_TEST(error.what() == "engine_options." + sentence);
      return true;
    };
    for (const auto& device : devices)
      BOOST_CHECK_EXCEPTION(engine(golden_model("llama_default", device), options), std::invalid_argument, is_it);
    BOOST_CHECK_EXCEPTION(estimate_memory(golden_folder("llama_default"), options), std::invalid_argument, is_it);
  };
  refused("kv.bytes is 0; it must be at least 1", [](auto& options) { options.kv.bytes = 0; });
  refused("kv.bytes is -5; it must be at least 1", [](auto& options) { options.kv.bytes = -5; });
  refused("threads is 0; it must be at least 1", [](auto& options) { options.threads = 0; });
  refused("threads is -1; it must be at least 1", [](auto& options) { options.threads = -1; });
  refused("swap.bytes is -1; it must be at least 0", [](auto& options) { options.swap.bytes = -1; });
  refused("swap.format is 7; it may be exact (0) or q8 (1)",
          [](auto& options) { options.swap.format = static_cast<swap_format>(7); });
  refused("kv.dtype is 9; it may be f32 (0), f16 (1), bf16 (2) or fp8 (3)",
          [](auto& options) { options.kv.dtype = static_cast<cache::scalar>(9); });
  refused("compute_type is 2; it may be float32 (0) or int8 (1)",
          [](auto& options) { options.compute_type = static_cast<compute_type>(2); });
  refused("batching.slots is 0; it must be at least 1", [](auto& options) { options.batching.slots = 0; });
  refused("batching.max_batched_tokens is 0; it must be at least 1",
          [](auto& options) { options.batching.max_batched_tokens = 0; });
  refused("batching.target_step_latency is 0 µs; it must be at least 1",
          [](auto& options) { options.batching.target_step_latency = std::chrono::microseconds(0); });
  refused("kv.max_rollback_tokens is -1; it must be at least 0",
          [](auto& options) { options.kv.max_rollback_tokens = -1; });
  refused("kv.sinks.window is 0; it must be at least 1",
          [](auto& options) { options.kv.sinks = {.sinks = 4, .window = 0}; });
  refused("kv.sinks.sinks is 65; it may be 0 to 64",
          [](auto& options) { options.kv.sinks = {.sinks = 65, .window = 100}; });
  refused("kv.quantization and kv.sinks are both set; a cache has one or the other", [](auto& options) {
    options.kv.sinks = {.sinks = 4, .window = 12};
    options.kv.quantization = cache::int8();
  });
  refused("limits.max_sequence_length is 257; this model holds 256 positions",
          [](auto& options) { options.limits.max_sequence_length = 257; });
}

BOOST_AUTO_TEST_CASE(keys_that_are_normed_after_they_are_rotated_keep_no_sinks) {
  auto options = tiny_engine();
  options.kv.sinks = {.sinks = 4, .window = 12};
  const auto is_named = [](const auto& error) {
    BOOST_TEST(error.what() ==
               "kv.sinks is set; this model norms keys after they are rotated, and such keys keep none");
    return true;
  };
  for (const auto& device : devices)
    BOOST_CHECK_EXCEPTION(engine(golden_model("hunyuan_alpha", device), options), std::invalid_argument, is_named);
  const cache::options kept{.slots = 1, .sinks = options.kv.sinks};
  BOOST_CHECK_EXCEPTION(golden_model("hunyuan_alpha")->make_cache(kept), std::invalid_argument, is_named);
}

BOOST_AUTO_TEST_CASE(states_stay_on_their_device, *boost::unit_test::enable_if<has_devices>()) {
  auto options = tiny_engine();
  options.kv.offload = true;
  BOOST_CHECK_EXCEPTION(
      engine(golden_model("mamba_tiny", "reference"), options), std::invalid_argument, [](const auto& error) {
        BOOST_TEST(error.what() ==
                   "engine_options.kv.offload is set; engines on reference offload models without recurrent layers");
        return true;
      });
}

BOOST_AUTO_TEST_CASE(encoder_inputs_stay_on_their_device, *boost::unit_test::enable_if<has_devices>()) {
  auto options = tiny_engine(*golden_model("bart_tiny"));
  options.kv.offload = true;
  BOOST_CHECK_EXCEPTION(
      engine(golden_model("bart_tiny", "reference"), options), std::invalid_argument, [](const auto& error) {
        BOOST_TEST(error.what() ==
                   "engine_options.kv.offload is set; engines on reference offload models without an encoder");
        return true;
      });
}

BOOST_AUTO_TEST_CASE(what_only_another_backend_has_is_refused_by_name, *boost::unit_test::enable_if<has_devices>()) {
  const auto why_not = [](const std::string& device, const keep& spoil) {
    auto options = tiny_engine();
    spoil(options);
    try {
      engine running(golden_model("llama_default", device), options);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto own_layers = [](auto& options) { options.kv.layer_factory = own_first_layer; };
  const auto int8_products = [](auto& options) { options.compute_type = compute_type::int8; };
  const auto fp8 = [](auto& options) { options.kv.dtype = cache::scalar::fp8; };
  const auto own_codec = [](auto& options) {
    options.kv.quantization = cache::quantization{std::make_shared<plain_codec>(), std::make_shared<plain_codec>()};
  };
  BOOST_TEST(why_not("reference", own_layers) ==
             "engine_options.kv.layer_factory is set; engines on reference have no layers of your own");
  BOOST_TEST(why_not("reference", int8_products) ==
             "engine_options.compute_type is int8; engines on reference compute in float32 alone");
  BOOST_TEST(why_not("reference", own_codec) ==
             "engine_options.kv.quantization has keys plain and values plain; engines on reference have no codecs of "
             "your own");
  BOOST_TEST(why_not("cpu", fp8) == "engine_options.kv.dtype is fp8; engines on cpu keep f32, f16 or bf16");
  for (const keep& allowed : {keep(own_layers), keep(int8_products), keep(own_codec)})
    BOOST_TEST(why_not("cpu", allowed) == "");
  BOOST_TEST(why_not("reference", fp8) == "");
}

BOOST_AUTO_TEST_CASE(encoder_inputs_beyond_their_limits_are_refused) {
  const auto refuses_encoder_inputs = [](int longest) {
    auto options = tiny_engine(*golden_model("bart_tiny"));
    options.limits.max_encoder_length = longest;
    BOOST_CHECK_EXCEPTION(engine(golden_model("bart_tiny"), options), std::invalid_argument, [&](const auto& error) {
      return std::string(error.what()).find(fmt::format("max_encoder_length is {}", longest)) != std::string::npos;
    });
  };
  refuses_encoder_inputs(-1);
  refuses_encoder_inputs(97);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
