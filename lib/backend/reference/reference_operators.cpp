#include "backend/reference/reference_operators.hpp"

#include "backend/reference/reference_mixers.hpp"
#include "backend/reference/reference_norms.hpp"
#include "backend/reference/reference_routing.hpp"
#include "sampling/described_sampling.hpp"

#include <cogen/cache/mask.hpp>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/expm1.h>
#include <ATen/ops/floor_divide.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/log1p.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace cogen::device {

namespace {

std::vector<std::int64_t> numbers_of(const at::Tensor& of) {
  const auto values = of.to(at::kCPU, at::kLong).contiguous();
  return {values.const_data_ptr<std::int64_t>(), values.const_data_ptr<std::int64_t>() + values.numel()};
}

/// Halves of 2 * pairs dimensions from `first` on turn with one another. x [tokens, heads, head_dim]
at::Tensor rotated(const at::Tensor& x, const at::Tensor& angles, std::int64_t first) {
  const auto pairs = angles.size(1) / 2;
  const auto cosines = angles.narrow(1, 0, pairs).unsqueeze(1);
  const auto sines = angles.narrow(1, pairs, pairs).unsqueeze(1);
  const auto low = x.narrow(2, first, pairs);
  const auto high = x.narrow(2, first + pairs, pairs);
  const auto before = x.narrow(2, 0, first);
  const auto behind = x.slice(2, first + 2 * pairs);
  return at::cat({before, low * cosines - high * sines, high * cosines + low * sines, behind}, 2);
}

std::int64_t quantized_before(const cache::device_layer& layer, std::int64_t length) {
  return layer.quantization ? cache::quantized_tokens(length, layer.quantization->residual) : 0;
}

/// The quantized keys (plane 0) or values (plane 1) of a slot: [tokens, kv_heads, head_dim] float32, a view.
at::Tensor unquantized(const cache::device_layer& layer, std::int64_t slot, int plane) {
  const auto head_dim = layer.keys.size(3);
  return layer.quantized.select(0, slot)
      .view(at::kFloat)
      .view({layer.quantized.size(1), layer.quantized.size(2), 2, 64, head_dim})
      .select(2, plane)
      .transpose(1, 2);
}

/// Keys or values at positions [first, length) as the query with token number `length` reads them, once for each head
/// of queries: [heads, positions, head_dim].
at::Tensor spread(const cache::device_layer& layer, int plane, std::int64_t slot, std::int64_t first,
                  std::int64_t length, std::int64_t heads) {
  const auto& rows = plane == 0 ? layer.keys : layer.values;
  const auto quantized = quantized_before(layer, length);
  std::vector<std::int64_t> places;
  for (auto position = std::max(first, quantized); position < length; ++position)
    places.push_back(layer.place_of(position));
  const auto newest = at::tensor(places, at::kLong).to(rows.device());
  const auto bytes = at::index_select(rows.view(at::kByte).select(0, slot), 0, newest);
  auto all = bytes.view(rows.scalar_type()).to(at::kFloat);
  if (first < quantized)
    all = at::cat({unquantized(layer, slot, plane).narrow(0, 0, quantized / 64).flatten(0, 1).slice(0, first), all});
  return all.repeat_interleave(heads / rows.size(2), 1).transpose(0, 1);
}

at::Tensor capped(const at::Tensor& x, float cap) { return cap > 0 ? at::tanh(x / cap) * cap : x; }

/// The biases of keys at some distances from their queries, [heads, …]. distances [queries, keys]
at::Tensor biases_at(const at::Tensor& distances, const attention_shape& shape) {
  const auto most = shape.distance_biases.size(1) / 2;
  const auto columns = distances.clamp(-most, most) + most;
  return at::index_select(shape.distance_biases, 1, columns.flatten()).unflatten(1, columns.sizes());
}

/// A query [heads, 1, head_dim] at `position` against keys [heads, keys, head_dim] from position `first` on.
at::Tensor scores(const at::Tensor& query, const at::Tensor& keys, const attention_shape& shape, std::int64_t position,
                  std::int64_t first) {
  auto all = capped(at::matmul(query, keys.transpose(1, 2)) * shape.scale, shape.softcap);
  const auto distances = at::arange(first - position, first - position + keys.size(1), at::kLong).unsqueeze(0);
  if (shape.distance_biases.defined()) all = all + biases_at(distances, shape);
  return shape.slopes.defined() ? all + shape.slopes.view({-1, 1, 1}) * distances.to(at::kFloat) : all;
}

/// Columns [first, first + heads * head_dim) of some rows, once for each head of queries: [heads, rows, head_dim].
at::Tensor heads_of(const at::Tensor& rows, std::int64_t first, std::int64_t heads, const attention_shape& shape) {
  const auto own = rows.narrow(1, first, heads * shape.head_dim).to(at::kFloat).unflatten(1, {heads, shape.head_dim});
  return own.repeat_interleave(shape.heads / heads, 1).transpose(0, 1);
}

/// What queries find in all keys and values, [heads, rows, head_dim] each, as [rows, heads * head_dim]. Both begin at
/// position 0, if distances count.
/// A mask [rows, keys] may hide some.
at::Tensor found_in_all(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const attention_shape& shape,
                        const at::Tensor& mask = {}) {
  auto all = capped(at::matmul(q, k.transpose(1, 2)) * shape.scale, shape.softcap);
  if (shape.distance_biases.defined())
    all = all + biases_at(at::arange(k.size(1)).unsqueeze(0) - at::arange(q.size(1)).unsqueeze(1), shape);
  if (mask.defined()) all = all.masked_fill(mask.logical_not(), -std::numeric_limits<float>::infinity());
  return at::matmul(at::softmax(all, -1), v).transpose(0, 1).flatten(1);
}

/// Softmax of scores [heads, 1, keys], beside which each head may have a score without a value.
at::Tensor softened(const at::Tensor& scores, const at::Tensor& sink_logits) {
  if (!sink_logits.defined()) return at::softmax(scores, -1);
  return at::softmax(at::cat({scores, sink_logits.view({-1, 1, 1})}, 2), -1).narrow(2, 0, scores.size(2));
}

/// The angles of each position: [tokens, 2 * pairs].
at::Tensor angles_of(const rotation& turn, const at::Tensor& positions) {
  const auto near = at::index_select(turn.near, 0, positions % turn.near.size(0)).chunk(2, 1);
  const auto far = at::index_select(turn.far, 0, at::floor_divide(positions, turn.near.size(0))).chunk(2, 1);
  return at::cat({near[0] * far[0] - near[1] * far[1], near[1] * far[0] + near[0] * far[1]}, 1);
}

at::Tensor rotated(const at::Tensor& x, const rotation& turn, const at::Tensor& positions, std::int64_t first) {
  return turn.near.defined() ? rotated(x, angles_of(turn, positions), first) : x;
}

/// Block `block` of a slot becomes what its codec makes of it.
void quantize_block(const cache::device_layer& layer, std::int64_t slot, std::int64_t block) {
  const auto head_dim = static_cast<int>(layer.keys.size(3));
  const bool has_values = layer.values.size(3) == layer.keys.size(3);
  for (int plane = 0; plane < (has_values ? 2 : 1); ++plane) {
    const auto codec = cache::make_group_codec(plane == 0 ? layer.quantization->keys : layer.quantization->values);
    std::vector<std::byte> bytes(static_cast<std::size_t>(codec->quantized_bytes(head_dim)));
    const auto& rows = plane == 0 ? layer.keys : layer.values;
    for (std::int64_t head = 0; head < rows.size(2); ++head) {
      const auto stored = rows.select(0, slot).narrow(0, layer.place_of(block * 64), 64).select(1, head);
      const auto numbers = stored.to(at::kFloat, false, true).contiguous();  // a copy: what is stored stays as it is
      codec->quantize(numbers.const_data_ptr<float>(), head_dim, bytes.data());
      codec->dequantize(bytes.data(), head_dim, numbers.mutable_data_ptr<float>());
      unquantized(layer, slot, plane).select(0, block).select(1, head).copy_(numbers);
    }
  }
}

at::Tensor activated(const at::Tensor& x, const parts::activation& how) {
  switch (how.kind) {
    case kernels::activation::silu:
      return at::silu(x);
    case kernels::activation::gelu:
      return at::gelu(x);
    case kernels::activation::gelu_tanh:
      return at::gelu(x, "tanh");
    case kernels::activation::relu:
      return at::relu(x);
    case kernels::activation::relu_squared:
      return at::relu(x).square();
    case kernels::activation::sigmoid:
      return at::sigmoid(x);
    case kernels::activation::swiglu_oai:
      break;  // see bent()
    case kernels::activation::xielu: {
      const auto [p, n, b, e] = how.parameters;
      const auto below = (at::expm1(x.clamp_max(e)) - x) * n;
      return at::where(x > 0, x.square() * p, below) + x * b;
    }
  }
  return x;
}

void norm_heads(const at::Tensor& qkv, const attention_shape& shape) {
  const auto q = qkv.narrow(1, 0, shape.heads * shape.head_dim);
  q.copy_(normed(q.to(at::kFloat), shape.q_norm));
  if (shape.shares_kv) return;
  const auto kv_width = shape.kv_heads * shape.head_dim;
  const auto k = qkv.narrow(1, shape.heads * shape.head_dim, kv_width);
  k.copy_(normed(k.to(at::kFloat), shape.k_norm));
  if (!shape.v_norm.by.weight.defined()) return;
  const auto v = qkv.narrow(1, shape.heads * shape.head_dim + kv_width, kv_width);
  v.copy_(normed(v.to(at::kFloat), shape.v_norm));
}

void grow(const at::Tensor& qkv, const attention_shape& shape, const at::Tensor& positions) {
  const auto turns = at::floor_divide(positions + shape.growth_offset, shape.growth_length).to(at::kDouble);
  const auto factors = (at::log1p(turns) * shape.growth + 1).to(at::kFloat).unsqueeze(1);
  const auto q = qkv.narrow(1, 0, shape.heads * shape.head_dim);
  q.copy_(q.to(at::kFloat) * factors);
}

/// As numbers, [outputs, inputs] float32. They are stored as such, in int8, or as quantize() returned them.
at::Tensor weights_of(const projection& by) {
  const auto numbers = by.weights.to(at::kFloat);
  if (!by.scales.defined()) return numbers;
  if (by.scales.dim() == 1) return numbers * by.scales.to(at::kFloat).unsqueeze(1);
  const auto scales = by.scales.to(at::kFloat);  // [groups, outputs, 2]
  return ((numbers - 8) * scales.narrow(2, 0, 1) + scales.narrow(2, 1, 1)).transpose(0, 1).flatten(1);
}

at::Tensor projected(const at::Tensor& x, const projection& by) {
  auto y = at::matmul(x, weights_of(by).t());
  if (by.bias.defined()) y.add_(by.bias.to(at::kFloat));
  for (const auto& [down, up, first] : by.adapters) {
    const auto low = at::matmul(x, down.to(at::kFloat).t());
    y.narrow(1, first, up.size(0)).add_(at::matmul(low, up.to(at::kFloat).t()));
  }
  return y;
}

/// New tokens of one slot, which follow each other in the step.
struct slot_tokens {
  std::int64_t slot;
  std::int64_t held;  ///< tokens that the slot holds before them
  std::int64_t first;
  std::int64_t count;
};

/// Those of all rows but padding.
std::vector<slot_tokens> slots_in(const step_rows& rows) {
  const auto slots = numbers_of(rows.slots);
  const auto positions = numbers_of(rows.positions);
  std::vector<slot_tokens> found;
  const auto add = [&](std::int64_t first, std::int64_t count) {
    const auto at = static_cast<std::size_t>(first);
    if (slots[at] >= 0) found.push_back({slots[at], positions[at], first, count});
  };
  for (std::int64_t row = 0; row < rows.single; ++row) add(row, 1);
  std::int64_t first = rows.single;
  for (const auto& prompt : rows.prompts) add(std::exchange(first, first + prompt.count), prompt.count);
  return found;
}

/// The scan of one token's x [1, channels] from the state h [states, channels], which follows it. The bits of what
/// several tokens go through at once could depend on their number, and so on where a prompt is cut.
at::Tensor scanned(const at::Tensor& x, const selective_scan& by, const at::Tensor& h) {
  const auto selected = projected(x, by.selection).split_with_sizes({by.rank(), by.states(), by.states()}, 1);
  const auto d = at::softplus(projected(normed(selected[0], by.step_norm), by.step));
  const auto b = normed(selected[1], by.b_norm).t();  // [states, 1]
  const auto c = normed(selected[2], by.c_norm).t();
  h.mul_(at::exp(by.decay * d)).add_(b * d * x);
  return (h * c).sum(0, true) + x * by.skip;
}

at::Tensor cut_off(const at::Tensor& gate, std::optional<float> deviations) {
  if (!deviations) return gate;
  const auto mean = gate.mean(1, true);
  return at::relu(gate - mean - (gate - mean).square().mean(1, true).sqrt() * *deviations);
}

/// Rows at the magnitude of those of `like`.
at::Tensor at_magnitude_of(const at::Tensor& like, const at::Tensor& x) {
  return x * (like.square().mean(1, true) / x.square().mean(1, true).clamp_min(1e-5)).sqrt();
}

/// A feed-forward's function of its product, which is of gate | up if it is gated.
at::Tensor bent(const at::Tensor& product, const parts::activation& how) {
  if (!how.gated) return activated(product, how);
  const auto halves = product.chunk(2, 1);
  if (how.kind == kernels::activation::swiglu_oai) {
    const auto [alpha, limit, unused, none] = how.parameters;
    const auto gate = halves[0].clamp_max(limit);
    return (halves[1].clamp(-limit, limit) + 1) * gate * at::sigmoid(gate * alpha);
  }
  return activated(cut_off(halves[0] * how.gate_scale, how.gate_cutoff), how) * halves[1];
}

/// Adds to `sum` the result of the rows that have a share in the expert.
void add_expert(const at::Tensor& sum, const parts::mlp<tensors>& expert, const at::Tensor& x, const at::Tensor& share,
                bool scales_input) {
  const auto rows = share.nonzero().squeeze(1);
  const auto factor = at::index_select(share, 0, rows).unsqueeze(1);
  const auto chosen = at::index_select(x, 0, rows);
  const auto inner = bent(projected(scales_input ? chosen * factor : chosen, expert.up), expert.activation);
  const auto result = projected(inner, expert.down);
  sum.index_add_(0, rows, scales_input ? result : result * factor);
}

at::Tensor ids_of(const step_rows& rows, const at::Tensor& last) {
  return at::where(rows.ids < 0, at::index_select(last, 0, rows.slots.clamp_min(0)), rows.ids);
}

void add(const at::Tensor& result, const residual& how, const at::Tensor& x) {
  x.add_(normed(result, how.after) * how.scale);
  if (how.post.weight.defined()) x.copy_(normed(x, how.post));
  if (how.total != 1) x.mul_(how.total);
}

/// What was sent as bytes.
template <class T>
std::vector<T> as_sent(const at::Tensor& bytes) {
  const auto here = bytes.to(at::kCPU).contiguous();
  std::vector<T> all(here.nbytes() / sizeof(T));
  if (!all.empty()) std::memcpy(all.data(), here.const_data_ptr(), here.nbytes());
  return all;
}

}  // namespace

std::int64_t reference_operators::quantized_head_bytes(const cache::group_format&, const cache::group_format&,
                                                       std::int64_t head_dim) {
  return 2 * 64 * head_dim * static_cast<std::int64_t>(sizeof(float));
}

at::Tensor reference_operators::quantize(const at::Tensor& codes) {
  return codes.unflatten(1, {-1, 32}).transpose(0, 1).contiguous();
}

void reference_operators::embed(const embedding& from, const step_rows& rows, const at::Tensor& last,
                                const at::Tensor& x) {
  auto found = at::index_select(from.table, 0, ids_of(rows, last)).to(at::kFloat) * from.scale;
  if (from.to_hidden.weights.defined()) found = projected(found, from.to_hidden);
  if (from.positions.defined()) {
    const auto table = from.positions.view({-1, x.size(1)});
    found = found + at::index_select(table, 0, rows.positions.clamp_max(table.size(0) - 1));
  }
  x.copy_(normed(found, from.after));
}

void reference_operators::norm_linear(const at::Tensor& x, const norm& before, const projection& by,
                                      const at::Tensor& y) {
  y.copy_(projected(normed(x, before), by));
}

void reference_operators::norm_activated(const at::Tensor& x, const norm& before, const projection& by,
                                         const parts::activation& how, const at::Tensor& y) {
  y.copy_(bent(projected(normed(x, before), by), how));
}

void reference_operators::linear_add(const at::Tensor& y, const projection& by, const residual& how,
                                     const at::Tensor& x) {
  add(projected(y.to(at::kFloat), by), how, x);
}

void reference_operators::read_layer_inputs(const layer_inputs& from, const step_rows& rows, const at::Tensor& last,
                                            const at::Tensor& x, const at::Tensor& into) {
  const auto ids = ids_of(rows, last);
  const auto known = at::where(ids < from.vocabulary, ids, at::zeros_like(ids));
  const auto layers = projected(x, from.projection).unflatten(1, {-1, from.norm.weight.size(0)});
  into.copy_(at::index_select(from.table, 0, known).to(at::kFloat) * from.scale + normed(layers, from.norm).flatten(1));
}

void reference_operators::gate_layer_input(const at::Tensor& x, const norm& before, const layer_input& by,
                                           const at::Tensor& inputs, const at::Tensor& y) {
  y.copy_(bent(projected(normed(x, before), by.gate), by.activation) * inputs.narrow(1, by.first, by.width));
}

void reference_operators::low_rank(const at::Tensor& x, const norm& before, const device::low_rank& by,
                                   const at::Tensor& y) {
  const auto own = normed(x, before);
  y.copy_(own + normed(projected(projected(own, by.left), by.right), by.norm));
}

void reference_operators::start_streams(const streams& by, const at::Tensor& x, const at::Tensor& all) {
  std::vector<at::Tensor> made{x};
  for (const auto& each : by.in) made.push_back(at_magnitude_of(x, projected(x, each)));
  all.copy_(at::cat(made, 1));
}

void reference_operators::step_streams(const stream_step& by, const at::Tensor& all, const at::Tensor& x) {
  const auto streams = all.unflatten(1, {by.how.streams, x.size(1)});
  const auto active = streams.select(1, by.how.active);
  const auto modes = at::tanh(projected(normed(by.how.corrects ? x : active, by.norm), by.router));
  const auto factors = projected(modes, by.coefficients);
  if (by.how.corrects)
    streams.add_((factors + 1).unsqueeze(2) * (x - active).unsqueeze(1));
  else
    streams.add_(at::matmul(factors.unflatten(1, {by.how.streams, by.how.streams}), streams));
  x.copy_(by.scale.defined() ? active * by.scale.to(at::kFloat) : active);
}

void reference_operators::join_streams(const streams& by, const at::Tensor& all, const at::Tensor& x) {
  const auto streams = all.chunk(by.count(), 1);
  x.copy_(streams[0]);
  for (std::size_t index = 1; index < streams.size(); ++index)
    x.add_(at_magnitude_of(streams[0], projected(streams[index], by.out[index - 1])));
  x.div_(by.count());
}

void reference_operators::linear_add_to_streams(const at::Tensor& y, const projection& by, const norm& after,
                                                const at::Tensor& all) {
  const auto made = normed(projected(y.to(at::kFloat), by), after);
  all.slice(1, made.size(1)).unflatten(1, {-1, made.size(1)}).add_(made.unsqueeze(1));
}

void reference_operators::add_rows(const at::Tensor& rows, const residual& how, const at::Tensor& x) {
  add(rows, how, x);
}

void reference_operators::route(const at::Tensor& x, const norm& before, const mixture_of_experts& by,
                                const at::Tensor& rows, const at::Tensor& shares) {
  rows.copy_(normed(x, before));
  const auto read = by.router_norm.weight.defined() ? normed(x, by.router_norm) : rows;
  shares.copy_(shares_of(projected(read, by.router), by));
}

void reference_operators::add_experts(const at::Tensor& rows, const at::Tensor& shares, const mixture_of_experts& by,
                                      const residual& how, const at::Tensor& x) {
  auto sum = at::zeros_like(x);
  for (std::size_t expert = 0; expert < by.experts.size(); ++expert)
    add_expert(sum, by.experts[expert], rows, shares.select(1, static_cast<std::int64_t>(expert)),
               by.how.router.scales_input);
  add(sum, how, x);
}

void reference_operators::score(const at::Tensor& x, const norm& before, const head& by, const at::Tensor& logits) {
  auto hidden = normed(x, before);
  if (by.to_width.weights.defined()) hidden = projected(hidden, by.to_width);
  logits.copy_(capped(projected(hidden, by.product) * by.scale, by.softcap));
}

namespace {

/// What becomes of queries, keys and values before the rotation.
void prepare(const at::Tensor& qkv, const attention_shape& shape, const at::Tensor& positions) {
  if (!shape.norms_after_rotation) norm_heads(qkv, shape);
  if (shape.clip > 0) qkv.clamp_(-shape.clip, shape.clip);
  if (shape.growth > 0) grow(qkv, shape, positions);
}

void rotate(const at::Tensor& qkv, const attention_shape& shape, const rotation& turn, const at::Tensor& positions) {
  const auto turning = qkv.unflatten(1, {shape.qkv_heads(), shape.head_dim})
                           .narrow(1, 0, shape.heads + (shape.shares_kv ? 0 : shape.kv_heads));
  turning.copy_(rotated(turning.to(at::kFloat), turn, positions, shape.first_rotated));
  if (shape.norms_after_rotation) norm_heads(qkv, shape);
}

}  // namespace

void reference_operators::rotate_and_append(const qkv_rows& numbers, const attention_shape& shape, const rotation& turn,
                                            const step_rows& rows, const cache::device_layer& layer) {
  const auto qkv = numbers.qkv.narrow(1, 0, shape.qkv_width());
  const auto heads = qkv.unflatten(1, {shape.qkv_heads(), shape.head_dim});
  prepare(qkv, shape, rows.positions);
  if (layer.span.sinks > 0) {
    const auto inside = rows.positions.clamp_max(layer.span.sinks + layer.span.window - 1);
    const auto queries = heads.narrow(1, 0, shape.heads).to(at::kFloat);
    numbers.sink_q.narrow(1, 0, shape.heads * shape.head_dim)
        .copy_(rotated(queries, turn, inside, shape.first_rotated).flatten(1));
  }
  rotate(qkv, shape, turn, rows.positions);
  if (shape.shares_kv) return;
  const auto slots = numbers_of(rows.slots);
  const auto positions = numbers_of(rows.positions);
  for (std::size_t token = 0; token < slots.size(); ++token) {
    if (slots[token] < 0) continue;
    const auto of = heads.select(0, static_cast<std::int64_t>(token));
    const auto place = layer.place_of(positions[token]);
    layer.keys.select(0, slots[token]).select(0, place).copy_(of.narrow(0, shape.heads, shape.kv_heads));
    if (shape.latent_dim == 0)
      layer.values.select(0, slots[token])
          .select(0, place)
          .copy_(of.narrow(0, shape.heads + shape.kv_heads, shape.kv_heads));
    const auto quantized = quantized_before(layer, positions[token] + 1);
    if (quantized > quantized_before(layer, positions[token])) quantize_block(layer, slots[token], quantized / 64 - 1);
  }
}

void reference_operators::attend(const qkv_rows& numbers, const attention_shape& shape, const step_rows& rows,
                                 const cache::device_layer& layer, const at::Tensor& out) {
  const auto slots = numbers_of(rows.slots);
  const auto positions = numbers_of(rows.positions);
  for (std::size_t token = 0; token < slots.size(); ++token) {
    const auto index = static_cast<std::int64_t>(token);
    const auto into = out.select(0, index);
    if (slots[token] < 0) {
      into.zero_();
      continue;
    }
    const auto length = positions[token] + 1;
    const auto sinks = std::min<std::int64_t>(layer.span.sinks, length);
    const auto first = std::max<std::int64_t>(sinks, cache::first_seen(layer.span, static_cast<int>(positions[token])));
    const auto query_of = [&](const at::Tensor& all) {
      return all.select(0, index)
          .narrow(0, 0, shape.heads * shape.head_dim)
          .view({shape.heads, 1, shape.head_dim})
          .to(at::kFloat);
    };
    const auto seen = [&](int plane, std::int64_t begin, std::int64_t end) {
      const auto all = spread(layer, shape.latent_dim > 0 ? 0 : plane, slots[token], begin, end, shape.heads);
      return plane == 1 && shape.latent_dim > 0 ? all.narrow(2, 0, shape.latent_dim) : all;
    };
    auto weights = scores(query_of(numbers.qkv), seen(0, first, length), shape, positions[token], first);
    auto values = seen(1, first, length);
    if (sinks > 0) {
      weights = at::cat({scores(query_of(numbers.sink_q), seen(0, 0, sinks), shape, positions[token], 0), weights}, 2);
      values = at::cat({seen(1, 0, sinks), values}, 1);
    }
    into.narrow(0, 0, shape.heads * shape.head_dim)
        .view({shape.heads, 1, shape.head_dim})
        .narrow(2, 0, values.size(2))
        .copy_(at::matmul(softened(weights, shape.sink_logits), values));
  }
  if (shape.output_gate)
    out.mul_(at::sigmoid(numbers.qkv.narrow(1, shape.qkv_width(), shape.heads * shape.head_dim).to(at::kFloat)));
}

/// Each query by itself, as the bits of several at once could depend on their number.
void reference_operators::attend_to_encoder_input(const at::Tensor& q, const attention_shape& shape,
                                                  const step_rows& rows, const cache::device_layer& layer,
                                                  const at::Tensor& out) {
  out.zero_();
  const auto lengths = numbers_of(rows.encoder_lengths);
  for (const auto& [slot, held, first, count] : slots_in(rows)) {
    const auto length = lengths[static_cast<std::size_t>(first)];
    const auto seen = [&, slot = slot](const at::Tensor& of) {
      return heads_of(of.select(0, slot).narrow(0, 0, length).flatten(1), 0, shape.kv_heads, shape);
    };
    const auto k = seen(layer.keys), v = seen(layer.values);
    for (auto token = first; token < first + count; ++token) {
      const auto query = heads_of(q.narrow(0, token, 1), 0, shape.heads, shape);
      out.narrow(0, token, 1).copy_(found_in_all(query, k, v, shape));
    }
  }
}

void reference_operators::attend_within_rows(const at::Tensor& qkv, const attention_shape& shape, const rotation& turn,
                                             const step_rows& rows, const at::Tensor& out) {
  const auto numbers = qkv.narrow(1, 0, shape.qkv_width());
  prepare(numbers, shape, rows.positions);
  rotate(numbers, shape, turn, rows.positions);
  const auto q_width = shape.heads * shape.head_dim, kv_width = shape.kv_heads * shape.head_dim;
  for (const auto& [slot, held, first, count] : slots_in(rows)) {
    const auto own = qkv.narrow(0, first, count);
    const auto q = heads_of(own, 0, shape.heads, shape), k = heads_of(own, q_width, shape.kv_heads, shape),
               v = heads_of(own, q_width + kv_width, shape.kv_heads, shape);
    const auto mask = cache::to_dense(cache::rule_of(shape.within_text),
                                      {.q_length = static_cast<int>(count), .kv_length = static_cast<int>(count)});
    out.narrow(0, first, count).copy_(found_in_all(q, k, v, shape, mask));
  }
}

void reference_operators::store_encoder_input(const at::Tensor& kv, const attention_shape& shape, const step_rows& rows,
                                              const cache::device_layer& layer) {
  const auto halves = kv.unflatten(1, {2, shape.kv_heads, shape.head_dim});
  for (const auto& [slot, held, first, count] : slots_in(rows)) {
    const auto own = halves.narrow(0, first, count);
    layer.keys.select(0, slot).narrow(0, held, count).copy_(own.select(1, 0));
    layer.values.select(0, slot).narrow(0, held, count).copy_(own.select(1, 1));
  }
}

void reference_operators::absorb(const at::Tensor& in, const latent_attention& by, const at::Tensor& rows) {
  const auto& how = by.how;
  const auto numbers = in.to(at::kFloat);
  auto q = numbers.narrow(1, 0, by.q_in());
  if (how.q_rank > 0) q = projected(normed(q, by.q_norm), by.q);
  const auto queries = q.unflatten(1, {how.heads, how.query_dim()});
  const auto all = rows.unflatten(1, {how.heads + 1, how.row_dim()});
  for (int head = 0; head < how.heads; ++head) {
    const auto parts = queries.select(1, head).split_with_sizes({how.nope_dim, how.rope_dim}, 1);
    const auto& k = by.absorb[static_cast<std::size_t>(head)];
    all.select(1, head).copy_(at::cat({projected(parts[0], k), parts[1]}, 1));
  }
  const auto row = numbers.narrow(1, by.q_in(), how.row_dim()).split_with_sizes({how.kv_rank, how.rope_dim}, 1);
  all.select(1, how.heads).copy_(at::cat({normed(row[0], by.kv_norm), row[1]}, 1));
}

void reference_operators::expand(const at::Tensor& sums, const latent_attention& by, const at::Tensor& out) {
  const auto& how = by.how;
  const auto latents = sums.unflatten(1, {how.heads, how.row_dim()}).narrow(2, 0, how.kv_rank).to(at::kFloat);
  const auto values = out.unflatten(1, {how.heads, how.value_dim});
  for (int head = 0; head < how.heads; ++head)
    values.select(1, head).copy_(projected(latents.select(1, head), by.expand[static_cast<std::size_t>(head)]));
}

void reference_operators::scan(const at::Tensor& x_and_gate, const selective_scan& by, const step_rows& rows,
                               const cache::device_layer& layer, const at::Tensor& out) {
  out.zero_();
  for (const auto& [slot, held, first, count] : slots_in(rows)) {
    const auto state = layer.states.select(0, slot).view({-1, by.channels()});
    if (held == 0) state.zero_();
    const auto parts = x_and_gate.narrow(0, first, count).to(at::kFloat).chunk(2, 1);
    const auto x = convolved(parts[0], by.convolves, state.narrow(0, 0, by.taps() - 1));
    const auto h = state.narrow(0, by.taps() - 1, by.states());
    for (std::int64_t token = 0; token < count; ++token) {
      const auto silu_of = [&](const at::Tensor& of) { return at::silu(of.narrow(0, token, 1)); };
      out.narrow(0, first + token, 1).copy_(scanned(silu_of(x), by, h) * silu_of(parts[1]));
    }
  }
}

void reference_operators::mix(const mixer_rows& numbers, const mixer& by, const step_rows& rows,
                              const cache::device_layer& layer, const at::Tensor& out) {
  out.zero_();
  for (const auto& [slot, held, first, count] : slots_in(rows)) {
    const auto state = layer.states.select(0, slot);
    if (held == 0) state.zero_();
    for (auto token = first; token < first + count; ++token)
      out.narrow(0, token, 1)
          .copy_(mixed({numbers.in.narrow(0, token, 1), numbers.decisions.narrow(0, token, 1)}, by, state));
  }
}

void reference_operators::sample(const at::Tensor& logits, const step_sampling& how, const at::Tensor& last,
                                 const at::Tensor& tokens, const at::Tensor& statuses) {
  const auto rows = as_sent<sampling_row>(how.rows);
  const sampling_lists lists{as_sent<token_bias>(how.biases), as_sent<token_count>(how.counts)};
  for (std::int64_t row = 0; row < logits.size(0); ++row) {
    const auto& sampling = rows[static_cast<std::size_t>(row)];
    if (sampling.slot < 0 || sampling.by_host) continue;
    const auto here = logits.select(0, row).to(at::kCPU).contiguous();
    const auto* scores = here.const_data_ptr<float>();
    const auto [status, id] = described_sampling(sampling, lists)({scores, scores + here.numel()},
                                                                  last.select(0, sampling.slot).item<token>());
    tokens.select(0, row).fill_(id);
    statuses.select(0, row).fill_(static_cast<std::uint8_t>(status));
    last.select(0, sampling.slot).fill_(id);
  }
}

}  // namespace cogen::device
