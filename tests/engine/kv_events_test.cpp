// What events say of the prefix cache is what it holds: named blocks by hand, and random histories against a naive
// model.
#include "engine/metrics/kv_block_events.hpp"
#include "repetitions.hpp"
#include "scheduler/served.hpp"
#include "simulation/random.hpp"
#include "toy_runner.hpp"

#include <boost/test/unit_test.hpp>

#include <map>
#include <set>

namespace cogen::test {
namespace {

using scheduler::counting, scheduler::joined, scheduler::output, scheduler::sequence_id;
using simulation::random;
using hashes = std::vector<std::uint64_t>;

constexpr std::size_t block = 4;

/// All tokens up to a block's end, under their cache salt.
using beginning = std::pair<scheduler::cache_salt, std::vector<token>>;

/// Of a tenant without a salt, as an event names it.
scheduler::cache_salt salt_named(const std::string& name) { return name.empty() ? 0 : std::stoull(name); }

/// Believes every event, and knows the blocks by their hashes.
class believer final : public kv_event_sink {
 public:
  void on_kv_events(std::span<const kv_event> batch) override {
    BOOST_TEST_REQUIRE(!batch.empty());
    for (const auto& each : batch) std::visit([this](const auto& event) { take(event); }, each);
    batches.emplace_back(batch.begin(), batch.end());
  }

  std::set<beginning> beginnings() const {
    std::set<beginning> result;
    for (const auto& [hash, prefix] : blocks) result.insert(prefix);
    return result;
  }

  std::vector<std::vector<kv_event>> batches;
  std::map<std::uint64_t, beginning> blocks;

 private:
  void take(const kv_blocks_stored& event) {
    BOOST_TEST_REQUIRE(event.block_hashes.size() * block == event.token_ids.size());
    auto prefix = event.parent_block_hash ? blocks.at(*event.parent_block_hash).second : std::vector<token>();
    for (std::size_t i = 0; i < event.block_hashes.size(); ++i) {
      const auto begin = event.token_ids.begin() + static_cast<std::ptrdiff_t>(i * block);
      prefix.insert(prefix.end(), begin, begin + block);
      const bool is_new = blocks.emplace(event.block_hashes[i], beginning(salt_named(event.cache_salt), prefix)).second;
      BOOST_TEST_REQUIRE(is_new, "a block is stored that was stored before");
    }
  }

  void take(const kv_blocks_removed& event) {
    for (const auto hash : event.block_hashes) {
      BOOST_TEST_REQUIRE(blocks.erase(hash) == 1u, "a block is removed that was not stored");
      for (const auto& [other, held] : blocks)
        BOOST_TEST_REQUIRE((held.second.size() <= block || has_parent(held)), "what it continued was removed first");
    }
  }

  void take(const kv_blocks_cleared&) { blocks.clear(); }

  bool has_parent(const beginning& prefix) const {
    const beginning parent{prefix.first, {prefix.second.begin(), prefix.second.end() - block}};
    return std::ranges::any_of(blocks, [&](const auto& entry) { return entry.second == parent; });
  }
};

/// A scheduler and those who follow its events.
struct followed {
  explicit followed(const scheduler::limits& within)
      : within(within),
        s(within),
        events({.events = sink, .event_block_size = block}, s.sched, within.all_slots(),
               [this](auto, const auto& why) { failed = why; }) {}

  void plan() {
    const bool planned = !s.launch().empty();
    events.report();
    if (failed) std::rethrow_exception(failed);
    in_flight += planned;
    is_full = in_flight == (planned ? within.depth : 1);
  }

  void absorb() {
    if (is_full) s.absorb(), --in_flight;
  }

  void step() {
    plan();
    absorb();
  }

  /// All that slots hold for others, read token by token.
  std::set<beginning> held() const {
    std::set<beginning> result;
    for (int slot = 0; slot < within.all_slots(); ++slot) {
      const auto cached = s.sched.shareable(slot);
      for (auto end = block; end <= cached.tokens.size(); end += block)
        result.insert(
            {cached.cache_salt, {cached.tokens.begin(), cached.tokens.begin() + static_cast<std::ptrdiff_t>(end)}});
    }
    return result;
  }

  /// Whether a request that begins so, and goes on in a new way, would find it.
  bool finds(const beginning& prefix) const {
    auto tokens = prefix.second;
    tokens.push_back(-1);
    return s.sched.cached_prefix_length(prefix.first, tokens) == static_cast<int>(prefix.second.size());
  }

  scheduler::limits within;
  std::exception_ptr failed;
  int in_flight = 0;
  bool is_full = false;
  std::shared_ptr<believer> sink = std::make_shared<believer>();
  scheduler::served s;
  detail::kv_block_events events;
};

/// The first batch is that nothing is held.
void begin(followed& cache) { cache.step(); }

void serve(followed& cache, std::vector<token> prompt, std::uint64_t cache_salt = 0) {
  cache.s.sched.submit({.cache_salt = cache_salt, .release_at_end = true}, {std::move(prompt), output::last_logits});
  for (int i = 0; i < 20; ++i) cache.step();
}

const kv_blocks_stored& stored(const followed& cache, std::size_t batch) {
  return std::get<kv_blocks_stored>(cache.sink->batches.at(batch).at(0));
}

/// Requests that begin alike, wait, fork, go back, are suspended and leave, over few slots and little memory.
class history {
 public:
  enum class kind { plain, swaps, forgets };

  history(std::uint64_t seed, kind mode) : random_(seed), cache_(limits_of(random_, mode)), kind_(mode) {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      act();
      if (random_.chance(50)) cache_.s.end_transfers(random_.chance(90));
      cache_.plan();
      check();
      cache_.absorb();
    }
    most_ = std::max(most_, cache_.sink->blocks.size());
  }

  std::size_t most() const { return most_; }

 private:
  static scheduler::limits limits_of(random& chance, kind mode) {
    auto within = scheduler::sharing_limits(chance.between(1, 4));
    within.usage.block = chance.between(1, 5);
    within.idle_timeout = std::chrono::nanoseconds(0);
    within.memory_bytes = chance.between(200, 900);
    within.max_sequence_length = 50;
    within.depth = chance.between(1, 2);
    if (mode == kind::swaps) within.swap_bytes = 200;
    if (mode == kind::forgets) within.max_rollback_tokens = chance.between(0, 4);
    return within;
  }

  void act() {
    ++cache_.s.now;
    const int choice = random_.between(0, 99);
    if (choice < 25) return submit();
    if (ids_.empty()) return;
    const auto index = static_cast<std::size_t>(random_.between(0, static_cast<int>(ids_.size()) - 1));
    const auto id = ids_[index];
    auto& sched = cache_.s.sched;
    if (choice < 40) {
      sched.cancel(id);
      ids_.erase(ids_.begin() + static_cast<std::ptrdiff_t>(index));
    } else if (choice < 45) {
      sched.suspend(id);
    } else if (choice < 47) {
      sched.drop_prefix_cache();
    } else if (sched.idle(id)) {
      go_on(id, choice);
    }
  }

  void go_on(sequence_id id, int choice) {
    auto& sched = cache_.s.sched;
    const auto length = static_cast<int>(sched.tokens(id).size());
    if (choice < 60)
      ids_.push_back(sched.fork(id));
    else if (choice < 75)
      sched.truncate(id, random_.between(0, length));
    else if (length < 40)
      sched.start(id, {some(1, 6), output::last_logits});
  }

  void submit() {
    auto tokens = prompts_.empty()
                      ? some(1, 20)
                      : prompts_[static_cast<std::size_t>(random_.between(0, static_cast<int>(prompts_.size()) - 1))];
    tokens.resize(static_cast<std::size_t>(random_.between(1, static_cast<int>(tokens.size()))));
    tokens = joined(tokens, some(1, 10));
    if (tokens.size() > 40) tokens.resize(40);
    prompts_.push_back(tokens);
    const auto salt = static_cast<std::uint64_t>(random_.chance(20));
    const bool samples = random_.chance(50);
    ids_.push_back(cache_.s.sched.submit({.prefix_caching = random_.chance(90), .cache_salt = salt},
                                         {tokens, samples ? output::sample : output::last_logits, 5, 5}));
  }

  std::vector<token> some(int least, int most) {
    std::vector<token> result(static_cast<std::size_t>(random_.between(least, most)));
    for (auto& each : result) each = random_.between(0, 2);
    return result;
  }

  void check() {
    const auto told = cache_.sink->beginnings();
    BOOST_TEST_REQUIRE(told.size() == cache_.sink->blocks.size(), "a block has two hashes");
    BOOST_TEST_REQUIRE((told == cache_.held()), "the events say something else than what the slots hold");
    for (const auto& each : told)  // what is being moved is not found
      BOOST_TEST_REQUIRE((kind_ != kind::plain || cache_.finds(each)), "a block was stored and is not found");
    for (const auto& each : prompts_) {
      const std::vector<token> first(each.begin(),
                                     each.begin() + static_cast<std::ptrdiff_t>(each.size() / block * block));
      if (first.empty() || told.contains({0, first})) continue;
      BOOST_TEST_REQUIRE(!cache_.finds({0, first}), "a block is found and was not stored");
    }
  }

  random random_;
  followed cache_;
  kind kind_;
  std::vector<sequence_id> ids_;
  std::vector<std::vector<token>> prompts_;
  std::size_t most_ = 0;
};

BOOST_AUTO_TEST_SUITE(kv_events)

BOOST_AUTO_TEST_CASE(an_engine_begins_with_nothing) {
  followed cache(scheduler::sharing_limits(2));
  cache.step();
  cache.step();
  BOOST_TEST_REQUIRE(cache.sink->batches.size() == 1u);
  BOOST_TEST(std::holds_alternative<kv_blocks_cleared>(cache.sink->batches[0].at(0)));
}

BOOST_AUTO_TEST_CASE(whole_blocks_are_stored_and_the_next_turn_continues_them) {
  followed cache(scheduler::sharing_limits(2));
  begin(cache);
  serve(cache, counting(10), 7);
  BOOST_TEST_REQUIRE(cache.sink->batches.size() == 2u);
  const auto first = stored(cache, 1);
  BOOST_TEST(first.block_hashes.size() == 2u);
  BOOST_TEST(!first.parent_block_hash);
  BOOST_TEST(first.token_ids == counting(8));
  BOOST_TEST(first.cache_salt == "7");
  serve(cache, counting(17), 7);
  BOOST_TEST_REQUIRE(cache.sink->batches.size() == 3u);
  BOOST_TEST((stored(cache, 2).parent_block_hash == first.block_hashes[1]));
  BOOST_TEST(stored(cache, 2).token_ids == counting(8, 8));
}

BOOST_AUTO_TEST_CASE(hashes_are_the_same_in_every_engine_and_differ_by_salt) {
  followed cache(scheduler::sharing_limits(2)), other(scheduler::sharing_limits(3));
  begin(cache);
  begin(other);
  serve(cache, counting(10));
  serve(other, counting(9));
  BOOST_TEST(stored(cache, 1).block_hashes == stored(other, 1).block_hashes);
  BOOST_TEST(stored(cache, 1).block_hashes == (hashes{7181475902741184294u, 7659513464193739229u}));
  serve(other, counting(9), 1);
  BOOST_TEST(stored(other, 2).block_hashes[0] != stored(other, 1).block_hashes[0]);
}

BOOST_AUTO_TEST_CASE(what_two_slots_hold_is_removed_with_the_last_one) {
  followed cache(scheduler::sharing_limits(4));
  begin(cache);
  serve(cache, joined(counting(8), {100, 101, 102, 103, 104}));
  serve(cache, joined(counting(8), {200, 201, 202, 203, 204}));
  BOOST_TEST(cache.sink->blocks.size() == 4u);
  BOOST_TEST(stored(cache, 2).block_hashes.size() == 1u);
  cache.s.sched.drop_prefix_cache();
  for (int i = 0; i < 4; ++i) cache.step();
  BOOST_TEST(cache.sink->blocks.empty());
}

BOOST_AUTO_TEST_CASE(events_say_what_the_cache_holds_whatever_happens) {
  std::size_t most = 0;
  for (std::uint64_t seed = 0; seed < repetitions(1000); ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      history past(seed, static_cast<history::kind>(seed % 3));
      past.run(150);
      most = std::max(most, past.most());
    }
  }
  BOOST_TEST(most > 10u);
}

BOOST_AUTO_TEST_CASE(an_engine_reports_what_its_requests_leave) {
  const auto sink = std::make_shared<believer>();
  toy_engine toy({.slots = 2, .spare_slots = 2},
                 {.kv = {.events = sink, .event_block_size = block}, .external_stepping = true});
  net::io_context context;
  auto stream = toy.running.generate({.prompt = counting(20), .max_tokens = 3});
  toy.settle(context);
  BOOST_TEST(sink->beginnings().contains({0, counting(20)}));
}

BOOST_AUTO_TEST_CASE(a_sink_that_throws_is_released) {
  struct throwing final : kv_event_sink {
    void on_kv_events(std::span<const kv_event>) override { throw std::runtime_error("no"); }
  };
  std::vector<std::string> logged;
  auto sink = std::make_shared<throwing>();
  toy_engine toy({.slots = 2, .spare_slots = 2}, {.kv = {.events = sink},
                                                  .external_stepping = true,
                                                  .log = [&](std::string_view line) { logged.emplace_back(line); }});
  net::io_context context;
  auto stream = toy.running.generate({.prompt = counting(40), .max_tokens = 3});
  toy.settle(context);
  BOOST_TEST((stream.finish() == finish_reason::length));
  BOOST_TEST(logged == std::vector<std::string>{"the sink of KV events was released: no"},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(blocks_of_no_token_are_refused) {
  BOOST_CHECK_THROW(toy_engine({}, {.kv = {.event_block_size = 0}}), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
