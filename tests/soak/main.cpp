// An engine under overload for as long as one likes.
#include "client.hpp"
#include "memory.hpp"
#include "verdict.hpp"
#include "watch.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <fmt/format.h>

#include <chrono>
#include <thread>

namespace cogen::soak {
namespace {

using namespace std::chrono_literals;

/// For clients to end their last deeds, and for the engine to take their places back.
template <class Condition>
bool wait_for(Condition met) {
  const auto limit = std::chrono::steady_clock::now() + 60s;
  while (!met() && std::chrono::steady_clock::now() < limit) std::this_thread::sleep_for(1ms);
  return met();
}

void spawn_clients(net::thread_pool& threads, subject& setup, tally& counts, const options& wanted) {
  const int count = wanted.slots * wanted.overload;
  counts.clients = count;
  for (int i = 0; i < count; ++i)
    net::co_spawn(net::make_strand(threads), live(setup, counts, wanted.seed * 1000 + static_cast<unsigned>(i)),
                  [&counts](std::exception_ptr error) {
                    if (error) ++counts.wrong;
                    --counts.clients;
                  });
}

void summarize(const tally& counts, const engine_stats& stats) {
  fmt::print("{} operations; {} tokens read; {} steps of {:.2f} rows, {} tokens run\n", counts.asked.load(),
             counts.tokens.load(), stats.steps,
             static_cast<double>(stats.rows) / static_cast<double>(std::max<std::uint64_t>(1, stats.steps)),
             stats.tokens);
}

void soak(verdict& all_in_all, const options& wanted) {
  subject setup = make_subject(wanted);
  tally counts;
  net::thread_pool threads(2);
  spawn_clients(threads, setup, counts, wanted);
  const auto seen = watch(setup, counts, wanted);
  counts.over = true;
  if (!wait_for([&] { return counts.clients == 0; })) {
    all_in_all.expect(false, fmt::format("{} clients wait for an answer for ever", counts.clients.load()));
    setup.running.reset();  // answers them all
    threads.join();
    return;
  }
  threads.join();
  wait_for([&] { return setup.running->stats().sequences == 0 && setup.running->stats().free_slots == wanted.slots; });
  summarize(counts, setup.running->stats());
  judge_deeds(all_in_all, setup, counts, wanted);
  judge_end(all_in_all, setup, counts, wanted);
  judge_course(all_in_all, seen, wanted);
}

int run(const options& wanted) {
  verdict all_in_all;
  const int descriptors = open_descriptors();
  soak(all_in_all, wanted);
  all_in_all.expect(
      open_descriptors() == descriptors,
      fmt::format("{} descriptors are open after it all, and were {} before", open_descriptors(), descriptors));
  fmt::print("{} s of {} at {}x: {}\n", wanted.seconds, wanted.subject, wanted.overload,
             all_in_all.well() ? "well" : "WRONG");
  return all_in_all.well() ? 0 : 1;
}

}  // namespace
}  // namespace cogen::soak

/// Asked by AddressSanitizer, where it is on: freed memory that it keeps, 256 MiB by default, looks like growth.
// NOLINTNEXTLINE(readability-identifier-naming): the sanitizer asks for it
extern "C" const char* __asan_default_options() { return "quarantine_size_mb=16"; }

int main(int argc, char** argv) try {
  const auto wanted = cogen::soak::parse(argc, argv);
  return wanted ? cogen::soak::run(*wanted) : 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "soak: {}\n", e.what());
  return 2;
}
