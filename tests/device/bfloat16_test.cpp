// Weights and activations of 16 bits, as a GPU has them, through the operators of any device.
#include "../engine/model_engines.hpp"
#include "device_models.hpp"
#include "plain_backend.hpp"

#include <cogen/extend/tensors.hpp>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace cogen::test {

namespace {

namespace data = boost::unit_test::data;

/// The logits after each token of a prompt, and of some that follow one by one.
at::Tensor logits_of(const std::string& golden, at::ScalarType type, device_weights bits = device_weights::whole) {
  const auto model = golden_model_on(std::make_shared<plain_backend>(), golden, type, bits);
  auto cache = model->make_cache(
      {.type = type == at::kFloat ? cache::scalar::f32 : cache::scalar::bf16, .slots = 2, .max_sequence_length = 64});
  workspace workspace(1);
  std::vector<at::Tensor> results;
  const auto read = [&](const std::vector<token>& tokens) {
    std::vector<int> outputs(tokens.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) outputs[i] = static_cast<int>(i);
    const cache::step step({{.slot = 1, .count = static_cast<int>(tokens.size())}});
    const auto logits = model->forward({.step = step, .tokens = tokens, .outputs = outputs}, cache, workspace);
    results.push_back(tensor_of(logits).clone());
  };
  read(some_tokens(*model, 20, 1));
  for (const auto next : some_tokens(*model, 10, 2)) read({next});
  return at::cat(results);
}

/// How far logits are off, beside their size.
double distance(const at::Tensor& got, const at::Tensor& expected) {
  return ((got - expected).norm() / expected.norm()).item<double>();
}

BOOST_AUTO_TEST_SUITE(device_bfloat16)

// Experts, sinks and shared experts; recurrent mixers; latent attention; capped scores; biases of distances.
const std::vector<std::string> families{"mixtral_published", "gpt_oss_full",      "qwen3_moe_published",
                                        "qwen3_next_mixed",  "jamba_tiny",        "granite4_published",
                                        "lfm2_published",    "deepseek_v2_lite",  "gemma2_published",
                                        "bloom_published",   "cohere2_published", "gemma3n_published"};

BOOST_DATA_TEST_CASE(logits_are_near_those_of_float32, data::make(families), name) {
  BOOST_TEST(distance(logits_of(name, at::kBFloat16), logits_of(name, at::kFloat)) < 0.1);
}

BOOST_AUTO_TEST_CASE(experts_of_few_bits_are_read_one_after_the_other) {
  const auto expected = logits_of("mixtral_published", at::kFloat);
  BOOST_TEST(distance(logits_of("mixtral_published", at::kBFloat16, device_weights::int8), expected) < 0.1);
}

// Vectors of all layers; vectors of another width than hidden states; positions; logits with a bias of each.
BOOST_DATA_TEST_CASE(embeddings_of_8_bits_say_nearly_the_same,
                     data::make(std::vector<std::string>{"gemma3n_published", "opt_350m", "gpt2_published",
                                                         "phi_published"}),
                     name) {
  const auto off = distance(logits_of(name, at::kFloat, device_weights::int8), logits_of(name, at::kFloat));
  BOOST_TEST(off < 0.1);
  BOOST_TEST(off > 1e-4);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
