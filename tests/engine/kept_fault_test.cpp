// One scripted history in which what is cached is shared, preempted, moved, saved and displaced, and everything that
// can fail does so in turn: each allocation, each step, each transfer.
#include "failing_memory.hpp"
#include "fault_actors.hpp"
#include "keeping_runner.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace cogen::test {
namespace {

BOOST_AUTO_TEST_SUITE(kept_faults)

/// In memory where that can be had: a disk would be asked thousands of times to have written.
std::filesystem::path for_many_files() {
  const std::filesystem::path memory = "/dev/shm";
  return std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
}

/// Goes with all that is in it.
struct folder {
  folder() { std::filesystem::create_directory(path); }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() { std::filesystem::remove_all(path); }

  int files() const {
    const std::filesystem::directory_iterator entries(path);
    return static_cast<int>(std::distance(begin(entries), end(entries)));
  }

  const std::filesystem::path path = for_many_files() / ("cogen-faults-" + std::to_string(::getpid()));
};

const std::vector<token> common{11, 12, 13, 14, 15, 16, 17, 18, 19};

std::vector<token> prompt_of(token own) { return joined(common, {own}); }

/// Streams that share their first tokens, a slow one, one that caches prefixes nothing, one with a cache salt, an
/// urgent one for which another has to leave; a sequence that is preempted, forked, saved and cut, and one that is
/// opened; in the end a drain.
class kept_history {
 public:
  explicit kept_history(const folder& in) : file(in.path / "kept.session") {}

  static constexpr int rounds = 84;

  void run(keeping_engine& toy) {
    for (int round = 0; round < rounds; ++round) {
      share(toy, round);
      move(round);
      keep(toy, round);
      crowd(toy, round);
      end(toy, round);
      go(toy, round < 53 || round > 57);
      seen[static_cast<std::size_t>(round)] = toy.running.stats();
    }
  }

  /// What was held up by a failure comes to its end.
  void settle(keeping_engine& toy) {
    for (int i = 0; i < 20; ++i) {
      slow.read(context_);
      go(toy, true);
    }
  }

  /// Lets go of every handle and lets the engine find out.
  void leave(keeping_engine& toy) {
    for (auto* each : streams) each->stream.reset();
    for (auto* each : hands) each->handle.reset();
    for (int i = 0; i < 6; ++i) go(toy, true);
  }

  stream_actor slow{prompt_of(1), 14}, quick{prompt_of(2), 6}, late{prompt_of(3), 3}, alone{prompt_of(4), 3},
      with_cache_salt{prompt_of(5), 3}, urgent{prompt_of(6), 2};
  std::array<stream_actor, 3> crowded{stream_actor{{21}, 12}, {{22}, 12}, {{23}, 12}};
  hand root, child, second, opened;
  actor drainer;
  kept_file file;
  std::array<engine_stats, rounds> seen;  // after each

  const std::array<stream_actor*, 9> streams{&slow,   &quick,      &late,       &alone,     &with_cache_salt,
                                             &urgent, &crowded[0], &crowded[1], &crowded[2]};
  const std::array<hand*, 4> hands{&root, &child, &second, &opened};

 private:
  void share(keeping_engine& toy, int round) {
    if (round == 0) slow.ask(toy.running, [](request& wanted) { wanted.max_buffered_tokens = 2; });
    if (round == 0) quick.ask(toy.running), quick.read_all(context_);
    if (round == 0 || round % 5 == 4 || round > 72) slow.read(context_);
    if (round != 30) return;
    late.ask(toy.running);
    alone.ask(toy.running, [](request& wanted) { wanted.prefix_caching = false; });
    with_cache_salt.ask(toy.running, [](request& wanted) { wanted.cache_salt = "7"; });
    for (auto* each : {&late, &alone, &with_cache_salt}) each->read_all(context_);
  }

  void move(int round) {
    if (round == 11) root.fork(child);
    if (round == 12) child.decode(context_, {}), root.decode(context_, {4});
    if (round == 14) root.suspend(context_);
    if (round == 17) root.fork(second);
    if (round == 18) second.decode(context_, {5});
    if (round == 21) root.decode(context_, {6});
    if (round == 28) root.cut(3);
    if (round == 29) root.decode(context_, {8});
    if (round == 40) root.decode(context_, {9});
    if (round == 66) second.handle.reset();
  }

  void keep(keeping_engine& toy, int round) {
    if (round == 1) root.open(toy.running), root.feed(context_, {11, 12, 13, 14, 15, 16, 17, 18, 30});
    if (round == 19) root.save(context_, file);
    if (round == 23) child.save(context_, file);
    if (round == 25) opened.open(context_, toy.running, file);
    if (round == 26) opened.decode(context_, {7});
  }

  /// Time stands still: no sequence has been idle for long when the urgent one comes.
  void crowd(keeping_engine& toy, int round) {
    if (round == 46)
      for (auto& each : crowded) each.ask(toy.running), each.read_all(context_);
    if (round == 54) urgent.ask(toy.running, [](request& wanted) { wanted.priority = 5; });
    if (round == 54) urgent.read_all(context_);
  }

  void end(keeping_engine& toy, int round) {
    if (round == 72)
      drainer.begin([&] {
        toy.running.async_drain(net::bind_executor(context_, [this](error_code code) { drainer.hear(code); }));
      });
  }

  void go(keeping_engine& toy, bool passes) {
    toy.control->end_transfers();
    try {
      toy.running.poll_one();
    } catch (const std::bad_alloc&) {  // out of a handler of our own
    }
    context_.restart();
    context_.poll();
    if (passes) toy.time->advance(std::chrono::milliseconds(1));
  }

  net::io_context context_;
};

/// Every token that was reported or is held.
std::vector<std::vector<token>> received(const kept_history& past) {
  std::vector<std::vector<token>> result;
  for (const auto* each : past.streams) result.push_back(each->books.read_so_far());
  for (const auto* each : past.hands) result.push_back(each->held);
  return result;
}

std::vector<const actor*> actors(const kept_history& past) {
  std::vector<const actor*> result{&past.drainer};
  result.insert(result.end(), past.streams.begin(), past.streams.end());
  result.insert(result.end(), past.hands.begin(), past.hands.end());
  return result;
}

void check_streams(const kept_history& past, bool lived) {
  for (const auto* each : past.streams) {
    check_prefix(each->books, toy_continuation(each->prompt, each->count));
    if (lived && !each->failed()) BOOST_TEST(each->books.count == each->count);
    BOOST_TEST(each->cached() <= static_cast<int>(common.size()));
  }
  for (const auto* each : {&past.alone, &past.with_cache_salt, &past.crowded[0]}) BOOST_TEST(each->cached() == 0);
}

/// What was saved last is there, and nothing else, and can be opened.
void check_file(const kept_history& past, const folder& in) {
  BOOST_TEST(std::filesystem::exists(past.file.path) == past.file.there);
  BOOST_TEST(in.files() == static_cast<int>(past.file.there));
  if (!past.file.there) return;
  keeping_engine other;
  drive(other.running, [&]() -> net::awaitable<void> {
    const auto opened = co_await other.running.async_load_session(past.file.path);
    BOOST_TEST(opened.tokens() == past.file.tokens, boost::test_tools::per_element());
  });
}

int diagnostics_list(const kept_history& past) {
  const auto failed = [](const auto* party) { return party->failed(); };
  const bool family = std::ranges::any_of(past.hands, failed);
  return static_cast<int>(past.drainer.failed() + family + std::ranges::count_if(past.streams, failed));
}

/// Each client had one result, and a right one; where one was failed, that is the only one, but for forks of
/// it, unless all were.
void check_results(const kept_history& past, bool lived) {
  for (const auto* each : actors(past)) {
    BOOST_TEST(each->books.received == each->books.begun);
    BOOST_TEST(!each->wrong, each->wrong);
    const auto why = make_error_code(lived ? error::out_of_memory : error::device_failed);
    for (const auto& code : each->diagnostics_list) BOOST_TEST(code == why);
  }
  if (lived) BOOST_TEST(diagnostics_list(past) <= 1);
  for (const auto* each : past.hands) BOOST_TEST(each->holds_what_it_should());
}

void check_nothing_is_held(const keeping_engine& toy) {
  const auto stats = toy.running.stats();
  BOOST_TEST(stats.sequences == 0);
  BOOST_TEST(stats.waiting == 0);
  BOOST_TEST(stats.free_slots == keeping_engine::within().slots);
  BOOST_TEST(stats.cache_bytes == 0);
  BOOST_TEST(stats.swap_bytes == 0);
  BOOST_TEST(toy.control->cache.swapped_bytes() == 0);
  BOOST_TEST(toy.control->cache.on_their_way().empty());
}

/// Whether the history met what was to fail, and whether the engine lived on.
struct trial {
  bool met = false;
  bool lived = false;
  int launches = 0, transfers = 0;
  std::vector<std::vector<token>> received;
};

constexpr long never = 1'000'000;

trial play(keeping_engine& toy, long refused) {
  trial result;
  const folder in;
  kept_history past(in);
  failing_memory::refuse(refused);
  past.run(toy);
  result.met = failing_memory::relent();
  past.settle(toy);
  result.lived = !toy.running.error();
  BOOST_TEST(toy.control->wrong == "");
  check_streams(past, result.lived);
  check_results(past, result.lived);
  check_file(past, in);
  result.received = received(past);
  result.launches = toy.control->launches;
  result.transfers = toy.control->transfers;
  past.leave(toy);
  if (result.lived) check_nothing_is_held(toy);
  return result;
}

trial with_memory_refused(long n) {
  keeping_engine toy;
  return play(toy, n);
}

trial with_step_failing(int n) {
  keeping_engine toy;
  toy.control->failing_launch = n;
  return play(toy, never);
}

trial with_transfer_failing(int n) {
  keeping_engine toy;
  toy.control->failing_transfer = n;
  return play(toy, never);
}

/// The history cannot shrink unseen.
BOOST_AUTO_TEST_CASE(what_is_kept_is_shared_preempted_moved_saved_and_displaced) {
  const folder in;
  keeping_engine toy;
  kept_history past(in);
  past.run(toy);
  const auto& seen = past.seen;
  BOOST_TEST(past.quick.cached() == 8);
  BOOST_TEST(past.late.cached() == 9);
  BOOST_TEST(seen[11].preempted == 0u);    // the first fork is one of a sequence in its slot
  BOOST_TEST(seen[16].swapped_out == 1u);  // the second is not
  BOOST_TEST(seen[45].preempted > seen[29].preempted);
  BOOST_TEST(seen[57].preempted == seen[53].preempted + 1);
  BOOST_TEST(seen[71].prefix_cached_slots > 0);
  BOOST_TEST(past.urgent.over);
  BOOST_TEST(toy.control->swap_ins >= 5);
  BOOST_TEST(past.root.sampled == 4);
  BOOST_TEST(past.opened.sampled == 1);
  BOOST_TEST(past.drainer.books.received == 1);
  for (const auto* each : actors(past)) BOOST_TEST(!each->failed());
}

BOOST_AUTO_TEST_CASE(any_allocation_may_fail_where_all_that_is_kept_moves) {
  BOOST_TEST(!with_memory_refused(never).met);  // and what is made once in a process has been made
  long survived = 0, n = 0;
  for (bool met = true; met; ++n) {
    BOOST_TEST_CONTEXT("allocation " << n) {
      const long blocks = failing_memory::blocks();
      const auto outcome = [&] {
        const auto tried = with_memory_refused(n);
        return std::pair(tried.met, tried.lived);
      }();
      BOOST_TEST(failing_memory::blocks() == blocks);
      met = outcome.first;
      survived += outcome.second;
    }
  }
  BOOST_TEST(n > 700);
  BOOST_TEST_MESSAGE(n - 1 << " allocations of swaps failed in turn; the engine lived on after " << survived - 1);
}

BOOST_AUTO_TEST_CASE(any_step_may_fail_where_all_that_is_kept_moves) {
  const int launches = with_step_failing(-1).launches;
  BOOST_TEST(launches >= 45);
  for (int n = 0; n < launches; ++n) BOOST_TEST(!with_step_failing(n).lived);
  BOOST_TEST_MESSAGE(launches << " steps failed in turn");
}

BOOST_AUTO_TEST_CASE(any_transfer_may_fail_without_effect_on_results) {
  const auto whole = with_transfer_failing(-1);
  BOOST_TEST(whole.transfers >= 12);
  for (int n = 0; n < whole.transfers; ++n) {
    const auto tried = with_transfer_failing(n);
    BOOST_TEST(tried.lived);
    BOOST_TEST((tried.received == whole.received), "transfer " << n);
  }
  BOOST_TEST_MESSAGE(whole.transfers << " transfers failed in turn");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
