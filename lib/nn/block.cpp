#include "nn/block.hpp"

#include "layers/row_arithmetic.hpp"

#include <algorithm>
#include <utility>

namespace cogen::nn {

namespace {

using layers::activations;
using layers::forward_context;
using layers::input;

std::optional<layers::norm> read_norm(layers::weight_reader& weights, const std::optional<models::norm_spec>& spec,
                                      std::int64_t hidden) {
  if (!spec) return std::nullopt;
  return layers::norm(weights, *spec, hidden);
}

/// Those whose first step is a single product can read rows that are normed as they are read.
bool reads_rows_once(const block::part& what) {
  return std::holds_alternative<layers::attention>(what) || std::holds_alternative<layers::mlp>(what);
}

// y += what(x)

void add(const layers::attention& what, const forward_context& context, int layer, const input& x,
         const activations& y) {
  what.add(context, layer, x, y);
}
void add(const layers::cross_attention& what, const forward_context& context, int layer, const input& x,
         const activations& y) {
  what.add(context, layer, x.rows, y);
}
void add(const layers::mamba_mixer& what, const forward_context& context, int layer, const input& x,
         const activations& y) {
  what.add(context, layer, x.rows, y);
}
void add(const layers::mlp& what, const forward_context& context, int, const input& x, const activations& y) {
  what.add(context, x, y);
}
void add(const layers::mixture_of_experts& what, const forward_context& context, int, const input& x,
         const activations& y) {
  what.add(context, x.rows, y);
}

// y = what(x)

void write(const layers::attention& what, const forward_context& context, int layer, const input& x,
           const activations& y) {
  what(context, layer, x, y);
}
void write(const layers::mlp& what, const forward_context& context, int, const input& x, const activations& y) {
  what(context, x, y);
}
template <class Part>
void write(const Part& what, const forward_context& context, int layer, const input& x, const activations& y) {
  for (std::int64_t row = 0; row < y.rows; ++row) std::fill_n(y.row(row), y.columns, 0.0F);
  add(what, context, layer, x, y);
}

}  // namespace

block::block(const models::block_spec& spec, part what, layers::weight_reader& weights, std::int64_t hidden, int layer)
    : what_(std::move(what)),
      before_(read_norm(weights, spec.before, hidden)),
      after_(read_norm(weights, spec.after, hidden)),
      post_(read_norm(weights, spec.post, hidden)),
      residual_scale_(spec.residual_scale),
      parallel_(spec.parallel),
      layer_(layer) {}

/// Calls use(before(x)): rows that are normed as they are read, where that is possible.
template <class Use>
void block::with_input(const forward_context& context, const activations& x, const Use& use) const {
  if (!before_) return use(input(x));
  const layers::arena::scope scratch(context.space);
  const auto normed = context.space.take(x.rows, x.columns);
  const auto rows = reads_rows_once(what_) ? before_->prologue(context, x, normed) : std::nullopt;
  if (rows) return use(input(normed, &*rows));
  (*before_)(context, x, normed);
  use(input(normed));
}

void block::operator()(const forward_context& context, const activations& x) const {
  if (!after_ && residual_scale_ == 1) {
    with_input(context, x, [&](const input& rows) {
      std::visit([&](const auto& what) { add(what, context, layer_, rows, x); }, what_);
    });
  } else {
    const layers::arena::scope scratch(context.space);
    const auto out = context.space.take(x.rows, x.columns);
    run(context, x, out);
    if (after_ && residual_scale_ == 1) {
      after_->add(context, out, x);
    } else {
      if (after_) (*after_)(context, out, out);
      layers::add_rows(context, out, residual_scale_, x);
    }
  }
  if (post_) (*post_)(context, x, x);
}

void block::run(const forward_context& context, const activations& x, const activations& out) const {
  with_input(context, x, [&](const input& rows) {
    std::visit([&](const auto& what) { write(what, context, layer_, rows, out); }, what_);
  });
}

void block::branch(const forward_context& context, const activations& x, const activations& out) const {
  run(context, x, out);
  if (after_) (*after_)(context, out, out);
  if (residual_scale_ != 1) layers::scale_rows(context, residual_scale_, out);
}

void block::remember(const forward_context& context, const activations& x) const {
  std::get<layers::cross_attention>(what_).remember(context, layer_, x);
}

std::int64_t block::bytes() const {
  std::int64_t bytes = std::visit([](const auto& what) { return what.bytes(); }, what_);
  for (const auto* norm : {&before_, &after_, &post_})
    if (*norm) bytes += (*norm)->bytes();
  return bytes;
}

}  // namespace cogen::nn
