// engine_options::batch_invariant: a sequence's logits are the same bits in any batch.
#include "../engine/model_engines.hpp"
#include "../repetitions.hpp"
#include "company.hpp"
#include "device_models.hpp"
#include "plain_backend.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

namespace cogen::test {

namespace {

namespace data = boost::unit_test::data;

/// Steps of few tokens are recorded, or not.
std::vector<float> logits_in(const company& setting, const std::string& name, bool batch_invariant,
                             bool recorded = true) {
  const auto where = std::make_shared<plain_backend>();
  where->records = recorded;
  where->recorded_row = 4;
  where->page = 4096;
  const auto model = golden_model_on(where, name);
  auto options = tiny_engine(*model);
  options.kv.dtype.reset();
  options.batch_invariant = batch_invariant;
  return logits_in(setting, model, std::move(options));
}

// Rings; norms of heads; experts; recurrent layers of each kind; latent attention; streams; biases; an encoder.
const std::vector<std::string> families{"llama_default",   "mistral_window",   "qwen3_published",   "mixtral_published",
                                        "qwen3_5_typed",   "falcon_h1_scaled", "jamba_tiny",        "rwkv_published",
                                        "lfm2_published",  "deepseek_v2_lite", "gemma3n_published", "cohere2_published",
                                        "bloom_published", "bart_tiny"};

BOOST_AUTO_TEST_SUITE(device_batch_invariance)

BOOST_DATA_TEST_CASE(logits_are_the_same_bits_in_any_company, data::make(families), name) {
  const auto expected = logits_in(alone, name, true);
  for (const auto& setting : thin(std::vector(std::begin(companies), std::end(companies)), 3))
    BOOST_TEST(same_bits(logits_in(setting, name, true), expected), setting.name);
}

BOOST_AUTO_TEST_CASE(recorded_steps_have_the_same_bits) {
  BOOST_TEST(
      same_bits(logits_in(companies[1], "llama_default", true), logits_in(companies[1], "llama_default", true, false)));
}

// What the tests above would see.
BOOST_AUTO_TEST_CASE(without_the_option_they_are_not) {
  const auto expected = logits_in(alone, "llama_default", false);
  BOOST_TEST(!same_bits(logits_in(companies[1], "llama_default", false), expected));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
