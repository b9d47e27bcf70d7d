#include "engine/stream/constraint.hpp"

#include <cogen/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

namespace cogen::detail {
namespace {

constexpr std::size_t bits_of_word = 64;

std::size_t words_of(std::size_t tokens) { return (tokens + bits_of_word - 1) / bits_of_word; }

/// Calls a member of a guide. What it throws becomes the error of its row.
template <class Call>
auto called(const Call& call) try {
  return call();
} catch (const std::bad_alloc&) {
  throw;
} catch (const guide_postponed&) {
  throw;
} catch (const guide_limit_exceeded& thrown) {
  throw generation_error({error::invalid_request, thrown.what()});
} catch (const std::exception& thrown) {
  throw generation_error({error::callback_threw, fmt::format("the guide threw: {}", thrown.what())});
} catch (...) {
  throw generation_error({error::callback_threw, "the guide threw something that is not a std::exception"});
}

bool allows_any(token_mask mask) {
  return std::ranges::any_of(mask, [](std::uint64_t word) { return word != 0; });
}

}  // namespace

constraint::constraint(std::unique_ptr<guide> guide, constrained_text text)
    : guide_(std::move(guide)),
      text_(std::move(text)),
      accepted_(text_.begin),
      kept_(text_.begin),
      mask_(words_of(text_.mask_size)) {}

token_mask constraint::mask_after(std::span<const token> tokens, std::span<const token> drafts) {
  follow(tokens, drafts);
  update_mask();
  if (allows_any(mask_)) return std::span(mask_).first(words_of(text_.vocabulary));
  throw generation_error(
      {error::invalid_request,
       fmt::format("the guide allows no token after the first {} of its text", accepted_ - text_.begin)});
}

bool constraint::is_over_after(std::span<const token> tokens, std::span<const token> sampled) {
  follow(tokens, sampled);
  if (!called([&] { return guide_->is_complete(); })) return false;
  update_mask();
  return !may_go_on_;
}

std::vector<token> constraint::forced_after(std::span<const token> tokens) {
  follow(tokens);
  auto forced = called([&] { return guide_->forced(); });
  const auto has_no_logits = [&](token id) { return id < 0 || static_cast<std::size_t>(id) >= text_.vocabulary; };
  forced.erase(std::ranges::find_if(forced, has_no_logits), forced.end());
  return forced;
}

std::size_t constraint::allowed_of(std::span<const token> drafts, std::span<const token> tokens) {
  std::size_t allowed = 0;
  try {
    follow(tokens);
    for (; allowed < drafts.size() && !is_end(drafts[allowed]); ++allowed) follow(tokens, drafts.first(allowed + 1));
  } catch (const generation_error&) {  // by the guide: the next one may not follow
  } catch (const guide_postponed&) {
  }
  return allowed;
}

bool constraint::is_end(token id) const noexcept { return std::ranges::count(text_.end_tokens, id) > 0; }

void constraint::truncate(std::size_t length) noexcept { kept_ = std::min(kept_, length); }

constraint constraint::clone() const {
  constraint copy(called([&] { return guide_->clone(); }), text_);
  copy.accepted_ = accepted_;
  copy.kept_ = kept_;
  copy.ahead_ = ahead_;
  return copy;
}

/// Goes to the end of `tokens` and then `ahead`, by what differs from where the guide is.
void constraint::follow(std::span<const token> tokens, std::span<const token> ahead) {
  const auto wanted = [&](std::size_t i) { return i < tokens.size() ? tokens[i] : ahead[i - tokens.size()]; };
  const auto end = tokens.size() + ahead.size();
  auto known = kept_;
  if (kept_ + ahead_.size() == accepted_)  // it was not cut since
    while (known < std::min(accepted_, end) && ahead_[known - kept_] == wanted(known)) ++known;
  if (known < accepted_) go_back_to(known);
  while (accepted_ < end) accept(wanted(accepted_));
  const auto appended = tokens.size() - kept_;
  ahead_.erase(ahead_.begin(), ahead_.begin() + static_cast<std::ptrdiff_t>(appended));
  kept_ = tokens.size();
}

void constraint::accept(token id) {
  ahead_.reserve(ahead_.size() + 1);
  has_mask_ = false;
  called([&] { guide_->accept(id); });
  ahead_.push_back(id);
  ++accepted_;
}

/// If the text's first token was cut off, too, the text begins where the sequence now ends.
void constraint::go_back_to(std::size_t length) {
  has_mask_ = false;
  const auto back = static_cast<int>(accepted_ - std::max(length, text_.begin));
  called([&] { guide_->roll_back(back); });
  accepted_ = length;
  ahead_.resize(length - kept_);
  text_.begin = std::min(text_.begin, length);
}

void constraint::update_mask() {
  if (has_mask_) return;
  if (!called([&] { return guide_->allow(mask_); })) std::ranges::fill(mask_, ~std::uint64_t{0});
  clear_beyond_vocabulary();
  set(text_.never_sampled, false);
  set(text_.end_tokens, false);
  may_go_on_ = allows_any(mask_);
  if (called([&] { return guide_->is_complete(); })) set(text_.end_tokens, true);
  has_mask_ = true;
}

void constraint::clear_beyond_vocabulary() {
  const auto whole = text_.vocabulary / bits_of_word;
  if (whole == mask_.size()) return;
  mask_[whole] &= (std::uint64_t{1} << text_.vocabulary % bits_of_word) - 1;
  std::fill(mask_.begin() + static_cast<std::ptrdiff_t>(whole) + 1, mask_.end(), 0);
}

void constraint::set(std::span<const token> ids, bool allowed) {
  for (const auto id : ids) {
    const auto index = static_cast<std::size_t>(id);
    if (index >= text_.vocabulary) continue;
    const auto bit = std::uint64_t{1} << index % bits_of_word;
    auto& word = mask_[index / bits_of_word];
    word = allowed ? word | bit : word & ~bit;
  }
}

}  // namespace cogen::detail
