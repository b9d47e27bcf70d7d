// What is said of a model's memory from its header alone, beside what loading and running it take.
#include "../test_data.hpp"
#include "model_engines.hpp"

#include <cogen/engine.hpp>
#include <cogen/load/model_config.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/test/unit_test.hpp>

#include <filesystem>

namespace cogen::test {
namespace {

BOOST_AUTO_TEST_SUITE(memory_estimates)

BOOST_AUTO_TEST_CASE(weights_take_what_was_said) {
  // Where the head is the embedding, and attention has neither biases nor norms, weight_bytes() counts all weights.
  for (const auto* name : {"llama_default", "llama_yarn", "mistral_wide", "mistral_window"}) {
    const auto said = estimate_memory(golden_folder(name), {.limits = {.max_sequence_length = 64}});
    BOOST_TEST(said.weight_bytes == golden_model(name)->weight_bytes(), name);
  }
  for (const auto* name : {"llama_linear", "llama_bfloat16", "llama_gguf", "gemma3_text", "mamba_biased", "jamba_dense",
                           "bart_tiny", "bart_untied"}) {
    const auto said = estimate_memory(golden_folder(name), {.limits = {.max_sequence_length = 64}});
    const auto read_by_a_step = golden_model(name)->weight_bytes();
    BOOST_TEST(said.weight_bytes > read_by_a_step, name);
    BOOST_TEST(said.weight_bytes < 4 * read_by_a_step, name);
  }
}

BOOST_AUTO_TEST_CASE(weights_of_few_bits_take_more_than_their_file) {
  const auto folder = golden_folder("llama_few_bits_gguf");
  const auto said = estimate_memory(folder, {.limits = {.max_sequence_length = 64}});
  BOOST_TEST(said.weight_bytes > 1.3 * static_cast<double>(std::filesystem::file_size(folder / "model.gguf")));
  const auto read_by_a_step = golden_model("llama_few_bits_gguf")->weight_bytes();
  BOOST_TEST(said.weight_bytes > read_by_a_step);
  BOOST_TEST(said.weight_bytes < 2 * read_by_a_step);
}

BOOST_AUTO_TEST_CASE(weights_that_several_blocks_read_are_in_memory_once) {
  const auto said = estimate_memory(golden_folder("zamba2_biased"), {.limits = {.max_sequence_length = 64}});
  BOOST_TEST(said.weight_bytes < golden_model("zamba2_biased")->weight_bytes());
}

/// Runs one sequence to its full length, and gives the most that was set aside for it.
std::int64_t max_reserved_bytes(const std::shared_ptr<const model>& model, const engine_options& options, int length) {
  engine running(model, options);
  net::io_context context;
  auto wanted = request{.prompt = token_ids(some_tokens(*model, 9, 1)), .ignore_eos = true};
  if (model->has_encoder()) wanted.encoder_input = source_for(*model);
  auto stream = running.generate(wanted);
  std::optional<completion> whole;
  stream.async_complete(net::bind_executor(context, [&](error_code, completion answer) { whole = std::move(answer); }));
  std::int64_t most = 0;
  while (!whole) {
    running.poll_one();
    context.restart();
    context.poll();
    most = std::max(most, running.stats().cache_bytes);
  }
  BOOST_TEST(whole->usage.prompt_tokens + whole->usage.generated_tokens == length);
  return most;
}

/// Bytes that the caches of one slot of that length really take.
std::int64_t taken(const model& model, engine_options options, int length) {
  options.limits.max_sequence_length = length;
  auto cache = cache_like(model, options);
  if (model.has_encoder()) model.encode(source_for(model), cache);
  model.forward(some_tokens(model, length, 2), cache);
  return cache.committed_bytes();
}

BOOST_AUTO_TEST_CASE(a_slot_takes_no_more_than_was_said) {
  for (const auto* name : {"llama_default", "mistral_window", "gemma3_text", "mamba_tiny", "jamba_tiny", "bart_tiny"}) {
    const auto model = golden_model(name);
    for (int kind = 0; kind < 2; ++kind) {
      auto options = tiny_engine(*model);
      if (kind == 1) options.kv.quantization = cache::int8();
      const auto said = estimate_memory(golden_folder(name), options);
      BOOST_TEST(said.max_sequence_length == *options.limits.max_sequence_length, name);
      BOOST_TEST(said.cache_bytes == options.batching.slots * said.slot_bytes, name);
      BOOST_TEST(said.total() == said.weight_bytes + said.cache_bytes, name);
      BOOST_TEST(max_reserved_bytes(model, options, said.max_sequence_length) == said.slot_bytes, name);
      const auto really = taken(*model, options, said.max_sequence_length);
      BOOST_TEST(really <= said.slot_bytes, name);
      BOOST_TEST(really > said.slot_bytes / 4, name);
    }
  }
}

BOOST_AUTO_TEST_CASE(options_count_as_they_do_for_an_engine) {
  auto options = tiny_engine();
  const auto plain = estimate_memory(golden_folder("llama_default"), options);
  options.kv.bytes = plain.slot_bytes * 2 + 1;
  BOOST_TEST(estimate_memory(golden_folder("llama_default"), options).cache_bytes == plain.slot_bytes * 2 + 1);
  options.kv.bytes.reset();
  options.kv.sinks = cache::sink_window{.sinks = 4, .window = 28};
  options.limits.max_sequence_length.reset();
  const auto endless = estimate_memory(golden_folder("llama_default"), options);
  BOOST_TEST(endless.max_sequence_length > 1'000'000);
  BOOST_TEST(endless.slot_bytes < plain.slot_bytes);
}

bool names_max_length(const std::invalid_argument& e) {
  return std::string(e.what()).find("max_sequence_length is 1000000") != std::string::npos;
}

BOOST_AUTO_TEST_CASE(errors_are_those_of_loading_and_engines) {
  BOOST_CHECK_EXCEPTION(estimate_memory(golden_folder("llama_default"), {.limits = {.max_sequence_length = 1'000'000}}),
                        std::invalid_argument, names_max_length);
  BOOST_CHECK_THROW(estimate_memory(golden_folder("llama_default"), {.batching = {.slots = 0}}), std::invalid_argument);
  BOOST_CHECK_THROW(estimate_memory(golden_folder("nowhere")), load::load_error);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
