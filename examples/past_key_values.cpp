#include "past_key_values.hpp"

#include <cogen/extend/tensors.hpp>

#include <ATen/ops/stack.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <string>

namespace example {
namespace {

using namespace cogen::cache;

bool reads_encoder(const layer& layer) { return layer.shape().kind == layer_kind::cross; }

std::string layer_name(int layer) { return "cache: layer " + std::to_string(layer); }

void check_has_tokens(const cogen::cache::cache& cache) {
  for (int i = 0; i < cache.layers(); ++i)
    if (cache.layer(i).shape().kind == layer_kind::recurrent)
      throw std::logic_error(layer_name(i) + " is recurrent: it has a state, no keys and values");
}

void check_same_lengths(const cogen::cache::cache& cache, std::span<const int> slots) {
  if (slots.empty()) throw std::invalid_argument("cache: 0 slots, a batch has at least 1");
  for (const int slot : slots)
    if (cache.length(slot) != cache.length(slots[0]) || cache.encoder_length(slot) != cache.encoder_length(slots[0]))
      throw std::invalid_argument("cache: slots of one batch have the same length, slot " + std::to_string(slots[0]) +
                                  " holds " + std::to_string(cache.length(slots[0])) +
                                  " tokens and an encoder input of " + std::to_string(cache.encoder_length(slots[0])) +
                                  ", slot " + std::to_string(slot) + " " + std::to_string(cache.length(slot)) +
                                  " and " + std::to_string(cache.encoder_length(slot)));
}

bool quantizes(const layer& layer, int slot) {
  const auto view = layer.view(slot, 0);
  return view && view->quantized.keys.quantizer != nullptr;
}

kv_tensors all_tokens(const cogen::cache::cache& cache, int index, int slot) {
  const auto& layer = cache.layer(index);
  const int length = layer.slots().length(slot);
  const kv_extent kept = layer.mask_sizes(slot, 0);
  if (kept.kv_length != length || kept.kv_offset != 0 || kept.sinks != 0)
    throw std::logic_error(layer_name(index) + " has forgotten some of the " + std::to_string(length) +
                           " tokens of slot " + std::to_string(slot) + ": it keeps what queries still see");
  return quantizes(layer, slot) ? tensors_of(layer.to_dense(slot, length)) : dense_tensors(layer, slot, length);
}

/// Tensors of one layer, and their required shape.
class checked_layer {
 public:
  checked_layer(const cogen::cache::cache& cache, int index, const legacy_layer& tensors, std::size_t batch)
      : shape_(cache.layer(index).shape()), name_(layer_name(index)), batch_(static_cast<std::int64_t>(batch)) {
    check("k", tensors.k, shape_.head_dim);
    check("v", tensors.v, shape_.value_dim());
    if (tensors.k.size(2) != tensors.v.size(2)) wrong("v", tensors.v, "as long as k");
  }

  void check_length(const at::Tensor& k, std::int64_t length) const {
    if (k.size(2) != length) wrong("k", k, std::to_string(length) + " tokens long, as the layers before it");
  }

 private:
  void check(const char* which, const at::Tensor& tensor, int dims) const {
    std::ostringstream wanted;
    wanted << "a floating-point tensor [" << batch_ << ", " << shape_.kv_heads << ", length, " << dims << "]";
    const bool fits = tensor.defined() && tensor.is_floating_point() && tensor.dim() == 4 && tensor.size(0) == batch_ &&
                      tensor.size(1) == shape_.kv_heads && tensor.size(3) == dims;
    if (!fits) wrong(which, tensor, wanted.str());
  }

  [[noreturn]] void wrong(const char* which, const at::Tensor& tensor, const std::string& wanted) const {
    std::ostringstream message;
    message << name_ << ": " << which << " has to be " << wanted;
    if (tensor.defined()) message << ", it is " << tensor.sizes() << " of " << tensor.scalar_type();
    throw std::invalid_argument(message.str());
  }

  kv_cache_spec shape_;
  std::string name_;
  std::int64_t batch_;
};

/// Tokens of the slots and of their encoder inputs.
struct two_lengths {
  std::int64_t own = -1;
  std::int64_t encoder_input = -1;
};

two_lengths checked(const cogen::cache::cache& cache, std::size_t batch, std::span<const legacy_layer> layers) {
  if (layers.size() != static_cast<std::size_t>(cache.layers()))
    throw std::invalid_argument("cache: " + std::to_string(layers.size()) + " layers of keys and values are given, " +
                                std::to_string(cache.layers()) + " are needed");
  two_lengths lengths;
  for (int i = 0; i < cache.layers(); ++i) {
    const legacy_layer& given = layers[static_cast<std::size_t>(i)];
    const checked_layer layer(cache, i, given, batch);
    std::int64_t& length = reads_encoder(cache.layer(i)) ? lengths.encoder_input : lengths.own;
    if (length < 0) length = given.k.size(2);
    layer.check_length(given.k, length);
  }
  return lengths;
}

void check_empty(const cogen::cache::cache& cache, std::span<const int> slots) {
  for (const int slot : slots)
    if (cache.length(slot) > 0 || cache.encoder_length(slot) > 0)
      throw std::logic_error("cache: slot " + std::to_string(slot) + " is not empty, it holds " +
                             std::to_string(cache.length(slot)) + " tokens and an encoder input of " +
                             std::to_string(cache.encoder_length(slot)));
}

/// [batch, heads, length, dim] -> tokens [begin, begin + count) of all rows, [batch * count, heads, dim]
at::Tensor rows_of(const at::Tensor& batch, std::int64_t begin, std::int64_t count) {
  return batch.narrow(2, begin, count).transpose(1, 2).reshape({-1, batch.size(1), batch.size(3)});
}

step step_of(std::span<const int> slots, std::int64_t count) {
  std::vector<step_row> rows;
  for (const int slot : slots) rows.push_back({.slot = slot, .count = static_cast<int>(count)});
  return step(std::move(rows));
}

void append(cogen::cache::cache& cache, const step& step, std::span<const legacy_layer> layers, std::int64_t begin,
            bool encoder_inputs) {
  const std::int64_t count = step.rows()[0].count;
  for (int i = 0; i < cache.layers(); ++i) {
    const legacy_layer& given = layers[static_cast<std::size_t>(i)];
    if (reads_encoder(cache.layer(i)) == encoder_inputs)
      append(cache.layer(i), step, rows_of(given.k, begin, count), rows_of(given.v, begin, count));
  }
}

void fill_encoder_inputs(cogen::cache::cache& cache, std::span<const int> slots, std::span<const legacy_layer> layers,
                         std::int64_t length) {
  if (length <= 0) return;
  const step inputs = step_of(slots, length);
  cache.reserve_encoder(inputs);
  append(cache, inputs, layers, 0, true);
  cache.advance_encoder(inputs);
}

void fill_tokens(cogen::cache::cache& cache, std::span<const int> slots, std::span<const legacy_layer> layers,
                 std::int64_t length) {
  for (std::int64_t begin = 0; begin < length;) {
    const step some = step_of(slots, std::min<std::int64_t>(cache.max_step_tokens(), length - begin));
    cache.reserve(some);
    append(cache, some, layers, begin, false);
    cache.advance(some);
    begin += some.rows()[0].count;
  }
}

}  // namespace

std::vector<legacy_layer> to_legacy(const cogen::cache::cache& cache, std::span<const int> slots) {
  check_has_tokens(cache);
  check_same_lengths(cache, slots);
  std::vector<legacy_layer> layers;
  for (int i = 0; i < cache.layers(); ++i) {
    std::vector<at::Tensor> k, v;
    for (const int slot : slots) {
      const kv_tensors tokens = all_tokens(cache, i, slot);
      k.push_back(tokens.k);
      v.push_back(tokens.v);
    }
    layers.push_back({.k = at::stack(k), .v = at::stack(v)});
  }
  return layers;
}

void from_legacy(cogen::cache::cache& cache, std::span<const int> slots, std::span<const legacy_layer> layers) {
  check_has_tokens(cache);
  if (slots.empty()) throw std::invalid_argument("cache: 0 slots, a batch has at least 1");
  check_empty(cache, slots);
  step_of(slots, 1);  // refuses a slot that is named twice
  const two_lengths lengths = checked(cache, slots.size(), layers);
  if (lengths.own > cache.max_sequence_length())
    throw std::length_error("cache: slot " + std::to_string(slots[0]) + " would hold " + std::to_string(lengths.own) +
                            " tokens, the limit is " + std::to_string(cache.max_sequence_length()));
  try {
    fill_encoder_inputs(cache, slots, layers, lengths.encoder_input);
    fill_tokens(cache, slots, layers, lengths.own);
  } catch (...) {
    for (const int slot : slots) cache.clear(slot);
    throw;
  }
}

}  // namespace example
