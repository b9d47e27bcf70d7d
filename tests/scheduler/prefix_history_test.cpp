// Random histories: the tree and its specification get the same calls, and agree after every step, also when
// memory is refused.
#include "repetitions.hpp"
#include "scheduler/naive_prefixes.hpp"
#include "scheduler/no_memory.hpp"
#include "simulation/random.hpp"

#include <boost/test/unit_test.hpp>

#include <new>

namespace cogen::scheduler {
namespace {

using simulation::random;
using test::repetitions, test::sanitized;

/// What happened to the nodes that a radix tree has, over all histories.
struct coverage {
  int branches = 0;       ///< a slot went on otherwise than one that went on before it
  int awaits_prefix = 0;  ///< it went on alike
  int overtakes = 0;      ///< it went on first of those that held the same
  int returns = 0;        ///< it was cut to what another one begins with
  int meets = 0;          ///< it came to hold exactly what another one holds
  int detours = 0;        ///< what shares most was not usable, and something else was
  int refusals = 0;       ///< memory was refused
};

class history {
 public:
  history(std::uint64_t seed, int slots, coverage& seen)
      : random_(seed),
        seen_(seen),
        alphabet_(random_.between(1, 4)),
        tree_(slots),
        naive_(slots),
        cache_salts_(static_cast<std::size_t>(slots)) {}

  void run(int steps) {
    for (int step = 0; step < steps; ++step) {
      change(any_slot());
      compare();
      look_up();
    }
  }

 private:
  int slots() const { return static_cast<int>(cache_salts_.size()); }
  int any_slot() { return random_.between(0, slots() - 1); }
  auto& cache_salt(int slot) { return cache_salts_[static_cast<std::size_t>(slot)]; }

  std::vector<token> some(int most) {
    std::vector<token> result(static_cast<std::size_t>(random_.between(0, most)));
    for (token& each : result) each = random_.between(1, alphabet_);
    return result;
  }

  /// Some of what a slot begins with, and more.
  std::vector<token> like(int slot) {
    const auto kept = naive_.tokens(slot).first(static_cast<std::size_t>(random_.between(0, naive_.length(slot))));
    std::vector<token> result(kept.begin(), kept.end());
    const auto more = some(3);
    result.insert(result.end(), more.begin(), more.end());
    return result;
  }

  void change(int slot) {
    if (!cache_salt(slot) || random_.chance(3))
      hold(slot, random_.chance(70) ? like(any_slot()) : some(random_.chance(90) ? 20 : 200));
    else if (random_.chance(65))
      extend(slot, some(random_.chance(80) ? 1 : 18));
    else if (random_.chance(75))
      cut(slot, random_.between(0, naive_.length(slot) + 1));
    else
      forget(slot);
  }

  void hold(int slot, const std::vector<token>& tokens) {
    const auto chosen = static_cast<std::uint64_t>(random_.between(0, 9) / 9);
    when_memory_allows([&] { tree_.hold(slot, chosen, token_list(tokens)); });
    naive_.hold(slot, chosen, token_list(tokens));
    cache_salt(slot) = chosen;
    seen_.meets += another_holds(slot, [](int more) { return more == 0; });
  }

  void extend(int slot, const std::vector<token>& tokens) {
    const int held = naive_.length(slot);
    const bool first = another_holds(slot, [](int more) { return more == 0; });
    const bool later = another_holds(slot, [](int more) { return more > 0; });
    when_memory_allows([&] { tree_.extend(slot, tokens); });
    naive_.extend(slot, tokens);
    if (tokens.empty()) return;
    seen_.branches += later && naive_.shared(slot) == held;
    seen_.awaits_prefix += later && naive_.shared(slot) > held;
    seen_.overtakes += first && !later;
  }

  void cut(int slot, int length) {
    const bool apart = naive_.shared(slot) < naive_.length(slot);
    {
      const no_memory none;
      tree_.cut(slot, length);
    }
    naive_.cut(slot, length);
    seen_.returns += apart && another_holds(slot, [](int more) { return more > 0; });
  }

  void forget(int slot) {
    {
      const no_memory none;
      tree_.forget(slot);
    }
    naive_.forget(slot);
    cache_salt(slot).reset();
  }

  /// Makes the change, the second time if need be: what was refused memory has changed nothing.
  template <class Change>
  void when_memory_allows(Change change) {
    try {
      const no_memory none(random_.between(0, 1));
      return change();
    } catch (const std::bad_alloc&) {
      ++seen_.refusals;
    }
    compare();
    change();
  }

  /// Whether another slot holds what this one does, and so many tokens more.
  template <class More>
  bool another_holds(int slot, More more) {
    const int held = naive_.length(slot);
    const auto wanted = [&](int other, int shared) {
      return other != slot && shared == held && more(naive_.length(other) - held) ? 1 : 0;
    };
    return naive_.find(*cache_salt(slot), naive_.tokens(slot), wanted).slot >= 0;
  }

  void compare() {
    tree_.verify();
    const int first = any_slot();
    for (int i = 0; i < std::min(8, slots()); ++i) {
      const int slot = (first + i) % slots();
      BOOST_REQUIRE(std::ranges::equal(tree_.tokens(slot), naive_.tokens(slot)));
      BOOST_REQUIRE_EQUAL(tree_.length(slot), naive_.length(slot));
      BOOST_REQUIRE_EQUAL(tree_.shared(slot), naive_.shared(slot));
    }
  }

  void look_up() {
    const auto tokens = like(any_slot());
    const auto chosen = static_cast<std::uint64_t>(random_.between(0, 2));
    BOOST_REQUIRE(tree_.find(chosen, tokens) == naive_.find(chosen, tokens));
    const int back = random_.between(0, 4), block = random_.between(1, 4), refused = any_slot();
    const auto usable = [&](int slot, int shared) {
      if (slot == refused || naive_.length(slot) - shared > back) return 0;
      return shared / block * block;
    };
    const auto found = naive_.find(chosen, tokens, usable);
    BOOST_REQUIRE(tree_.find(chosen, tokens, usable) == found);
    seen_.detours += found.slot >= 0 && found.length < found.shared;
  }

  random random_;
  coverage& seen_;
  int alphabet_;
  prefix_tree tree_;
  naive_prefixes naive_;
  std::vector<std::optional<std::uint64_t>> cache_salts_;  // of the slots of which something is known
};

void check_covered(const coverage& seen, int times) {
  for (const int each :
       {seen.branches, seen.awaits_prefix, seen.overtakes, seen.returns, seen.meets, seen.detours, seen.refusals})
    BOOST_TEST(each >= times);
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_tree_says_what_its_specification_says_whatever_happens) {
  coverage seen;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) { history(seed, 2 + static_cast<int>(seed % 7), seen).run(100); }
  }
  check_covered(seen, 500);
}

BOOST_AUTO_TEST_CASE(the_tree_of_a_thousand_slots_says_so_too) {
  coverage seen;
  for (std::uint64_t seed = 0; seed < repetitions(4); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) { history(seed, 1000, seen).run(sanitized ? 600 : 2500); }
  }
  check_covered(seen, sanitized ? 1 : 10);
}

}  // namespace cogen::scheduler
