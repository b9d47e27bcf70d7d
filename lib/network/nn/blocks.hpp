#pragma once

#include "network/backend/parts.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

namespace cogen::nn {

// mix() computes a part's inner rows from x, and project_out() adds their projection to x.

template <class Operators, class B>
auto mix(Operators& ops, const parts::attention<B>& part, const typename B::norm& pre_norm, const typename B::rows& x) {
  const auto read = part.reads_embeddings ? ops.beside_embeddings(x) : x;
  const auto qkv = ops.norm_linear(read, pre_norm, part.qkv, part.heads.qkv_width());
  return ops.attend(part.heads, part.layer, qkv);
}

template <class Operators, class B>
auto mix(Operators& ops, const parts::latent_attention<B>& part, const typename B::norm& pre_norm,
         const typename B::rows& x) {
  return ops.attend_to_latents(x, pre_norm, part);
}

template <class Operators, class B>
auto mix(Operators& ops, const parts::cross_attention<B>& part, const typename B::norm& pre_norm,
         const typename B::rows& x) {
  const auto q = ops.norm_linear(x, pre_norm, part.q, part.heads.q_width());
  return ops.attend_to_encoder_input(part.heads, part.layer, q);
}

template <class Operators, class B>
auto mix(Operators& ops, const parts::mamba<B>& part, const typename B::norm& pre_norm, const typename B::rows& x) {
  const auto x_and_gate = ops.norm_linear(x, pre_norm, part.in, part.scan.in_width());
  return ops.scan(part.scan, part.layer, x_and_gate);
}

template <class Operators, class B>
auto mix(Operators& ops, const parts::recurrent_mixer<B>& part, const typename B::norm& pre_norm,
         const typename B::rows& x) {
  return ops.mix(x, pre_norm, part);
}

template <class Operators, class B>
auto mix(Operators& ops, const parts::time_mix<B>& part, const typename B::norm& pre_norm, const typename B::rows& x) {
  return ops.mix_times(x, pre_norm, part);
}

template <class Operators, class B>
auto mix(Operators& ops, const parts::channel_mix<B>& part, const typename B::norm& pre_norm,
         const typename B::rows& x) {
  return ops.mix_channels(x, pre_norm, part);
}

template <class Operators, class B>
auto mix(Operators& ops, const parts::mlp<B>& part, const typename B::norm& pre_norm, const typename B::rows& x) {
  return ops.norm_activated(x, pre_norm, part.up, part.activation, part.intermediate);
}

template <class Operators, class B>
auto mix(Operators& ops, const parts::linear<B>& part, const typename B::norm& pre_norm, const typename B::rows& x) {
  return ops.norm_linear(x, pre_norm, part.product, part.outputs);
}

template <class Operators, class B>
auto mix(Operators& ops, const parts::layer_input<B>& part, const typename B::norm& pre_norm,
         const typename B::rows& x) {
  return ops.gate_layer_input(x, pre_norm, part);
}

template <class Operators, class B>
auto mix(Operators& ops, const parts::low_rank<B>& part, const typename B::norm& pre_norm, const typename B::rows& x) {
  return ops.low_rank(x, pre_norm, part);
}

template <class Operators, class B>
auto mix(Operators& ops, const parts::stream_step<B>& part, const typename B::norm&, const typename B::rows& x) {
  ops.step_streams(part, x);
  return x;
}

template <class Operators, class B>
auto mix(Operators& ops, const parts::mixture_of_experts<B>& part, const typename B::norm& pre_norm,
         const typename B::rows& x) {
  return ops.route(x, pre_norm, part);
}

template <class Operators, class Part, class Inner, class Residual, class Rows>
void project_out(Operators& ops, const Part& part, const Inner& inner, const Residual& after, const Rows& x) {
  if constexpr (requires { part.to_streams; })
    if (part.to_streams) return ops.linear_add_to_streams(inner, part.down, after.after);
  if constexpr (requires { part.coefficients; })
    return;
  else if constexpr (requires { part.experts; })
    ops.add_experts(inner, part, after, x);
  else if constexpr (requires { part.left; })
    ops.add_rows(inner, after, x);
  else if constexpr (requires { part.product; })
    ops.add_rows(inner, after, x);
  else if constexpr (requires { part.down; })
    ops.linear_add(inner, part.down, after, x);
  else
    ops.linear_add(inner, part.output, after, x);
}

/// The blocks of a decoder or encoder, over the operators of a backend B. Immutable.
template <class B>
class blocks {
 public:
  using block = parts::block<B>;
  using rows = typename B::rows;

  /// Throws std::invalid_argument if a block that mixes tokens shares a norm, or is parallel to one before it that does
  /// not; or if one that feeds the next is last or shares a norm, or either of them is parallel to others.
  explicit blocks(std::vector<block> items) : items_(std::move(items)) {
    if (std::ranges::any_of(items_, [](const block& item) { return item.shared_norm && item.mixes_tokens(); }))
      throw std::invalid_argument("a block that mixes tokens shares a norm");
    for (std::size_t index = 1; index < items_.size(); ++index)
      if (items_[index].parallel && items_[index].mixes_tokens() && !items_[index - 1].mixes_tokens())
        throw std::invalid_argument("a block that mixes tokens is parallel to one that does not; it must come first");
    for (std::size_t index = 0; index < items_.size(); ++index) check_feeding(index);
    for (std::size_t index = 0; index + 1 < items_.size(); ++index)
      if (is_read_next(index)) items_[index].after.next = &items_[index + 1].pre_norm;
    reads_embeddings_ = std::ranges::any_of(items_, reads_embeddings);
    const auto last =
        std::find_if(items_.rbegin(), items_.rend(), [](const block& item) { return item.mixes_tokens(); });
    mixing_end_ = static_cast<std::size_t>(items_.rend() - last);
  }

  blocks(const blocks&) = delete;  // blocks point to others' norms
  blocks& operator=(const blocks&) = delete;
  blocks(blocks&&) noexcept = default;
  blocks& operator=(blocks&&) noexcept = default;
  ~blocks() = default;

  /// x as the last block leaves it. Behind the last block that mixes tokens, only the rows go on whose result is
  /// wanted: x is what on.keep() returns of it.
  template <class Operators>
  rows run(Operators& ops, rows x) const {
    return run(ops, x, x);
  }

  /// The same from hidden states that other blocks have made, with the tokens' embeddings.
  template <class Operators>
  rows run(Operators& ops, rows x, const rows& embedded) const {
    if (reads_embeddings_) ops.keep_embeddings(embedded);
    for (std::size_t next = 0; next < items_.size() && !ops.is_empty(x);) next = run_group(ops, next, x, x);
    return x;
  }

  const std::vector<block>& items() const { return items_; }

 private:
  static bool reads_embeddings(const block& item) {
    const auto* attention = std::get_if<parts::attention<B>>(&item.part);
    return attention != nullptr && attention->reads_embeddings;
  }

  /// Whether the next block's norm reads x as this one's result makes it.
  bool is_read_next(std::size_t index) const {
    return !items_[index].parallel && !items_[index].shared_norm && !items_[index + 1].parallel && !feeds_next(index) &&
           !reads_embeddings(items_[index + 1]);
  }

  bool feeds_next(std::size_t index) const { return items_[index].feeds_next != models::feed::nothing; }

  void check_feeding(std::size_t index) const {
    if (!feeds_next(index)) return;
    if (index + 1 == items_.size()) throw std::invalid_argument("the last block feeds a next one");
    const auto last = std::min(index + 2, items_.size() - 1);
    for (auto other = index; other <= last; ++other)
      if (items_[other].parallel || items_[index].shared_norm)
        throw std::invalid_argument("a block that feeds the next one, or that one, is parallel to others");
  }

  /// Runs a block and those that read the same x: all of them begin before one of them ends. Returns the index behind
  /// them. Their results are added to x, or to `sum`. The first reads `read`, which is x or was passed on to it.
  template <class Operators>
  std::size_t run_group(Operators& ops, std::size_t index, rows& x, const rows& read, const rows* sum = nullptr) const {
    const auto& block = items_[index];
    return std::visit(
        [&]<class Part>(const Part& part) {
          [[maybe_unused]] const auto scratch = ops.scratch();
          auto inner = mix(ops, part, block.pre_norm, read);
          if (index + 1 == mixing_end_) x = ops.keep(x);
          const auto total = block.shared_norm ? std::optional(ops.zeros_like(x)) : std::nullopt;
          if (total) sum = &*total;
          auto next = index + 1;
          if (next < items_.size() && items_[next].parallel) next = run_group(ops, next, x, x, sum);
          if constexpr (Part::mixes_tokens)
            if (index < mixing_end_ && mixing_end_ <= next) inner = ops.keep(inner);
          if (feeds_next(index)) return feed_next(ops, next, part, inner, x);
          if (!ops.is_empty(x)) project_out(ops, part, inner, block.after, sum ? *sum : x);
          if (total && !ops.is_empty(x)) ops.add_rows(*total, *block.shared_norm, x);
          return next;
        },
        block.part);
  }

  /// Ends the block before `next`, and runs those from there on that its result feeds.
  template <class Operators, class Part, class Inner>
  std::size_t feed_next(Operators& ops, std::size_t next, const Part& part, const Inner& inner, rows& x) const {
    if (ops.is_empty(x)) return next;
    const auto& block = items_[next - 1];
    const auto fed = ops.zeros_like(x);
    project_out(ops, part, inner, block.after, fed);
    if (block.feeds_next == models::feed::sum) ops.add_rows(x, {}, fed);
    return run_group(ops, next, x, fed);
  }

  std::vector<block> items_;
  bool reads_embeddings_;
  std::size_t mixing_end_;  // blocks up to here combine tokens; those behind it treat each row by itself
};

}  // namespace cogen::nn
