// What the operating system says about the memory of a cache.
#include "kinds.hpp"
#include "twin.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones.h>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace cogen::cache::test {
namespace {

namespace data = boost::unit_test::data;

/// A model of which one block fills pages completely, and one that leaves part of a page over.
const std::vector<kv_cache_spec> whole_pages{{.kv_heads = 2, .head_dim = 64}, {.kv_heads = 2, .head_dim = 64}};
/// DeepSeek-V3's: 512 numbers and a rotated key of 64 for all heads.
const std::vector<kv_cache_spec> latent_keys{{.kv_heads = 1, .head_dim = 576, .latent_dim = 512}};
const std::vector<kv_cache_spec> part_of_a_page{{.kv_heads = 1, .head_dim = 3}, {.kv_heads = 3, .head_dim = 5}};

std::int64_t page() { return ::sysconf(_SC_PAGESIZE); }

/// How many of the blocks' pages have memory behind them, the first layer's part of a slot being looked at.
std::int64_t resident_bytes(const kv_view& view, int blocks) {
  const auto begin = reinterpret_cast<std::uintptr_t>(view.range[0].data) / page() * page();
  std::vector<unsigned char> pages(static_cast<std::size_t>(blocks * view.block_stride / page()));
  BOOST_TEST_REQUIRE(::mincore(reinterpret_cast<void*>(begin), pages.size() * page(), pages.data()) == 0);
  std::int64_t resident = 0;
  for (const unsigned char flags : pages) resident += (flags & 1) * page();
  return resident;
}

void fill(cache& cache, int slot, int count) {
  const step step({{.slot = slot, .count = count}});
  cache.reserve(step);
  for (int i = 0; i < cache.layers(); ++i) {
    const kv_cache_spec& shape = cache.layer(i).shape();
    const at::Tensor ones = at::ones({count, shape.kv_heads, shape.head_dim});
    append(cache.layer(i), step, ones, ones);
  }
  cache.advance(step);
}

int in_a_child(int (*run)(cache&), cache& cache) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(run(cache));
  int status = 0;
  BOOST_TEST_REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// 0 where a reserve that the system refuses changes nothing and a later one succeeds.
int refused_then_granted(cache& cache) {
  const step step({{.slot = 0, .count = 10}, {.slot = 1, .count = 200}});
  const std::int64_t committed = cache.committed_bytes();
  rlimit limit{};
  ::getrlimit(RLIMIT_DATA, &limit);
  const rlimit one_page{.rlim_cur = static_cast<rlim_t>(page()),
                        .rlim_max = limit.rlim_max};  // Linux takes 0 for no limit
  ::setrlimit(RLIMIT_DATA, &one_page);
  bool refused = false;
  try {
    cache.reserve(step);
  } catch (const std::system_error& error) {
    refused = error.code() == std::errc::not_enough_memory;
  }
  ::setrlimit(RLIMIT_DATA, &limit);
  if (!refused) return 1;
  if (cache.committed_bytes() != committed) return 2;
  cache.reserve(step);
  return cache.committed_bytes() == committed + cache.footprint(200) ? 0 : 3;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(memory)

BOOST_DATA_TEST_CASE(footprint_counts_whole_pages, data::make(kinds_in_place()), kind) {
  for (const auto* shapes : {&whole_pages, &part_of_a_page}) {
    const cache cache = kind.make(*shapes, 2, 500);
    const slot_footprint terms = cache.footprint_terms();
    BOOST_TEST(terms.block == 64);
    BOOST_TEST(terms.fixed == 0);
    BOOST_TEST(terms.per_block % page() == 0);
    BOOST_TEST(cache.footprint(0) == 0);
    BOOST_TEST(cache.footprint(1) == terms.per_block);
    BOOST_TEST(cache.footprint(129) == 3 * terms.per_block);
  }
  const cache exact = kind.make(whole_pages, 2, 500);
  BOOST_TEST(exact.footprint(64) == 2 * 2 * 2 * 64 * 64 * bytes_of(kind.type));
  const cache one_row_each = kind.make(latent_keys, 2, 500);
  BOOST_TEST(one_row_each.footprint(64) == 576 * 64 * bytes_of(kind.type));
}

BOOST_DATA_TEST_CASE(the_system_gets_its_memory_back, data::make(kinds_in_place()), kind) {
  for (const auto* shapes : {&whole_pages, &part_of_a_page}) {
    cache cache = kind.make(*shapes, 3, 500);
    fill(cache, 0, 500);
    fill(cache, 1, 500);
    const kv_view first = *cache.layer(0).view(0, 500);
    const kv_view second = *cache.layer(0).view(1, 500);
    BOOST_TEST(resident_bytes(first, 8) == 8 * first.block_stride);
    cache.truncate(0, 130);
    BOOST_TEST(resident_bytes(first, 8) == 3 * first.block_stride);
    cache.clear(0);
    BOOST_TEST(resident_bytes(first, 8) == 0);
    BOOST_TEST(resident_bytes(second, 8) == 8 * second.block_stride);
    cache.clear(1);
    BOOST_TEST(resident_bytes(second, 8) == 0);
  }
}

/// Pages that a slot's tokens and states lie in, in all layers: where they begin, and their bytes.
using places = std::vector<std::pair<std::uintptr_t, std::int64_t>>;

void add_ranges(const kv_range* ranges, int count, std::int64_t stride, places& output) {
  for (int i = 0; i < count; ++i) {
    const std::int64_t blocks = (ranges[i].end + 63) / 64 - ranges[i].first;
    const std::int64_t kept = ranges[i].ring > 0 ? std::min(ranges[i].ring, blocks) : blocks;
    if (kept < 1) continue;
    output.emplace_back(reinterpret_cast<std::uintptr_t>(ranges[i].data) / page() * page(),
                        (kept - 1) * stride + page());
  }
}

places places_of(const cache& cache, int slot, int length) {
  places result;
  for (int i = 0; i < cache.layers(); ++i) {
    if (const auto state = cache.layer(i).state(slot)) {
      const auto previous = reinterpret_cast<std::uintptr_t>(state->previous) / page() * page();
      const auto after = reinterpret_cast<std::uintptr_t>(state->next) / page() * page();
      result.emplace_back(previous, page());
      result.emplace_back(after, page());
    } else if (const auto view = cache.layer(i).view(slot, length)) {
      add_ranges(view->range, view->ranges, view->block_stride, result);
      add_ranges(view->quantized.range, view->quantized.ranges, view->quantized.block_stride, result);
    }
  }
  return result;
}

places places_of(const cache& cache, int slot) { return places_of(cache, slot, cache.length(slot)); }

std::int64_t resident_bytes(const places& ranges) {
  std::int64_t resident = 0;
  for (const auto& [begin, bytes] : ranges) {
    std::vector<unsigned char> pages(static_cast<std::size_t>(bytes / page()));
    BOOST_TEST_REQUIRE(::mincore(reinterpret_cast<void*>(begin), pages.size() * page(), pages.data()) == 0);
    for (const unsigned char flags : pages) resident += (flags & 1) * page();
  }
  return resident;
}

BOOST_DATA_TEST_CASE(every_kind_gives_its_memory_back, data::make(kinds()), kind) {
  twin twin(kind, 2, 500);
  twin.append({{.slot = 0, .count = 500}, {.slot = 1, .count = 500}});
  const places first = places_of(twin.tested(), 0), second = places_of(twin.tested(), 1);
  const std::int64_t resident = resident_bytes(second);
  if (!first.empty()) BOOST_TEST(resident_bytes(first) > 0);
  twin.clear(0);
  BOOST_TEST(resident_bytes(first) == 0);
  BOOST_TEST(resident_bytes(second) == resident);
  twin.check();
  twin.clear(1);
  BOOST_TEST(resident_bytes(second) == 0);
}

BOOST_AUTO_TEST_CASE(near_memory_is_given_back_too) {
  const kv_cache_spec shapes[] = {whole_pages[0], whole_pages[1], whole_pages[0]};
  cache cache(shapes, {.slots = 2, .max_sequence_length = 500, .kv_offload = std::make_shared<worker_transfer>()});
  fill(cache, 0, 400);
  const step step({{.slot = 0, .count = 1}});
  cache.reserve(step);
  const places near = places_of(cache, 0, 401);
  BOOST_TEST(resident_bytes(near) > 0);
  cache.clear(0);
  BOOST_TEST(resident_bytes(near) == 0);
}

BOOST_DATA_TEST_CASE(no_slot_takes_more_than_its_footprint, data::make(kinds()), kind) {
  twin twin(kind, 3, 500);
  cache& cache = twin.tested();
  const auto taken = [&](int own_tokens) { return cache.committed_bytes() <= cache.footprint(own_tokens); };
  for (const int count : {1, 62, 1, 1, 63, 30, 64, 64, 100}) {
    twin.append({{.slot = 0, .count = count}});
    BOOST_TEST(taken(twin.length(0)));
  }
  const int back = std::min(cache.max_rollback_tokens(), 200);
  twin.truncate(0, twin.length(0) - back);
  BOOST_TEST(taken(twin.length(0)));
  twin.append({{.slot = 0, .count = 5}});
  const int length = twin.length(0), shared = length / 64 * 64;
  twin.fork(1, 0, shared, length);
  const bool in_place = kind.keeps_all && cache.layer(0).view(0, 0).has_value();
  const int own = in_place ? length - shared : length;
  twin.append({{.slot = 1, .count = 30}});
  BOOST_TEST(cache.committed_bytes() <= cache.footprint(length) + cache.footprint(own + 30));
  if (!cache.can_truncate(1, length)) return;
  twin.truncate(1, length);
  BOOST_TEST(cache.committed_bytes() <= cache.footprint(length) + cache.footprint(own));
}

BOOST_AUTO_TEST_CASE(rings_and_states_take_exactly_their_footprint) {
  const std::vector<kv_cache_spec> shapes{{.kind = layer_kind::sliding, .kv_heads = 2, .head_dim = 16, .window = 100},
                                          {.kind = layer_kind::chunked, .kv_heads = 1, .head_dim = 24, .window = 80},
                                          {.kind = layer_kind::recurrent, .state = 3000}};
  cache cache(shapes, {.slots = 2, .max_step_tokens = 64, .max_rollback_tokens = 0});
  for (int length = 1; length <= 1000; ++length) {
    const step step({{.slot = 0, .count = 1}});
    cache.reserve(step);
    cache.advance(step);
    BOOST_TEST_REQUIRE(cache.committed_bytes() == cache.footprint(length));
  }
  BOOST_TEST(cache.footprint(1000) == cache.footprint(10'000'000));
}

BOOST_AUTO_TEST_CASE(sinks_take_no_more_however_long_it_goes_on) {
  const kv_cache_spec shape{.kv_heads = 1, .head_dim = 8};
  cache cache({&shape, 1},
              {.type = scalar::f32, .sinks = sink_window{.sinks = 4, .window = 500}, .max_step_tokens = 100});
  while (cache.length(0) < 2000) fill(cache, 0, 100);
  const std::int64_t early = cache.committed_bytes();
  while (cache.length(0) < 20'000) fill(cache, 0, 100);
  BOOST_TEST(cache.committed_bytes() == early);
  BOOST_TEST(cache.footprint(20'000) == early);
  BOOST_TEST(resident_bytes(places_of(cache, 0)) <= early);
}

BOOST_AUTO_TEST_CASE(a_slot_grows_without_moving_or_touching_what_it_holds) {
  const kv_cache_spec shape{.kv_heads = 1, .head_dim = 4};
  for (const cache_kind which : {cache_kind::dynamic, cache_kind::static_}) {
    cache cache({&shape, 1}, {.kind = which, .type = scalar::f32, .slots = 2, .max_sequence_length = 4000});
    std::vector<std::byte> held;
    const std::byte* data = nullptr;
    for (int length = 0; length < 4000; ++length) {
      const step step({{.slot = 1, .count = 1}});
      cache.reserve(step);
      const at::Tensor k = at::ones({1, 1, 4}) * static_cast<float>(length);
      append(cache.layer(0), step, k, k);
      cache.advance(step);
      const kv_view view = *cache.layer(0).view(1, length + 1);
      if (length == 0) data = view.range[0].data;
      BOOST_TEST_REQUIRE(view.range[0].data == data);
      const std::byte* added = value_at(view, length, 0);
      BOOST_TEST_REQUIRE(added == data + view.value_offset + length / 64 * view.block_stride + length % 64 * 16);
      BOOST_TEST_REQUIRE(cache.committed_bytes() == cache.footprint(length + 1));
      for (int block = 0; block * 64 < length; ++block) {
        const auto bytes = static_cast<std::size_t>(16 * std::min(64, length - block * 64));
        const std::byte* values = data + view.value_offset + block * view.block_stride;
        BOOST_TEST_REQUIRE(std::memcmp(held.data() + block * 1024, values, bytes) == 0);
      }
      held.insert(held.end(), added, added + 16);
    }
  }
}

BOOST_DATA_TEST_CASE(a_new_cache_takes_addresses_only, data::make(kinds_in_place()), kind) {
  rusage initial{};
  ::getrusage(RUSAGE_SELF, &initial);
  const cache cache = kind.make(std::vector<kv_cache_spec>(4, {.kv_heads = 8, .head_dim = 64}), 64, 1 << 14);
  rusage after{};
  ::getrusage(RUSAGE_SELF, &after);
  BOOST_TEST(cache.footprint(1 << 14) * 64 > std::int64_t{4} << 30);
  BOOST_TEST(after.ru_maxrss - initial.ru_maxrss < 64 << 10);
}

BOOST_DATA_TEST_CASE(refused_memory_changes_nothing, data::make(kinds_in_place()), kind) {
  cache cache = kind.make(whole_pages, 2, 500);
  fill(cache, 0, 20);
  BOOST_TEST(in_a_child(refused_then_granted, cache) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::cache::test
