// Gemma 3 270M through the whole engine, beside what llama.cpp continues the same prompts with.
#include "../test_data.hpp"
#include "golden/golden.hpp"

#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>
#include <cogen/model.hpp>

#include <boost/asio/use_future.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <ostream>

namespace cogen {

std::ostream& operator<<(std::ostream& out, compute_type type) {
  return out << (type == compute_type::int8 ? "int8" : "float32");
}

namespace test {
namespace {

const std::filesystem::path file = fetched_data() / "gemma/gemma-3-270m-q4_k_m.gguf";

/// Where llama.cpp's two best logits are closer than that, rounding may exchange them; 0.1 measured. Its rounding of
/// activations moved their distance by up to 0.7 from that in float32.
constexpr float rounding = 0.25F;

boost::test_tools::assertion_result is_installed(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result result(std::filesystem::exists(file));
  if (!result) result.message() << file << " is not there; scripts/bootstrap --gemma fetches it";
  return result;
}

const std::vector<golden::reference_prompt>& prompts() {
  static const auto read = golden::read_continuations(test_data() / "golden/gemma3_270m.json", file);
  return read.prompts;
}

std::shared_ptr<const model> the_model() {
  static const auto loaded = load_model(file);
  return loaded;
}

std::vector<completion> completions(compute_type type) {
  engine running(the_model(), {.compute_type = type});
  std::vector<token_stream> streams;
  for (const auto& each : prompts())
    streams.push_back(running.generate(
        {.prompt = each.text, .max_tokens = static_cast<int>(each.continuation.size()), .ignore_eos = true}));
  std::vector<std::future<completion>> futures;
  for (auto& each : streams) futures.push_back(each.async_complete(net::use_future));
  std::vector<completion> results;
  for (auto& each : futures) results.push_back(each.get());
  return results;
}

BOOST_AUTO_TEST_SUITE(gemma, *boost::unit_test::precondition(is_installed))

BOOST_AUTO_TEST_CASE(texts_become_the_tokens_that_llama_cpp_reads) {
  for (const auto& each : prompts())
    BOOST_TEST(the_model()->tokenizer().encode(each.text, {.add_special = true}) == each.ids,
               boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE(continuations_differ_first_where_llama_cpp_nearly_chose_otherwise,
                     boost::unit_test::data::make({compute_type::float32, compute_type::int8}), type) {
  const auto found = completions(type);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto& expected = prompts()[i];
    BOOST_REQUIRE(found[i].tokens.size() == expected.continuation.size());
    const auto [ours, theirs] = std::ranges::mismatch(found[i].tokens, expected.continuation, {}, &sampled_token::id);
    const auto same = static_cast<std::size_t>(theirs - expected.continuation.begin());
    BOOST_TEST_MESSAGE("prompt " << i << ": " << same << " of " << expected.continuation.size() << " tokens");
    if (same < expected.rows.size())
      BOOST_TEST(expected.rows[same].margin() < rounding,
                 "prompt " << i << ", token " << same << ": margin " << expected.rows[same].margin());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace test
}  // namespace cogen
