// The default model's kernels against plain LibTorch operators on dequantized weights.
#include "histories.hpp"
#include "network/kernels/instruction_set.hpp"
#include "reference_llama.hpp"
#include "some_models.hpp"

#include <cogen/extend/tensors.hpp>

#include <ATen/TensorOperators.h>
#include <ATen/ops/log_softmax.h>
#include <boost/test/unit_test.hpp>

#include <string>

namespace cogen::test {
namespace {

const std::string text =
    "The harbour lay quiet before dawn. Three boats had come in during the night, and their crews were asleep under "
    "tarpaulins while the gulls walked between the ropes. In 1987, a storm moved the sea wall by four metres.";

std::vector<token> tokens_of_text(const model& model) { return model.tokenizer().encode(text); }

const at::Tensor& expected_logits() {
  static const auto logits =
      reference_llama(load::checkpoint(default_model_file())).forward(tokens_of_text(*default_model()));
  return logits;
}

at::Tensor logits_of(const model& model, cache::scalar type, compute_type mode = compute_type::float32) {
  const auto tokens = tokens_of_text(model);
  const int count = static_cast<int>(tokens.size());
  std::vector<int> outputs;
  for (int i = 0; i < count; ++i) outputs.push_back(i);
  auto cache = model.make_cache({.type = type, .slots = 1, .max_sequence_length = count});
  workspace workspace(std::nullopt, mode);
  const auto logits = model.forward(
      {.step = cache::step({{.slot = 0, .count = count}}), .tokens = tokens, .outputs = outputs}, cache, workspace);
  return tensor_of(logits).clone();
}

/// Mean Kullback-Leibler divergence of next-token distributions, in nats.
double divergence(const at::Tensor& logits) {
  const auto expected = at::log_softmax(expected_logits().to(at::kDouble), -1);
  const auto came = at::log_softmax(logits.to(at::kDouble), -1);
  return (expected.exp() * (expected - came)).sum(-1).mean().item<double>();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(the_default_model)

BOOST_AUTO_TEST_CASE(exact_logits_differ_by_rounding_only) {
  for (const auto set : kernels::available_instruction_sets()) {
    const environment_setting forced("COGEN_INSTRUCTION_SET", std::string(kernels::name_of(set)));
    const auto model = load_model(default_model_file());
    const auto worst = (logits_of(*model, cache::scalar::f32) - expected_logits()).abs().max().item<float>();
    BOOST_TEST_MESSAGE(kernels::name_of(set) << ": " << worst);
    BOOST_TEST(worst < 2e-3F, kernels::name_of(set) << " is off by " << worst);
  }
}

BOOST_AUTO_TEST_CASE(coarser_numbers_hardly_move_the_distributions) {
  const double half = divergence(logits_of(*default_model(), cache::scalar::bf16));
  BOOST_TEST_MESSAGE("bf16 cache: " << half << " nats");
  BOOST_TEST(half < 1e-3);
}

BOOST_AUTO_TEST_CASE(int8_products_move_the_distributions_little_on_every_instruction_set) {
  for (const auto set : kernels::available_instruction_sets()) {
    const environment_setting forced("COGEN_INSTRUCTION_SET", std::string(kernels::name_of(set)));
    const auto model = load_model(default_model_file());
    const double nats = divergence(logits_of(*model, cache::scalar::f32, compute_type::int8));
    BOOST_TEST_MESSAGE(kernels::name_of(set) << ", fast: " << nats << " nats");
    BOOST_TEST(nats < 0.02, kernels::name_of(set) << ": " << nats << " nats");
  }
}

BOOST_AUTO_TEST_CASE(logits_are_the_same_bits_in_any_batch) {
  for (const auto mode : {compute_type::float32, compute_type::int8})
    check_company(*default_model(), {1, 70, 12, 33}, 24, cache::scalar::bf16, mode);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
