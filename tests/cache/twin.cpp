#include "twin.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <stdexcept>

namespace cogen::cache::test {
namespace {

const std::byte* address_of(const kv_view& view, std::int64_t position, int head) {
  const kv_range& range = position < view.range[0].end ? view.range[0] : view.range[1];
  if (position < range.begin || position >= range.end) throw std::logic_error("the view's ranges leave a gap");
  return range.data + position / 64 * view.block_stride + head * view.head_stride +
         position % 64 * view.head_dim * bytes_of(view.type);
}

std::int64_t end_of(const kv_view& view) { return view.ranges == 0 ? 0 : view.range[view.ranges - 1].end; }

}  // namespace

bytes_read read_through(const kv_view& view) {
  bytes_read read;
  read.k.reserve(static_cast<std::size_t>(view.kv_heads * end_of(view) * view.head_dim * bytes_of(view.type)));
  read.v.reserve(read.k.capacity());
  const int row = view.head_dim * bytes_of(view.type);
  for (int head = 0; head < view.kv_heads; ++head)
    for (std::int64_t position = 0; position < end_of(view); ++position) {
      const std::byte* key = address_of(view, position, head);
      read.k.insert(read.k.end(), key, key + row);
      read.v.insert(read.v.end(), key + view.value_offset, key + view.value_offset + row);
    }
  return read;
}

std::vector<std::byte> bytes_in(const at::Tensor& tensor) {
  const at::Tensor rows = tensor.contiguous();
  const auto* data = static_cast<const std::byte*>(rows.data_ptr());
  return {data, data + rows.nbytes()};
}

twin::twin(const kind& kind, int slots, int max_length, unsigned seed)
    : cache_(kind.make(mixed_shapes(), slots, max_length)), random_(seed), held_(static_cast<std::size_t>(slots)) {
  for (auto& slot : held_)
    for (int i = 0; i < cache_.layers(); ++i) {
      const auto& layer = cache_.layer(i);
      const at::Tensor none = at::empty({layer.shape().kv_heads, 0, layer.shape().head_dim}, tensor_type(layer.type()));
      slot.push_back({.k = none, .v = none});
    }
}

int twin::length(int slot) const { return static_cast<int>(held(slot).front().k.size(1)); }

at::Tensor twin::random(int tokens, const layer_shape& shape) {
  const at::Tensor made = at::empty({tokens, shape.kv_heads, shape.head_dim}, at::kFloat);
  float* values = made.data_ptr<float>();
  for (std::int64_t i = 0; i < made.numel(); ++i)
    values[i] = static_cast<float>(static_cast<int>(random_())) * 0x1p-29F;
  return made;
}

void twin::append(const std::vector<step_row>& rows) {
  const step step(rows);
  cache_.reserve(step);
  for (int i = 0; i < cache_.layers(); ++i) {
    auto& layer = cache_.layer(i);
    const at::Tensor k = random(step.tokens(), layer.shape());
    const at::Tensor v = random(step.tokens(), layer.shape());
    layer.append(step, k, v);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const auto grown = [&](const at::Tensor& old, const at::Tensor& added) {
        const at::Tensor mine = added.narrow(0, step.first(static_cast<int>(row)), rows[row].count);
        return at::cat({old, mine.transpose(0, 1).to(old.scalar_type())}, 1);
      };
      keys_values& slot = held(rows[row].slot)[static_cast<std::size_t>(i)];
      slot = {.k = grown(slot.k, k), .v = grown(slot.v, v)};
    }
  }
  cache_.advance(step);
}

std::vector<keys_values> twin::first_tokens(int slot, int length) const {
  std::vector<keys_values> first;
  for (const keys_values& all : held(slot))
    first.push_back({.k = all.k.narrow(1, 0, length), .v = all.v.narrow(1, 0, length)});
  return first;
}

void twin::truncate(int slot, int length) {
  cache_.truncate(slot, length);
  held(slot) = first_tokens(slot, length);
}

void twin::clear(int slot) {
  cache_.clear(slot);
  held(slot) = first_tokens(slot, 0);
}

void twin::copy(int from, int to, int begin, int end) {
  cache_.copy(from, to, begin, end);
  std::vector<keys_values> joined;
  for (std::size_t i = 0; i < held(to).size(); ++i) {
    const auto join = [&](const at::Tensor& kept, const at::Tensor& copied) {
      return at::cat({kept.narrow(1, 0, begin), copied.narrow(1, begin, end - begin)}, 1);
    };
    joined.push_back({.k = join(held(to)[i].k, held(from)[i].k), .v = join(held(to)[i].v, held(from)[i].v)});
  }
  held(to) = joined;
}

void twin::adopt(int slot, int of, int length) {
  cache_.adopt(slot, of, length);
  held(slot) = first_tokens(of, length);
}

void twin::move(int from, int to) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(cache_.exported_bytes(length(from))));
  cache_.export_slot(from, bytes);
  cache_.import_slot(to, length(from), bytes);
  held(to) = held(from);
}

void twin::check() const {
  for (int slot = 0; slot < cache_.slots(); ++slot) {
    BOOST_TEST_REQUIRE(cache_.length(slot) == length(slot));
    for (int layer = 0; layer < cache_.layers(); ++layer) check_layer(slot, layer);
  }
}

void twin::check_layer(int slot, int layer) const {
  BOOST_TEST_CONTEXT("slot " << slot << ", layer " << layer) {
    const keys_values& wanted = held(slot)[static_cast<std::size_t>(layer)];
    const keys_values got = cache_.layer(layer).materialise(slot, length(slot));
    BOOST_TEST_REQUIRE(got.k.scalar_type() == wanted.k.scalar_type());
    BOOST_TEST_REQUIRE(at::equal(got.k, wanted.k));
    BOOST_TEST_REQUIRE(at::equal(got.v, wanted.v));
    if (const auto view = cache_.layer(layer).view(slot, length(slot))) {
      const bytes_read read = read_through(*view);
      BOOST_TEST_REQUIRE((read.k == bytes_in(wanted.k)));
      BOOST_TEST_REQUIRE((read.v == bytes_in(wanted.v)));
    }
  }
}

}  // namespace cogen::cache::test
