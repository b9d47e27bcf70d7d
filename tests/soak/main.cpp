// An engine under overload for as long as one likes.
#include "client.hpp"
#include "memory.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <fmt/format.h>

#include <chrono>
#include <thread>

namespace cogen::soak {
namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto longest_end = 60s;  // for clients to end their last deeds, and for the engine to take their places back

template <class Condition>
bool wait_until(clock::time_point limit, Condition met) {
  while (!met() && clock::now() < limit) std::this_thread::sleep_for(1ms);
  return met();
}

void spawn_clients(net::thread_pool& threads, subject& all, tally& counts, const options& wanted) {
  const int count = wanted.slots * wanted.overload;
  counts.clients = count;
  for (int i = 0; i < count; ++i)
    net::co_spawn(net::make_strand(threads), live(all, counts, wanted.seed * 1000 + static_cast<unsigned>(i)),
                  [&counts](std::exception_ptr error) {
                    if (error) ++counts.wrong;
                    --counts.clients;
                  });
}

struct figures {
  int second;
  std::uint64_t deeds;  // within this second
  std::int64_t resident;
};

void print(const figures& now, const tally& counts, const engine_stats& stats) {
  fmt::print("{:>5} s  {:>6} deeds  {:>9} tokens read  {:>7} parked  {:>7} spilled  {:>4} waiting  {:>7} KiB\n",
             now.second, now.deeds, counts.tokens.load(), stats.parked, stats.spilled, stats.waiting,
             now.resident / 1024);
  std::fflush(stdout);
}

/// Resident memory after the first tenth.
std::int64_t watch(const subject& all, const tally& counts, const options& wanted) {
  const auto begin = clock::now();
  std::int64_t early = 0;
  std::uint64_t deeds = 0;
  for (int second = 1; second <= wanted.seconds; ++second) {
    std::this_thread::sleep_until(begin + std::chrono::seconds(second));
    const figures now{second, counts.deeds() - deeds, resident_bytes()};
    deeds = counts.deeds();
    print(now, counts, all.running->stats());
    if (early == 0 && second * 10 >= wanted.seconds) early = now.resident;
  }
  return early;
}

class verdict {
 public:
  void expect(bool met, const std::string& otherwise) {
    if (met) return;
    fmt::print("WRONG: {}\n", otherwise);
    well_ = false;
  }
  bool well() const { return well_; }

 private:
  bool well_ = true;
};

void summarise(const tally& counts, const engine_stats& stats) {
  for (std::size_t i = 0; i < deed_names.size(); ++i) fmt::print("{:>18}  {}\n", deed_names[i], counts.done[i].load());
  fmt::print(
      "{} operations, {} cancelled, {} refused; {} tokens read; {} steps of {:.2f} rows, {} tokens run, {} times "
      "parked, "
      "{} spilled\n",
      counts.asked.load(), counts.cancelled.load(), counts.refused.load(), counts.tokens.load(), stats.steps,
      static_cast<double>(stats.rows) / static_cast<double>(std::max<std::uint64_t>(1, stats.steps)), stats.tokens,
      stats.parked, stats.spilled);
}

bool judge(subject& all, const tally& counts, const options& wanted, std::int64_t early, std::int64_t late,
           int descriptors) {
  const auto back = [&] {
    const auto stats = all.running->stats();
    return stats.sequences == 0 && stats.free_slots == wanted.slots;
  };
  verdict all_in_all;
  wait_until(clock::now() + longest_end, back);
  const auto stats = all.running->stats();
  summarise(counts, stats);
  all_in_all.expect(back(), fmt::format("{} sequences are left, and {} of {} slots free", stats.sequences,
                                        stats.free_slots, wanted.slots));
  all_in_all.expect(
      stats.cache_bytes == 0 && stats.spill_bytes == 0,
      fmt::format("{} bytes of caches and {} bytes of spilled ones are left", stats.cache_bytes, stats.spill_bytes));
  all_in_all.expect(!all.running->error(), "the engine is dead: " + all.running->error().message());
  all_in_all.expect(counts.wrong == 0, fmt::format("{} times something else than expected", counts.wrong.load()));
  all_in_all.expect(counts.asked == counts.answered,
                    fmt::format("{} operations asked for, {} answered", counts.asked.load(), counts.answered.load()));
  const auto growth = (late - early) / 1024;
  fmt::print("resident memory: {} KiB after a tenth of the time, {} KiB at its end: {:+} KiB\n", early / 1024,
             late / 1024, growth);
  all_in_all.expect(growth <= std::int64_t{wanted.growth_mib} * 1024,
                    fmt::format("memory grew by {} KiB; {} MiB are allowed", growth, wanted.growth_mib));
  all_in_all.expect(open_descriptors() <= descriptors,
                    fmt::format("{} descriptors are open; there were {}", open_descriptors(), descriptors));
  return all_in_all.well();
}

int run(const options& wanted) {
  subject all = make_subject(wanted);
  tally counts;
  net::thread_pool threads(2);
  spawn_clients(threads, all, counts, wanted);
  std::this_thread::sleep_for(10ms);
  const int descriptors = open_descriptors();
  const auto early = watch(all, counts, wanted);
  const auto late = resident_bytes();
  counts.over = true;
  if (!wait_until(clock::now() + longest_end, [&] { return counts.clients == 0; })) {
    fmt::print("WRONG: {} clients wait for an answer for ever\n", counts.clients.load());
    std::fflush(stdout);
    all.running.reset();  // answers them all
    threads.join();
    return 1;
  }
  threads.join();
  const bool well = judge(all, counts, wanted, early, late, descriptors);
  fmt::print("{} s of {} at {}x: {}\n", wanted.seconds, wanted.subject, wanted.overload, well ? "well" : "WRONG");
  return well ? 0 : 1;
}

}  // namespace
}  // namespace cogen::soak

int main(int argc, char** argv) try {
  const auto wanted = cogen::soak::parse(argc, argv);
  return wanted ? cogen::soak::run(*wanted) : 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "soak: {}\n", e.what());
  return 2;
}
