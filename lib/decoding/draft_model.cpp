#include <cogen/drafter.hpp>
#include <cogen/engine.hpp>
#include <cogen/text/tokenizer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace cogen {
namespace {

/// Runs one sequence ahead of a request's history, an operation after another.
class drafting_sequence final : public drafter, public std::enable_shared_from_this<drafting_sequence> {
 public:
  drafting_sequence(sequence opened, int vocabulary) : sequence_(std::move(opened)), vocabulary_(vocabulary) {}

  std::vector<token> draft(std::span<const token> history, int most) override {
    const std::lock_guard lock(mutex_);
    follow(history);
    wanted_ = history.size() + static_cast<std::size_t>(most);
    go_on();
    const auto drafts = text_.begin() + static_cast<std::ptrdiff_t>(known_);
    return {drafts, std::find_if(drafts, text_.end(), [&](token id) { return id >= vocabulary_; })};
  }

 private:
  /// Lets the text begin with the history, without drafts that follow another one.
  void follow(std::span<const token> history) {
    const auto news = history.subspan(known_);
    const auto [drafted, differs] = std::ranges::mismatch(std::span(text_).subspan(known_), news);
    if (differs != news.end()) {
      const auto same = known_ + static_cast<std::size_t>(differs - news.begin());
      text_.resize(same);
      agreed_ = std::min(agreed_, same);
      text_.insert(text_.end(), differs, news.end());
    }
    known_ = history.size();
  }

  /// Begins the next operation, if more drafts are wanted and none is pending.
  void go_on() noexcept try {
    if (is_busy_ || has_failed_ || text_.size() >= wanted_) return;
    if (held_ > agreed_) sequence_.truncate(static_cast<int>(agreed_));
    std::vector<token> fed(text_.begin() + static_cast<std::ptrdiff_t>(agreed_), text_.end());
    held_ = agreed_ = text_.size();
    is_busy_ = true;
    sequence_.async_decode(std::move(fed), sampling_params(),
                           [weak = weak_from_this()](error_code code, const sampled_token& next) {
                             if (const auto self = weak.lock()) self->take(code, next.id);
                           });
  } catch (...) {
    has_failed_ = true;
  }

  void take(error_code code, token next) noexcept try {
    const std::lock_guard lock(mutex_);
    is_busy_ = false;
    has_failed_ = code.failed();
    const bool was_right = agreed_ == held_;
    if (was_right && text_.size() == held_) text_.push_back(next);
    if (was_right && text_[held_] == next) ++agreed_;
    ++held_;
    go_on();
  } catch (...) {
    has_failed_ = true;
  }

  std::mutex mutex_;
  sequence sequence_;
  const int vocabulary_;     // of the request
  std::vector<token> text_;  // the history and what is drafted after it
  std::size_t known_ = 0;    // tokens of the history
  std::size_t wanted_ = 0;   // tokens that the text should have
  std::size_t held_ = 0;     // tokens of the sequence, with those that are being fed
  std::size_t agreed_ = 0;   // of those, the first ones, with which the text begins
  bool is_busy_ = false;     // an operation is pending
  bool has_failed_ = false;
};

/// Whether a token is the same for two tokenizers. Ids that one of them lacks have no text.
bool agree(const text::tokenizer& tokenizer, const text::tokenizer& other, token id) {
  const auto text_of = [id](const text::tokenizer& tokens) {
    return static_cast<std::size_t>(id) < tokens.size() ? tokens.token_bytes(id) : std::string_view();
  };
  return tokenizer.is_special(id) == other.is_special(id) && text_of(tokenizer) == text_of(other) &&
         (!tokenizer.is_special(id) || tokenizer.token_text(id) == other.token_text(id));
}

/// The first token, if any, that two tokenizers do not share.
std::optional<token> first_difference(const text::tokenizer& tokenizer, const text::tokenizer& other) {
  const auto either = static_cast<token>(std::max(tokenizer.size(), other.size()));
  for (token id = 0; id < either; ++id)
    if (!agree(tokenizer, other, id)) return id;
  return std::nullopt;
}

[[noreturn]] void refuse(const std::string& why) {
  throw std::invalid_argument("draft_model() needs engines with the same tokens: " + why);
}

std::string tokens_of(bool has_tokenizer, int vocabulary) {
  return fmt::format("{} tokens {} a tokenizer", vocabulary, has_tokenizer ? "of" : "without");
}

class model_drafter final : public drafter {
 public:
  explicit model_drafter(engine& engine) : engine_(engine) {}

  std::shared_ptr<drafter> begin(const draft_target& request) override {
    check_vocabulary(request);
    return std::make_shared<drafting_sequence>(
        engine_.open({.tenant = request.tenant, .cache_salt = request.cache_salt}), request.vocabulary);
  }

  std::vector<token> draft(std::span<const token> /*history*/, int /*most*/) override { return {}; }

 private:
  void check_vocabulary(const draft_target& request) {
    const auto own = engine_.tokenizer();
    if (!own && !request.tokenizer && engine_.vocabulary() == request.vocabulary) return;
    if (!own || !request.tokenizer)
      refuse(fmt::format("its own has {}, the request's {}", tokens_of(own != nullptr, engine_.vocabulary()),
                         tokens_of(request.tokenizer != nullptr, request.vocabulary)));
    const std::lock_guard lock(mutex_);
    if (own == request.tokenizer || agreeing_.lock() == request.tokenizer) return;
    if (const auto differs = first_difference(*own, *request.tokenizer))
      refuse(fmt::format("those of its own differ from the request's from token {} on", *differs));
    agreeing_ = request.tokenizer;
  }

  engine& engine_;
  std::mutex mutex_;
  std::weak_ptr<const text::tokenizer> agreeing_;  // was compared before
};

}  // namespace

std::shared_ptr<drafter> draft_model(engine& engine) { return std::make_shared<model_drafter>(engine); }

}  // namespace cogen
