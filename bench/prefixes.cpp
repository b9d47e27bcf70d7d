// What it costs to know which tokens the slots hold: nanoseconds of each operation of the prefix tree (median and
// quartiles of the rounds), beside the naive specification and beside one memcmp of the tokens that match.
#include "prefix_tree.hpp"
#include "scheduler/naive_prefixes.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

namespace {

using namespace cogen::scheduler;
using tokens = std::vector<token>;

constexpr int rounds = 31;
constexpr int prompt = 1000;
constexpr std::size_t lookups = 64;

std::mt19937 random_numbers(1);

tokens random_tokens(int count) {
  tokens result(static_cast<std::size_t>(count));
  for (token& each : result) each = static_cast<token>(random_numbers() % 50'000);
  return result;
}

/// The first `common` tokens, which all prompts of a workload have, and others.
tokens prompt_after(const tokens& common) {
  tokens result = common;
  const auto own = random_tokens(prompt - static_cast<int>(common.size()));
  result.insert(result.end(), own.begin(), own.end());
  return result;
}

struct workload {
  int slots;
  int common;  ///< tokens that all prompts begin with
};

struct timing {
  double median, first_quartile, third_quartile;
};

/// Nanoseconds of each of the `count` operations that `work` does; `prepare` it, in each round, is not counted.
timing measure(std::size_t count, const std::function<void()>& prepare, const std::function<void()>& work) {
  std::vector<double> times;
  for (int round = -1; round < rounds; ++round) {
    prepare();
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::nano> passed = std::chrono::steady_clock::now() - start;
    if (round >= 0) times.push_back(passed.count() / static_cast<double>(count));
  }
  std::sort(times.begin(), times.end());
  return {times[rounds / 2], times[rounds / 4], times[rounds * 3 / 4]};
}

void nothing() {}

std::vector<int> all_slots(int count) {
  std::vector<int> result(static_cast<std::size_t>(count));
  std::iota(result.begin(), result.end(), 0);
  return result;
}

int kept = 0;  // what was computed

/// One of both kinds with the same prompts in it.
template <class Prefixes>
class bench {
 public:
  bench(const std::vector<tokens>& prompts) : held_(static_cast<int>(prompts.size())), prompts_(prompts) {
    for (const int slot : turn_) held_.hold(slot, 0, token_list(prompts_[static_cast<std::size_t>(slot)]));
  }

  timing find(const std::vector<tokens>& texts, const usable_prefix& usable = {}) {
    return measure(texts.size(), nothing, [&] {
      for (const auto& each : texts) kept += held_.find(0, each, usable).length;
    });
  }

  timing compare(const std::vector<tokens>& texts) {
    std::vector<prefix_match> found;
    for (const auto& each : texts) found.push_back(held_.find(0, each));
    return measure(texts.size(), nothing, [&] {
      for (std::size_t i = 0; i < texts.size(); ++i)
        kept += std::memcmp(texts[i].data(), held_.tokens(std::max(0, found[i].slot)).data(),
                            static_cast<std::size_t>(found[i].shared) * sizeof(token));
    });
  }

  /// Each slot goes on by what `next` says of it, that many times: in turn, or in another order each time.
  timing extend(const std::function<token(int)>& next, std::size_t steps, bool shuffled = false) {
    tokens more;
    for (const int slot : turn_) more.push_back(next(slot));
    std::vector<std::vector<int>> turns(steps, turn_);
    if (shuffled)
      for (auto& each : turns) std::shuffle(each.begin(), each.end(), random_numbers);
    const auto prepare = [&] {
      for (const int slot : turn_) held_.cut(slot, prompt);
    };
    const auto result = measure(turn_.size() * steps, prepare, [&] {
      for (const auto& turn : turns)
        for (const int slot : turn) held_.extend(slot, {&more[static_cast<std::size_t>(slot)], 1});
    });
    prepare();
    return result;
  }

  timing cut(int length) {
    const auto prepare = [&] {
      for (const int slot : turn_) {
        const auto& ids = prompts_[static_cast<std::size_t>(slot)];
        held_.extend(slot, std::span(ids).subspan(static_cast<std::size_t>(held_.length(slot))));
      }
    };
    const auto result = measure(turn_.size(), prepare, [&] {
      for (const int slot : turn_) held_.cut(slot, length);
    });
    prepare();
    return result;
  }

  timing hold() {
    return measure(turn_.size(), nothing, [&] {
      for (const int slot : turn_) held_.hold(slot, 0, token_list(prompts_[static_cast<std::size_t>(slot)]));
    });
  }

 private:
  Prefixes held_;
  const std::vector<tokens>& prompts_;
  const std::vector<int> turn_ = all_slots(static_cast<int>(prompts_.size()));
};

void print(const char* label, const timing& ours, const timing& naive, const timing& memory) {
  std::printf("  %-44s %7.0f ns (%.0f to %.0f)  %8.4f of naive", label, ours.median, ours.first_quartile,
              ours.third_quartile, ours.median / naive.median);
  if (memory.median > 0) std::printf("  %5.1f of memcmp, %.0f ns", ours.median / memory.median, memory.median);
  std::printf("\n");
}

void run(const workload& load) {
  const auto common = random_tokens(load.common);
  std::vector<tokens> prompts, known, unknown;
  for (int slot = 0; slot < load.slots; ++slot) prompts.push_back(prompt_after(common));
  for (std::size_t i = 0; i < lookups; ++i) {
    known.push_back(prompts[i * 31 % prompts.size()]);
    unknown.push_back(prompt_after(common));
  }
  bench<prefix_tree> ours(prompts);
  bench<naive_prefixes> naive(prompts);
  const usable_prefix whole_blocks = [](int, int shared) { return shared / 64 * 64; };
  const auto own = [](int slot) { return static_cast<token>(slot * 7919 % 50'000); };
  const auto alike = [](int) { return 7; };

  std::printf("%d slots, prompts of %d tokens, the first %d of all the same\n", load.slots, prompt, load.common);
  print("find a prompt that is held", ours.find(known), naive.find(known), ours.compare(known));
  if (load.common < prompt)
    print("find another prompt", ours.find(unknown), naive.find(unknown), ours.compare(unknown));
  print("the same, of which whole blocks are usable", ours.find(unknown, whole_blocks),
        naive.find(unknown, whole_blocks), ours.compare(unknown));
  print("extend by a token, 64 times, each by its own", ours.extend(own, 64), naive.extend(own, 64), {});
  if (load.common == prompt) print("the first of them, where they part", ours.extend(own, 1), naive.extend(own, 1), {});
  print("extend by a token, 64 times, all alike", ours.extend(alike, 64), naive.extend(alike, 64), {});
  print("the same, in another order each time", ours.extend(alike, 64, true), naive.extend(alike, 64, true), {});
  print("cut the last 8 tokens", ours.cut(prompt - 8), naive.cut(prompt - 8), {});
  print("cut to half", ours.cut(prompt / 2), naive.cut(prompt / 2), {});
  print("hold", ours.hold(), naive.hold(), {});
}

}  // namespace

int main() {
  for (const int slots : {64, 1000})
    for (const int common : {0, 900, prompt}) run({slots, common});
  return kept == 1;
}
