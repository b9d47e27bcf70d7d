// Products by cuBLASLt beside LibTorch's.
#include "a_device.hpp"
#include "network/backend/cuda/cublaslt_products.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/cuda/CUDAGraph.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <c10/cuda/CUDAGuard.h>

#include <cmath>

namespace cogen::test {

namespace {

namespace data = boost::unit_test::data;

double error_of(const at::Tensor& got, const at::Tensor& expected) {
  const auto wide = expected.to(at::kFloat);
  return ((got.to(at::kFloat) - wide).norm() / wide.norm()).item<double>();
}

BOOST_AUTO_TEST_SUITE(cublaslt, *boost::unit_test::precondition(a_device()))

BOOST_DATA_TEST_CASE(products_are_those_of_libtorch,
                     data::make({at::kBFloat16, at::kHalf}) * data::make({1, 9, 64, 200, 1025}), type, rows) {
  device::cublaslt_products products;
  const auto like = at::TensorOptions(at::kCUDA).dtype(type);
  const auto x = at::randn({rows, 576}, like), weights = at::randn({960, 576}, like), bias = at::randn({960}, like);
  const auto expected = at::matmul(x.to(at::kFloat), weights.t().to(at::kFloat));
  for (const auto y_type : {type, at::kFloat}) {
    const auto y = at::full({rows, 960}, NAN, like.dtype(y_type));
    BOOST_TEST(products.multiply({.x = x, .weights = weights, .y = y}));
    BOOST_TEST(error_of(y, expected) < 1e-2);
  }
  const auto y = at::full({rows, 960}, NAN, like);
  BOOST_TEST(products.multiply({.x = x, .weights = weights, .bias = bias, .y = y}));
  BOOST_TEST(error_of(y, expected + bias) < 1e-2);
  const auto base = at::randn({rows, 960}, like.dtype(at::kFloat)), sum = base.clone();
  for (int times = 1; times <= 2; ++times) {  // the first one is timed
    BOOST_TEST(products.multiply({.x = x, .weights = weights, .y = sum, .adds = true}));
    BOOST_TEST(error_of(sum, base + times * expected) < 1e-2);
  }
}

BOOST_AUTO_TEST_CASE(engines_of_a_process_run_the_same_algorithm) {
  const auto like = at::TensorOptions(at::kCUDA).dtype(at::kBFloat16);
  const auto x = at::randn({300, 4096}, like), weights = at::randn({1024, 4096}, like);
  const auto product = [&] {
    device::cublaslt_products products;
    const auto y = at::full({300, 1024}, NAN, like);
    products.multiply({.x = x, .weights = weights, .y = y});
    return y;
  };
  const auto expected = product();
  for (int i = 0; i < 5; ++i) BOOST_TEST(at::equal(product(), expected));
}

BOOST_AUTO_TEST_CASE(a_capture_times_nothing) {
  const auto stream = c10::cuda::getStreamFromPool();
  const c10::cuda::CUDAStreamGuard guard(stream);
  const auto like = at::TensorOptions(at::kCUDA).dtype(at::kBFloat16);
  const auto x = at::randn({50, 520}, like), weights = at::randn({72, 520}, like);
  const auto y = at::full({50, 72}, NAN, like);
  device::cublaslt_products products;
  products.multiply({.x = x, .weights = at::randn({80, 520}, like), .y = at::full({50, 80}, NAN, like)});
  at::cuda::CUDAGraph graph;
  stream.synchronize();
  graph.capture_begin();
  products.multiply({.x = x, .weights = weights, .y = y});
  graph.capture_end();
  graph.replay();
  BOOST_TEST(error_of(y, at::matmul(x.to(at::kFloat), weights.t().to(at::kFloat))) < 1e-2);
}

BOOST_AUTO_TEST_CASE(what_it_does_not_take_is_left_alone) {
  device::cublaslt_products products;
  const auto like = at::TensorOptions(at::kCUDA).dtype(at::kBFloat16);
  const auto x = at::randn({20, 64}, like), weights = at::randn({32, 64}, like);
  const auto y = at::full({20, 32}, 7, like);
  BOOST_TEST(!products.multiply({.x = x.to(at::kFloat), .weights = weights, .y = y}));
  BOOST_TEST(!products.multiply({.x = at::randn({64, 20}, like).t(), .weights = weights, .y = y}));
  BOOST_TEST(at::equal(y, at::full_like(y, 7)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
