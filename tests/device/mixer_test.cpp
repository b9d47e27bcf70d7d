// What recurrent mixers keep does not depend on how tokens are cut into steps, nor on other slots, but for the last
// bits: LibTorch's functions have others at the end of a tensor.
#include "device_models.hpp"
#include "plain_backend.hpp"

#include <ATen/ops/allclose.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

namespace cogen::test {

namespace {

/// Steps of one mixer over three slots.
class mixer_steps {
 public:
  explicit mixer_steps(const device::mixer& block)
      : block_(block),
        out_width_(std::visit([](const auto& part) { return part.spec.out_width(); }, block)),
        operators_(plain_backend().make_operators()) {
    const auto numbers = std::visit([](const auto& part) { return part.spec.kv().state; }, block);
    layer_.states = at::full({3, numbers}, 7, at::kFloat);  // what an empty slot holds counts as zeros
  }

  /// Rows of one token first, -1: a padding row. The result of each token: [tokens, out_width].
  at::Tensor run(const device::mixer_rows& numbers, const std::vector<std::pair<int, int>>& counts) {
    device::step_rows rows;
    std::vector<int> slots, positions;
    for (const auto& [slot, count] : counts) {
      int held = slot < 0 ? 0 : held_[static_cast<std::size_t>(slot)];
      if (count == 1 && rows.prompts.empty())
        ++rows.single;
      else
        rows.prompts.push_back({.slot = slot, .held = held, .count = count});
      for (int i = 0; i < count; ++i) slots.push_back(slot), positions.push_back(held++);
      if (slot >= 0) held_[static_cast<std::size_t>(slot)] = held;
    }
    rows.slots = at::tensor(slots, at::kInt);
    rows.positions = at::tensor(positions, at::kInt);
    auto out = at::empty({numbers.in.size(0), out_width_}, at::kFloat);
    operators_->mix(numbers, block_, rows, layer_, out);
    return out;
  }

  at::Tensor state(int slot) const { return layer_.states.select(0, slot); }

 private:
  const device::mixer& block_;
  const std::int64_t out_width_;
  const std::unique_ptr<device::operators> operators_;
  cache::device_layer layer_;
  std::vector<int> held_ = {0, 0, 0};
};

device::mixer_rows some_numbers(const device::mixer& block, std::int64_t tokens) {
  return std::visit(
      [&](const auto& part) {
        return device::mixer_rows{at::randn({tokens, part.spec.in_width()}),
                                  at::randn({tokens, part.spec.decisions()})};
      },
      block);
}

device::mixer_rows part_of(const device::mixer_rows& rows, std::int64_t first, std::int64_t count) {
  return {rows.in.narrow(0, first, count), rows.decisions.narrow(0, first, count)};
}

bool same(const at::Tensor& a, const at::Tensor& b) { return at::allclose(a, b, 1e-5, 1e-5); }

BOOST_AUTO_TEST_SUITE(mixers)

BOOST_AUTO_TEST_CASE(any_cut_leaves_the_same) {
  for (const auto& block : seeded_mixers(plain_backend())) {
    const auto numbers = some_numbers(block, 23);
    mixer_steps at_once(block);
    const auto expected = at_once.run(numbers, {{1, 23}});
    BOOST_TEST(expected.isfinite().all().item<bool>());
    for (const int size : {1, 2, 5, 22}) {
      mixer_steps cut(block);
      for (int first = 0; first < 23; first += size) {
        const int count = std::min(size, 23 - first);
        BOOST_TEST(same(cut.run(part_of(numbers, first, count), {{1, count}}), expected.narrow(0, first, count)));
      }
      BOOST_TEST(same(cut.state(1), at_once.state(1)));
    }
  }
}

BOOST_AUTO_TEST_CASE(slots_share_a_step_and_nothing_else) {
  for (const auto& block : seeded_mixers(plain_backend())) {
    const auto numbers = some_numbers(block, 9);
    mixer_steps together(block);
    const auto out = together.run(numbers, {{2, 1}, {-1, 1}, {0, 7}});
    BOOST_TEST(out.select(0, 1).count_nonzero().item<std::int64_t>() == 0);
    BOOST_TEST(together.state(1).eq(7).all().item<bool>());
    for (const auto& [slot, first, count] : {std::tuple(2, 0, 1), {0, 2, 7}}) {
      mixer_steps alone(block);
      BOOST_TEST(same(alone.run(part_of(numbers, first, count), {{slot, count}}), out.narrow(0, first, count)));
      BOOST_TEST(same(alone.state(slot), together.state(slot)));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
