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

// A part begins with what reads x, and ends with what adds to it.

template <class Operators, class B>
auto begin(Operators& on, const parts::attention<B>& part, const typename B::norm& before, const typename B::rows& x) {
  const auto read = part.reads_embeddings ? on.beside_embeddings(x) : x;
  const auto qkv = on.norm_linear(read, before, part.qkv, part.heads.qkv_width());
  return on.attend(part.heads, part.layer, qkv);
}

template <class Operators, class B>
auto begin(Operators& on, const parts::latent_attention<B>& part, const typename B::norm& before,
           const typename B::rows& x) {
  return on.attend_to_latents(x, before, part);
}

template <class Operators, class B>
auto begin(Operators& on, const parts::cross_attention<B>& part, const typename B::norm& before,
           const typename B::rows& x) {
  const auto q = on.norm_linear(x, before, part.q, part.heads.q_width());
  return on.attend_to_encoder_input(part.heads, part.layer, q);
}

template <class Operators, class B>
auto begin(Operators& on, const parts::mamba<B>& part, const typename B::norm& before, const typename B::rows& x) {
  const auto x_and_gate = on.norm_linear(x, before, part.in, part.scan.in_width());
  return on.scan(part.scan, part.layer, x_and_gate);
}

template <class Operators, class B>
auto begin(Operators& on, const parts::recurrent_mixer<B>& part, const typename B::norm& before,
           const typename B::rows& x) {
  return on.mix(x, before, part);
}

template <class Operators, class B>
auto begin(Operators& on, const parts::time_mix<B>& part, const typename B::norm& before, const typename B::rows& x) {
  return on.mix_times(x, before, part);
}

template <class Operators, class B>
auto begin(Operators& on, const parts::channel_mix<B>& part, const typename B::norm& before,
           const typename B::rows& x) {
  return on.mix_channels(x, before, part);
}

template <class Operators, class B>
auto begin(Operators& on, const parts::mlp<B>& part, const typename B::norm& before, const typename B::rows& x) {
  return on.norm_activated(x, before, part.up, part.activation, part.intermediate);
}

template <class Operators, class B>
auto begin(Operators& on, const parts::linear<B>& part, const typename B::norm& before, const typename B::rows& x) {
  return on.norm_linear(x, before, part.product, part.outputs);
}

template <class Operators, class B>
auto begin(Operators& on, const parts::layer_input<B>& part, const typename B::norm& before,
           const typename B::rows& x) {
  return on.gate_layer_input(x, before, part);
}

template <class Operators, class B>
auto begin(Operators& on, const parts::low_rank<B>& part, const typename B::norm& before, const typename B::rows& x) {
  return on.low_rank(x, before, part);
}

template <class Operators, class B>
auto begin(Operators& on, const parts::stream_step<B>& part, const typename B::norm&, const typename B::rows& x) {
  on.step_streams(part, x);
  return x;
}

template <class Operators, class B>
auto begin(Operators& on, const parts::mixture_of_experts<B>& part, const typename B::norm& before,
           const typename B::rows& x) {
  return on.route(x, before, part);
}

template <class Operators, class Part, class Inner, class Residual, class Rows>
void end(Operators& on, const Part& part, const Inner& inner, const Residual& after, const Rows& x) {
  if constexpr (requires { part.to_streams; })
    if (part.to_streams) return on.linear_add_to_streams(inner, part.down, after.after);
  if constexpr (requires { part.coefficients; })
    return;
  else if constexpr (requires { part.experts; })
    on.add_experts(inner, part, after, x);
  else if constexpr (requires { part.left; })
    on.add_rows(inner, after, x);
  else if constexpr (requires { part.product; })
    on.add_rows(inner, after, x);
  else if constexpr (requires { part.down; })
    on.linear_add(inner, part.down, after, x);
  else
    on.linear_add(inner, part.output, after, x);
}

/// The blocks of a decoder or encoder, over the operators of a backend B. Immutable.
template <class B>
class blocks {
 public:
  using block = parts::block<B>;
  using rows = typename B::rows;

  /// Throws std::invalid_argument if a block that mixes tokens is parallel to one before it that does not, or is joined
  /// with others; or if one that passes its result on is last or joined, or it or the next one is parallel to others.
  explicit blocks(std::vector<block> all) : all_(std::move(all)) {
    if (std::ranges::any_of(all_, [](const block& each) { return each.joint && each.mixes_tokens(); }))
      throw std::invalid_argument("a block that mixes tokens is joined with others");
    for (std::size_t index = 1; index < all_.size(); ++index)
      if (all_[index].parallel && all_[index].mixes_tokens() && !all_[index - 1].mixes_tokens())
        throw std::invalid_argument("a block that mixes tokens is parallel to one that does not; it must come first");
    for (std::size_t index = 0; index < all_.size(); ++index) check_passing(index);
    for (std::size_t index = 0; index + 1 < all_.size(); ++index)
      if (is_read_next(index)) all_[index].after.next = &all_[index + 1].before;
    reads_embeddings_ = std::ranges::any_of(all_, reads_embeddings);
    const auto last = std::find_if(all_.rbegin(), all_.rend(), [](const block& each) { return each.mixes_tokens(); });
    mixing_end_ = static_cast<std::size_t>(all_.rend() - last);
  }

  blocks(const blocks&) = delete;  // blocks point to others' norms
  blocks& operator=(const blocks&) = delete;
  blocks(blocks&&) noexcept = default;
  blocks& operator=(blocks&&) noexcept = default;
  ~blocks() = default;

  /// x as the last block leaves it. Behind the last block that mixes tokens, only the rows go on whose result is
  /// wanted: x is what on.keep() returns of it.
  template <class Operators>
  rows run(Operators& on, rows x) const {
    return run(on, x, x);
  }

  /// The same from hidden states that other blocks have made, with the tokens' embeddings.
  template <class Operators>
  rows run(Operators& on, rows x, const rows& embedded) const {
    if (reads_embeddings_) on.keep_embeddings(embedded);
    for (std::size_t next = 0; next < all_.size() && !on.is_empty(x);) next = run_group(on, next, x, x);
    return x;
  }

  const std::vector<block>& all() const { return all_; }

 private:
  static bool reads_embeddings(const block& each) {
    const auto* attention = std::get_if<parts::attention<B>>(&each.what);
    return attention != nullptr && attention->reads_embeddings;
  }

  /// Whether the next block's norm reads x as this one's result makes it.
  bool is_read_next(std::size_t index) const {
    return !all_[index].parallel && !all_[index].joint && !all_[index + 1].parallel && !passes(index) &&
           !reads_embeddings(all_[index + 1]);
  }

  bool passes(std::size_t index) const { return all_[index].passes != models::passed_on::nothing; }

  void check_passing(std::size_t index) const {
    if (!passes(index)) return;
    if (index + 1 == all_.size()) throw std::invalid_argument("the last block passes its result on");
    const auto last = std::min(index + 2, all_.size() - 1);
    for (auto each = index; each <= last; ++each)
      if (all_[each].parallel || all_[index].joint)
        throw std::invalid_argument(
            "a block that passes its result on, or the one that reads it, is parallel to others");
  }

  /// Runs a block and those that read the same x: all of them begin before one of them ends. Returns the index behind
  /// them. Their results are added to x, or to `sum`. The first reads `read`, which is x or was passed on to it.
  template <class Operators>
  std::size_t run_group(Operators& on, std::size_t index, rows& x, const rows& read, const rows* sum = nullptr) const {
    const auto& block = all_[index];
    return std::visit(
        [&]<class Part>(const Part& part) {
          [[maybe_unused]] const auto scratch = on.scratch();
          auto inner = begin(on, part, block.before, read);
          if (index + 1 == mixing_end_) x = on.keep(x);
          const auto joined = block.joint ? std::optional(on.zeros_like(x)) : std::nullopt;
          if (joined) sum = &*joined;
          auto next = index + 1;
          if (next < all_.size() && all_[next].parallel) next = run_group(on, next, x, x, sum);
          if constexpr (Part::mixes_tokens)
            if (index < mixing_end_ && mixing_end_ <= next) inner = on.keep(inner);
          if (passes(index)) return pass_on(on, next, part, inner, x);
          if (!on.is_empty(x)) end(on, part, inner, block.after, sum ? *sum : x);
          if (joined && !on.is_empty(x)) on.add_rows(*joined, *block.joint, x);
          return next;
        },
        block.what);
  }

  /// Ends the block before `next`, and runs the blocks from there on that read what it passes on.
  template <class Operators, class Part, class Inner>
  std::size_t pass_on(Operators& on, std::size_t next, const Part& part, const Inner& inner, rows& x) const {
    if (on.is_empty(x)) return next;
    const auto& block = all_[next - 1];
    const auto passed = on.zeros_like(x);
    end(on, part, inner, block.after, passed);
    if (block.passes == models::passed_on::sum) on.add_rows(x, {}, passed);
    return run_group(on, next, x, passed);
  }

  std::vector<block> all_;
  bool reads_embeddings_;
  std::size_t mixing_end_;  // blocks up to here combine tokens; those behind it treat each row by itself
};

}  // namespace cogen::nn
