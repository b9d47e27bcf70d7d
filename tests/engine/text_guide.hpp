#pragma once

#include "answers/grammar/bounded_work.hpp"

#include <cogen/guide.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::test {

/// Each so manieth call of a text_guide within a step takes too long for that; 0: none does.
inline int postponed_call = 0;

/// Allows one of some texts of tokens. `watch`, if there is one, is called first by every member, with its name.
class text_guide final : public guide {
 public:
  using watcher = std::function<void(std::string_view member)>;

  explicit text_guide(std::vector<std::vector<token>> texts, watcher watch = {})
      : texts_(std::move(texts)), watch_(std::move(watch)) {}

  bool allow(std::span<std::uint64_t> tokens) override {
    call("allow");
    std::ranges::fill(tokens, 0);
    for (const auto& text : texts_)
      if (begins_with_held(text) && text.size() > held_.size()) {
        const auto id = static_cast<std::size_t>(text[held_.size()]);
        tokens[id / 64] |= std::uint64_t{1} << id % 64;
      }
    return true;
  }

  void accept(token next) override {
    call("accept");
    held_.push_back(next);
    if (std::ranges::any_of(texts_, [this](const auto& text) { return begins_with_held(text); })) return;
    held_.pop_back();
    throw std::invalid_argument("token " + std::to_string(next) + " is not in the text");
  }

  void roll_back(int tokens) override {
    call("roll_back");
    if (tokens < 0 || static_cast<std::size_t>(tokens) > held_.size())
      throw std::invalid_argument("there are fewer tokens to take back");
    held_.resize(held_.size() - static_cast<std::size_t>(tokens));
  }

  std::unique_ptr<guide> clone() const override {
    call("clone");
    return std::make_unique<text_guide>(*this);
  }

  bool is_complete() const override {
    call("is_complete");
    return std::ranges::count(texts_, held_) > 0;
  }

  /// What all texts that begin like this have next.
  std::vector<token> forced() override {
    call("forced");
    std::vector<token> next;
    for (auto prefix = held_;; prefix.push_back(next.back())) {
      std::vector<token> following;
      for (const auto& text : texts_)
        if (text.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), text.begin()))
          following.push_back(text.size() > prefix.size() ? text[prefix.size()] : -1);
      const bool is_one = !following.empty() && std::ranges::count(following, following[0]) == std::ssize(following);
      if (!is_one || following[0] < 0) return next;
      next.push_back(following[0]);
    }
  }

 private:
  void call(std::string_view member) const {
    if (postponed_call > 0 && grammar::brief_work::left() && ++calls_ % postponed_call == 0) throw guide_postponed();
    if (watch_) watch_(member);
  }

  bool begins_with_held(const std::vector<token>& text) const {
    return text.size() >= held_.size() && std::equal(held_.begin(), held_.end(), text.begin());
  }

  std::vector<std::vector<token>> texts_;
  watcher watch_;
  mutable int calls_ = 0;  // within steps
  std::vector<token> held_;
};

inline std::shared_ptr<const guide> only(std::vector<std::vector<token>> texts, text_guide::watcher watch = {}) {
  return std::make_shared<const text_guide>(std::move(texts), std::move(watch));
}

}  // namespace cogen::test
