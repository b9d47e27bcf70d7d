// What the operating system says about the memory of a cache.
#include "kinds.hpp"
#include "twin.hpp"

#include <ATen/ops/ones.h>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace cogen::cache::test {
namespace {

namespace data = boost::unit_test::data;

/// A model of which one block fills pages completely, and one that leaves part of a page over.
const std::vector<layer_shape> whole_pages{{.kv_heads = 2, .head_dim = 64}, {.kv_heads = 2, .head_dim = 64}};
const std::vector<layer_shape> part_of_a_page{{.kv_heads = 1, .head_dim = 3}, {.kv_heads = 3, .head_dim = 5}};

std::int64_t page() { return ::sysconf(_SC_PAGESIZE); }

/// How many of the blocks' pages have memory behind them, the first layer's part of a slot being looked at.
std::int64_t resident_bytes(const kv_view& view, int blocks) {
  const auto begin = reinterpret_cast<std::uintptr_t>(view.range[0].data) / page() * page();
  std::vector<unsigned char> pages(static_cast<std::size_t>(blocks * view.block_stride / page()));
  BOOST_TEST_REQUIRE(::mincore(reinterpret_cast<void*>(begin), pages.size() * page(), pages.data()) == 0);
  std::int64_t resident = 0;
  for (const unsigned char one : pages) resident += (one & 1) * page();
  return resident;
}

void fill(cache& cache, int slot, int count) {
  const step step({{.slot = slot, .count = count}});
  cache.reserve(step);
  for (int i = 0; i < cache.layers(); ++i) {
    const layer_shape& shape = cache.layer(i).shape();
    const at::Tensor ones = at::ones({count, shape.kv_heads, shape.head_dim});
    cache.layer(i).append(step, ones, ones);
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
  const std::int64_t before = cache.committed_bytes();
  rlimit limit{};
  ::getrlimit(RLIMIT_DATA, &limit);
  const rlimit one_page{.rlim_cur = 4096, .rlim_max = limit.rlim_max};  // Linux takes 0 for no limit
  ::setrlimit(RLIMIT_DATA, &one_page);
  bool refused = false;
  try {
    cache.reserve(step);
  } catch (const std::system_error& error) {
    refused = error.code() == std::errc::not_enough_memory;
  }
  ::setrlimit(RLIMIT_DATA, &limit);
  if (!refused) return 1;
  if (cache.committed_bytes() != before) return 2;
  cache.reserve(step);
  return cache.committed_bytes() == before + cache.footprint(200) ? 0 : 3;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(memory)

BOOST_DATA_TEST_CASE(footprint_counts_whole_pages, data::make(kinds_in_place()), kind) {
  for (const auto* shapes : {&whole_pages, &part_of_a_page}) {
    const cache cache = kind.make(*shapes, 2, 500);
    const memory_terms terms = cache.footprint_terms();
    BOOST_TEST(terms.block == 64);
    BOOST_TEST(terms.fixed == 0);
    BOOST_TEST(terms.per_block % page() == 0);
    BOOST_TEST(cache.footprint(0) == 0);
    BOOST_TEST(cache.footprint(1) == terms.per_block);
    BOOST_TEST(cache.footprint(129) == 3 * terms.per_block);
  }
  const cache exact = kind.make(whole_pages, 2, 500);
  BOOST_TEST(exact.footprint(64) == 2 * 2 * 2 * 64 * 64 * bytes_of(kind.type));
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

BOOST_DATA_TEST_CASE(a_new_cache_takes_addresses_only, data::make(kinds_in_place()), kind) {
  rusage before{};
  ::getrusage(RUSAGE_SELF, &before);
  const cache cache = kind.make(std::vector<layer_shape>(4, {.kv_heads = 8, .head_dim = 64}), 64, 1 << 14);
  rusage after{};
  ::getrusage(RUSAGE_SELF, &after);
  BOOST_TEST(cache.footprint(1 << 14) * 64 > std::int64_t{4} << 30);
  BOOST_TEST(after.ru_maxrss - before.ru_maxrss < 64 << 10);
}

BOOST_DATA_TEST_CASE(refused_memory_changes_nothing, data::make(kinds_in_place()), kind) {
  cache cache = kind.make(whole_pages, 2, 500);
  fill(cache, 0, 20);
  BOOST_TEST(in_a_child(refused_then_granted, cache) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::cache::test
