// A guide beside a sequence is where the sequence's tokens, and those that it may get next, have led.
#include "engine/stream/constraint.hpp"

#include <cogen/guide.hpp>

#include <boost/test/unit_test.hpp>

#include <memory>
#include <random>
#include <vector>

namespace cogen::test {
namespace {

using detail::constraint;

constexpr std::size_t vocabulary = 64;

/// What a guide has been told, and how often.
struct told {
  std::vector<token> accepted = {};
  int calls = 0;
  int calls_until_postponed = -1;
};

class listening_guide final : public guide {
 public:
  explicit listening_guide(std::shared_ptr<told> record) : told_(std::move(record)) {}

  bool allow(std::span<std::uint64_t>) override { return call(), false; }
  void accept(token next) override {
    call();
    told_->accepted.push_back(next);
  }
  void roll_back(int tokens) override {
    call();
    BOOST_REQUIRE(tokens <= std::ssize(told_->accepted));
    told_->accepted.resize(told_->accepted.size() - static_cast<std::size_t>(tokens));
  }
  std::unique_ptr<guide> clone() const override { return std::make_unique<listening_guide>(told_); }
  bool is_complete() const override { return true; }

 private:
  void call() {
    if (told_->calls_until_postponed-- == 0) throw guide_postponed();
    ++told_->calls;
  }

  std::shared_ptr<told> told_;
};

/// A sequence whose text begins after its first tokens.
struct guided_sequence {
  explicit guided_sequence(std::size_t begin)
      : tokens(begin, 1), held(std::make_unique<listening_guide>(heard), {begin, vocabulary, vocabulary}) {}

  /// Of what follows the tokens and then `ahead`; again after it was postponed.
  void ask(std::span<const token> ahead) {
    try {
      held.mask_after(tokens, ahead);
    } catch (const guide_postponed&) {
      held.mask_after(tokens, ahead);
    }
    auto expected = tokens;
    expected.insert(expected.end(), ahead.begin(), ahead.end());
    expected.erase(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(begin()));
    BOOST_TEST(heard->accepted == expected, boost::test_tools::per_element());
  }

  void truncate(std::size_t length) {
    tokens.resize(length);
    held.truncate(length);
    least = std::min(least, length);
  }

  std::size_t begin() const { return least; }

  std::vector<token> tokens;
  std::size_t least = tokens.size();
  std::shared_ptr<told> heard = std::make_shared<told>();
  constraint held;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(constraints)

BOOST_AUTO_TEST_CASE(the_guide_follows_random_histories) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::size_t bound) { return random() % bound; };
    guided_sequence seq(3);
    for (int step = 0; step < 60; ++step) {
      std::vector<token> ahead(below(5));
      for (auto& each : ahead) each = static_cast<token>(below(3));
      if (below(3) == 0) seq.heard->calls_until_postponed = static_cast<int>(below(4));
      seq.ask(ahead);
      seq.heard->calls_until_postponed = -1;
      for (auto taken = below(ahead.size() + 1), i = std::size_t{0}; i < taken; ++i) seq.tokens.push_back(ahead[i]);
      if (below(3) == 0) seq.tokens.push_back(static_cast<token>(below(3)));
      if (below(8) == 0) seq.truncate(below(seq.tokens.size() + 1));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_token_is_accepted_once_however_often_it_was_ahead) {
  guided_sequence seq(0);
  const std::vector<token> forced(100, 7);
  for (std::size_t i = 0; i <= forced.size(); ++i) seq.ask(std::span(forced).first(i));
  seq.tokens = forced;
  seq.ask({});
  BOOST_TEST(seq.heard->calls == 2 * 100 + 1);  // tokens, and masks after each
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
