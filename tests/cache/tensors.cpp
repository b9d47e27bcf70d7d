// Caches and matrices as tensors, at the edge to LibTorch.
#include "kinds.hpp"
#include "says.hpp"

#include <cogen/extend/tensors.hpp>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace cogen::cache::test {

BOOST_AUTO_TEST_SUITE(tensors)
namespace {

namespace data = boost::unit_test::data;

/// [tokens, kv_heads, dims], each number its own, exact in every format.
at::Tensor counted(int tokens, const kv_cache_spec& shape, int dims) {
  return at::arange(tokens * shape.kv_heads * dims, at::kFloat).view({tokens, shape.kv_heads, dims});
}

}  // namespace

BOOST_DATA_TEST_CASE(dense_tensors_have_the_number_format_of_their_layer, data::make(kinds()), kind) {
  cache cache = kind.make(mixed_shapes(), 1, 64);
  auto& layer = cache.layer(0);
  if (layer.shape().kind == layer_kind::recurrent) return;
  const at::Tensor k = counted(5, layer.shape(), layer.shape().head_dim);
  const at::Tensor v = k.narrow(2, 0, layer.shape().value_dim());
  const step step({{.slot = 0, .count = 5}});
  cache.reserve(step);
  append(layer, step, k, v);
  const kv_tensors held = dense_tensors(layer, 0, 5), exact = tensors_of(layer.to_dense(0, 5));
  BOOST_TEST((held.k.scalar_type() == tensor_type(kind.type)));
  BOOST_TEST((held.v.scalar_type() == tensor_type(kind.type)));
  BOOST_TEST((exact.k.scalar_type() == at::kFloat));
  const at::Tensor wanted = v.transpose(0, 1);
  BOOST_TEST(at::equal(held.v.to(at::kFloat), wanted.narrow(1, 5 - exact.v.size(1), exact.v.size(1))));
  BOOST_TEST(at::equal(held.k.to(at::kFloat), exact.k));
}

BOOST_AUTO_TEST_CASE(tensors_are_memory_of_their_own) {
  keys_values tokens = make_keys_values(1, 1, 2);
  tokens.k.row(0, 0)[1] = 5;
  const kv_tensors copies = tensors_of(tokens);
  tokens.k.row(0, 0)[1] = 6;
  tokens = {};
  BOOST_TEST(copies.k[0][0][1].item<float>() == 5);
}

BOOST_AUTO_TEST_CASE(new_tensors_may_be_of_any_floating_type_and_lie_anyhow) {
  const kv_cache_spec& shape = mixed_shapes()[0];
  const at::Tensor k = counted(3, shape, shape.head_dim);
  for (const auto type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    cache cache = kinds().front().make(mixed_shapes(), 1, 64);
    const step step({{.slot = 0, .count = 3}});
    cache.reserve(step);
    append(cache.layer(0), step, k.to(type), k.transpose(0, 2).contiguous().transpose(0, 2).to(type));
    const kv_tensors held = tensors_of(cache.layer(0).to_dense(0, 3));
    BOOST_TEST(at::equal(held.k, k.transpose(0, 1)));
    BOOST_TEST(at::equal(held.v, k.transpose(0, 1)));
  }
}

BOOST_AUTO_TEST_CASE(new_tensors_of_another_shape_or_type_are_refused) {
  cache cache = kinds().front().make(mixed_shapes(), 1, 64);
  auto& layer = cache.layer(0);
  const step step({{.slot = 0, .count = 3}});
  cache.reserve(step);
  const at::Tensor good = counted(3, layer.shape(), 8);
  const auto refused = [&](const at::Tensor& k, const at::Tensor& v, const std::vector<std::string>& words) {
    BOOST_CHECK_EXCEPTION(append(layer, step, k, v), std::invalid_argument, says(words));
  };
  refused(counted(4, layer.shape(), 8), good, {"k has to be", "[3, 2, 8]", "it is [4, 2, 8]"});
  refused(good, counted(3, layer.shape(), 7), {"v has to be", "[3, 2, 8]", "it is [3, 2, 7]"});
  refused(good.transpose(0, 1), good, {"k has to be", "[3, 2, 8]", "it is [2, 3, 8]"});
  refused(good, good.to(at::kLong), {"v has to be a floating-point tensor", "Long"});
  refused(at::Tensor(), good, {"k has to be", "[3, 2, 8]"});
}

BOOST_AUTO_TEST_CASE(a_matrix_and_its_tensor_are_the_same_memory) {
  const matrix numbers(3, 4);
  const at::Tensor tensor = tensor_of(numbers.view().columns_from(1, 2));
  BOOST_TEST((tensor.sizes() == at::IntArrayRef({3, 2})));
  numbers[2][2] = 7;
  BOOST_TEST(tensor[2][1].item<float>() == 7);
  const matrix_view again = matrix_of(tensor);
  BOOST_TEST(again.data == numbers.view().data + 1);
  BOOST_TEST(again.rows == 3);
  BOOST_TEST(again.columns == 2);
  BOOST_TEST(again.stride == 4);
}

BOOST_AUTO_TEST_CASE(a_tensor_that_is_no_matrix_is_refused) {
  const auto refused = [](const at::Tensor& tensor, const std::vector<std::string>& words) {
    BOOST_CHECK_EXCEPTION(matrix_of(tensor), std::invalid_argument, says(words));
  };
  refused(at::zeros({3}), {"[3] of Float"});
  refused(at::zeros({3, 4}, at::kHalf), {"[3, 4] of Half"});
  refused(at::zeros({3, 4}).t(), {"[4, 3] of Float"});
  refused(at::Tensor(), {"float32 tensor [rows, columns]"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::cache::test
