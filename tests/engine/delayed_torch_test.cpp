// LibTorch is loaded by the first call of one of its functions, which no engine on a processor needs.
#include "model_engines.hpp"
#include "session_files.hpp"

#include <cogen/detail/cache/transfer.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <dlfcn.h>
#include <thread>

namespace cogen::test {

namespace {

namespace data = boost::unit_test::data;

bool torch_is_loaded() {
  void* const found = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
  if (found) dlclose(found);
  return found != nullptr;
}

struct kind {
  std::string golden;
  engine_options (*change)(engine_options);
};

std::ostream& operator<<(std::ostream& out, const kind& variant) { return out << variant.golden; }

const std::vector<kind> kinds{
    {"llama_default", [](engine_options options) { return options; }},
    {"llama_gguf", [](engine_options options) { return options.compute_type = compute_type::int8, options; }},
    {"llama_default", [](engine_options options) { return options.kv.quantization = cache::int4(), options; }},
    {"llama_default",
     [](engine_options options) { return options.kv.sinks = cache::sink_window{.sinks = 4, .window = 40}, options; }},
    {"llama_default", [](engine_options options) { return options.kv.offload = true, options; }},
    {"mistral_window", [](engine_options options) { return options; }},
    {"gemma3n_text", [](engine_options options) { return options; }},
    {"deepseek_v2_lite", [](engine_options options) { return options; }},
    {"mixtral_published", [](engine_options options) { return options; }},
    {"mamba_tiny", [](engine_options options) { return options; }},
    {"jamba_tiny", [](engine_options options) { return options; }},
    {"rwkv_published", [](engine_options options) { return options; }},
    {"bart_tiny", [](engine_options options) { return options; }},
    {"t5_published", [](engine_options options) { return options; }},
};

/// Streams in one batch; then a sequence that is forked, swapped out, saved and opened again.
std::vector<token> run_all(const std::shared_ptr<const model>& model, engine_options options) {
  options.policies.idle_timeout = std::chrono::milliseconds(0);
  options.batching.slots = 2;
  engine running(model, options);
  const session_path file;
  std::vector<token> received;
  drive(running, [&]() -> net::awaitable<void> {
    std::vector<token_stream> streams;
    for (unsigned i = 0; i < 4; ++i) {
      request wanted{.prompt = token_ids(some_tokens(*model, 20 + static_cast<int>(i), i)),
                     .max_tokens = 12,
                     .sampling = {.temperature = 0.5F * static_cast<float>(i), .seed = i, .logprobs = 2},
                     .ignore_eos = true};
      if (model->has_encoder()) wanted.encoder_input = source_for(*model, i);
      streams.push_back(running.generate(std::move(wanted)));
    }
    for (auto& stream : streams)
      for (const auto& each : (co_await stream.async_complete()).tokens) received.push_back(each.id);
    auto sequence = open(running, *model);
    co_await sequence.async_forward(some_tokens(*model, 30, 7), logits_of::all);
    auto other = sequence.fork();
    received.push_back((co_await other.async_decode({3})).id);
    co_await sequence.async_suspend();
    co_await sequence.async_save(file.path);
    auto opened = co_await running.async_load_session(file.path);
    received.push_back((co_await opened.async_decode({4})).id);
  });
  return received;
}

BOOST_AUTO_TEST_SUITE(delayed_torch)

BOOST_DATA_TEST_CASE(engines_on_a_processor_do_not_load_it, data::make(kinds), kind) {
  const auto model = golden_model(kind.golden);
  BOOST_TEST(run_all(model, kind.change(tiny_engine(*model))).size() == 4 * 12u + 2);
  BOOST_TEST(!torch_is_loaded());
}

BOOST_AUTO_TEST_CASE(vectors_of_texts_do_not_load_it) {
  const auto model = golden_model("bert_tiny");
  workspace space(1);
  const auto tokens = some_tokens(*model, 9, 1);
  const encoder_text text{.tokens = tokens};
  BOOST_TEST(model->embed({&text, 1}, space).numel() == model->embedding_width());
  BOOST_TEST(!torch_is_loaded());
}

// By several threads at once, and then its functions are its own.
BOOST_AUTO_TEST_CASE(devices_load_it) {
  const auto expected = run_all(golden_model("llama_default"), tiny_engine(*golden_model("llama_default")));
  BOOST_TEST(!torch_is_loaded());
  std::shared_ptr<const model> loaded[4];
  {
    std::vector<std::jthread> threads;
    for (auto& each : loaded)
      threads.emplace_back([&each] {
        each = load_model(COGEN_TEST_DATA "/golden/llama_default", {.threads = 1, .device = "reference"});
      });
  }
  BOOST_TEST(torch_is_loaded());
  for (const auto& loaded_model : loaded)
    BOOST_TEST(run_all(loaded_model, tiny_engine(*loaded_model)) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_it_throws_comes_through) {
  const auto model = golden_model("llama_default", "reference");
  auto options = tiny_engine(*model);
  options.kv.dtype.reset();
  options.kv.bytes = std::int64_t{1} << 60;
  options.batching.slots = 1 << 30;
  BOOST_CHECK_THROW(engine(model, options), std::exception);
}

// Run by itself, where the library is not beside the part of it that is linked.
BOOST_AUTO_TEST_CASE(what_is_missing_is_named, *boost::unit_test::disabled()) {
  const auto model = golden_model("llama_default");
  BOOST_TEST(run_all(model, tiny_engine(*model)).size() == 4 * 12u + 2);
  for (int i = 0; i < 2; ++i)
    BOOST_CHECK_EXCEPTION(golden_model("llama_default", "reference"), std::runtime_error, [](const auto& error) {
      const std::string said = error.what();
      return said.starts_with("LibTorch cannot be loaded: ") && said.find("libtorch_cpu.so: ") != std::string::npos;
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
