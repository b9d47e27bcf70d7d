// End tokens that the tokenizer has no text for.
#include "../models/golden_copy.hpp"
#include "kept_engines.hpp"

#include <boost/asio/bind_executor.hpp>

#include <fstream>

namespace cogen::test {

BOOST_AUTO_TEST_SUITE(end_tokens)

BOOST_AUTO_TEST_CASE(one_without_text_ends_a_generation) {
  const golden_copy folder("llama_default");
  std::ofstream(folder.path() / "generation_config.json") << R"({"eos_token_id": [50, 5000]})";
  std::ofstream(folder.path() / "tokenizer.json") << R"({"version": "1.0", "added_tokens": [], "normalizer": null,
      "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true}, "post_processor": null,
      "decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2}, "merges": []}})";
  const auto model = load_model(folder.path(), {.threads = 1});
  engine running(model, tiny_engine(*model));
  net::io_context context;
  completion found;
  auto stream =
      running.generate({.prompt = token_ids({0, 1}), .max_tokens = 4, .sampling = {.logit_bias = {{50, 1e6}}}});
  stream.async_complete(net::bind_executor(context, [&](error_code, const completion& whole) { found = whole; }));
  settle(running, context);
  BOOST_TEST((found.reason == finish_reason::eos));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
