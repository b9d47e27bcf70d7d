#include "../test_data.hpp"
#include "formats/checkpoint/gguf.hpp"
#include "formats/checkpoint/safetensors.hpp"

#include <cogen/load/checkpoint.hpp>

#include <boost/test/unit_test.hpp>

#include <filesystem>

using namespace cogen::load;

namespace {

boost::test_tools::assertion_result is_installed(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result result(std::filesystem::exists(cogen::test::default_model_file()));
  if (!result) result.message() << cogen::test::default_model_file() << " is not there";
  return result;
}

double checksum(const weight& w) {
  double sum = 0;
  std::vector<float> row(static_cast<std::size_t>(w.columns()));
  for (std::int64_t r = 0; r < w.rows(); ++r) {
    w.read_rows_as_float(r, r + 1, row);
    for (std::int64_t c = 0; c < w.columns(); ++c) {
      sum += static_cast<double>(row[static_cast<std::size_t>(c)]) * static_cast<double>((7 * r + 3 * c) % 11 - 5);
    }
  }
  return sum;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(the_default_model, *boost::unit_test::precondition(is_installed))

BOOST_AUTO_TEST_CASE(its_configuration_is_read) {
  const auto config = checkpoint(cogen::test::default_model_file()).config();
  BOOST_TEST(config.family == "llama");
  BOOST_TEST(config.vocabulary == 49152);
  BOOST_TEST(config.hidden == 576);
  BOOST_TEST(config.layers == 30);
  BOOST_TEST(config.heads == 9);
  BOOST_TEST(config.kv_heads == 3);
  BOOST_TEST(config.head_dim == 64);
  BOOST_TEST(config.intermediate == 1536);
  BOOST_TEST(config.max_positions == 8192);
  BOOST_TEST(config.rope.theta == 100000.0);
  BOOST_TEST(config.tie_embeddings);
  BOOST_TEST(config.eos == std::vector<cogen::token>{2}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(its_tokenizer_is_read) {
  const auto tokenizer =
      std::get<cogen::text::gguf_vocabulary>(checkpoint(cogen::test::default_model_file()).tokenizer());
  BOOST_TEST(tokenizer.pre == "smollm");
  BOOST_TEST(tokenizer.tokens.size() == 49152U);
  BOOST_TEST(tokenizer.tokens[1] == "<|im_start|>");
  BOOST_TEST(tokenizer.merges.size() == 48900U);
  BOOST_TEST(tokenizer.chat_template.value().size() > 100U);
}

BOOST_AUTO_TEST_CASE(every_weight_has_the_values_that_transformers_reads) {
  const checkpoint files(cogen::test::default_model_file());
  const gguf_file stored(cogen::test::default_model_file());
  const safetensors_file expected(cogen::test::test_data() / "load/data/default_model.safetensors");
  const auto names = files.weight_names();
  BOOST_TEST(names.size() == expected.tensors().size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    double sum = 0;
    expected.read(*expected.find(stored.tensors()[i].name), 0, std::as_writable_bytes(std::span(&sum, 1)));
    BOOST_TEST(checksum(files.find(names[i]).value()) == sum, boost::test_tools::tolerance(1e-9));
  }
}

BOOST_AUTO_TEST_SUITE_END()
