// Forks, snapshots, rollback limit and quantized blocks: where every cache kind can return to, for each line of
// kinds.cpp.
#include "../repetitions.hpp"
#include "kinds.hpp"
#include "twin.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace cogen::cache::test {

BOOST_AUTO_TEST_SUITE(going_back)
namespace {

namespace data = boost::unit_test::data;

constexpr int longest = 300;  // neither a multiple of a block nor of a page's worth of tokens

}  // namespace

BOOST_DATA_TEST_CASE(a_fork_goes_on_by_itself, data::make(kinds()), kind) {
  for (const int length : cogen::test::thin({1, 63, 64, 65, 130, 200, 299}, 2)) {
    twin twin(kind, 4, longest);
    twin.append({{.slot = 0, .count = length}});
    twin.fork(1, 0, length / 64 * 64, length);
    twin.fork(2, 0, 0, length);
    twin.check();
    const int more = std::min(30, longest - length);
    twin.append({{.slot = 0, .count = 1}, {.slot = 1, .count = more}, {.slot = 2, .count = 1}});
    twin.check();
    twin.fork(3, 1, length / 64 * 64, length + more);
    twin.clear(2);
    twin.fork(2, 3, 0, length + more);
    twin.clear(2);
    twin.check();
  }
}

BOOST_DATA_TEST_CASE(a_snapshot_is_returned_to, data::make(kinds()), kind) {
  for (const int length : {1, 64, 100, 129}) {
    twin twin(kind, 2, longest);
    cache& cache = twin.tested();
    twin.append({{.slot = 0, .count = length}, {.slot = 1, .count = 10}});
    cache.take_checkpoint(0);
    twin.append({{.slot = 0, .count = longest - length}});
    twin.check();
    BOOST_TEST_REQUIRE(cache.can_truncate(0, length));
    twin.truncate(0, length);
    twin.check();
    twin.append({{.slot = 0, .count = 80}, {.slot = 1, .count = 5}});
    twin.check();
    BOOST_TEST_REQUIRE(cache.can_truncate(0, length));
    twin.truncate(0, length);
    twin.check();
    if (length == 1) continue;
    cache.take_checkpoint(1);
    twin.clear(1);
    twin.append({{.slot = 1, .count = longest}});
    BOOST_TEST(cache.can_truncate(1, 15) == (cache.max_rollback_tokens() > longest));
  }
}

BOOST_DATA_TEST_CASE(a_dropped_snapshot_is_gone, data::make(kinds()), kind) {
  twin twin(kind, 1, longest);
  cache& cache = twin.tested();
  twin.append({{.slot = 0, .count = 20}});
  cache.take_checkpoint(0);
  const std::int64_t with_one = cache.committed_bytes();
  cache.take_checkpoint(0);
  BOOST_TEST(cache.committed_bytes() == with_one);
  twin.append({{.slot = 0, .count = longest - 20}});
  cache.drop_checkpoint(0, 20);
  BOOST_TEST(cache.can_truncate(0, 20) == (cache.max_rollback_tokens() > longest));
  cache.drop_checkpoint(0, 21);
  twin.check();
}

BOOST_DATA_TEST_CASE(a_slot_goes_back_by_its_rollback_limit, data::make(kinds()), kind) {
  for (const int length : {100, 260, longest}) {
    twin twin(kind, 1, longest);
    twin.append({{.slot = 0, .count = length}});
    const int back = std::min(twin.tested().max_rollback_tokens(), length);
    for (const int count : {0, 1, back / 2, back}) {
      if (count > back) continue;
      BOOST_TEST(twin.tested().can_truncate(0, length - count));
    }
    twin.truncate(0, length - back);
    twin.check();
    if (back > 0) twin.append({{.slot = 0, .count = back}});
    twin.check();
    if (back > 0) twin.truncate(0, length - back);
    twin.check();
  }
}

BOOST_DATA_TEST_CASE(a_slot_drops_drafts_of_its_last_row, data::make(kinds()), kind) {
  for (int drafts = 1; drafts <= max_drafts; ++drafts)
    for (int dropped = 0; dropped <= drafts; ++dropped) {
      twin twin(kind, 3, longest);
      twin.append({{.slot = 0, .count = 60, .drafts = 1}, {.slot = 1, .count = 7}});
      twin.append({{.slot = 0, .count = 1 + drafts, .drafts = drafts}, {.slot = 1, .count = 2, .drafts = 1}});
      const int length = 61 + drafts - dropped;
      BOOST_TEST_REQUIRE(twin.tested().can_truncate(0, length));
      twin.fork(2, 0, 0, length);
      twin.truncate(0, length);
      twin.check();
      BOOST_TEST(twin.tested().can_truncate(0, 61));
      BOOST_TEST(twin.tested().can_truncate(0, 59) == (twin.tested().max_rollback_tokens() > 2));
      twin.append({{.slot = 0, .count = 1}, {.slot = 2, .count = 2, .drafts = 1}});
      twin.check();
      BOOST_TEST(twin.tested().can_truncate(0, length) == (twin.tested().max_rollback_tokens() > 0));
      twin.truncate(2, length + 1);
      twin.check();
    }
}

/// Slots of which no ring is ever full, and others.
constexpr int short_and_long[] = {200, longest};

BOOST_DATA_TEST_CASE(what_was_imported_goes_back_as_far_as_the_slot_did,
                     data::make(kinds()) * data::make(short_and_long), kind, most) {
  for (const int length : {100, 150, most - 1}) {
    twin twin(kind, 3, most);
    twin.append({{.slot = 0, .count = length}});
    const int back = std::min(twin.tested().max_rollback_tokens(), length);
    const int cut = back / 3;
    if (cut > 0) twin.truncate(0, length - cut);
    twin.move(0, 1);
    for (const int remaining : {length - cut, length - (cut + back) / 2, length - back}) {
      BOOST_TEST_REQUIRE(twin.tested().can_truncate(1, remaining));
      twin.truncate(1, remaining);
      twin.check();
    }
    if (length == back) continue;
    twin.move(1, 2);
    twin.append({{.slot = 1, .count = 1}, {.slot = 2, .count = 1}});
    twin.check();
  }
}

BOOST_DATA_TEST_CASE(what_goes_back_any_way_is_copied_from_what_was_released, data::make(kinds()), kind) {
  twin twin(kind, 4, 200);
  if (twin.tested().max_rollback_tokens() < longest) return;
  twin.append({{.slot = 0, .count = 190}});
  twin.fork(1, 0, 128, 190);
  twin.tested().release(0, 128);
  twin.truncate(0, 128);
  for (const int length : {128, 100, 1}) {
    twin.fork(2, 0, 0, length);
    BOOST_TEST(twin.tested().can_truncate(2, length / 2));
    twin.clear(2);
  }
  twin.fork(3, 0, 0, 100);
  twin.append({{.slot = 1, .count = 5}, {.slot = 3, .count = 9}});
  twin.truncate(1, 40);
  twin.check();
}

/// Slot 1 follows slot 0, which has gone further meanwhile.
void catch_up(twin& twin, int fork_at, int reach, int end) {
  twin.append({{.slot = 0, .count = fork_at}});
  twin.fork(1, 0, 0, fork_at);
  twin.append({{.slot = 0, .count = end - fork_at}});
  twin.tested().take_checkpoint(0);
  if (reach > end) twin.append({{.slot = 0, .count = reach - end}});
  twin.copy(0, 1, fork_at, end);
}

BOOST_DATA_TEST_CASE(a_slot_catches_up_with_the_one_it_came_from, data::make(kinds()), kind) {
  for (const int end : {191, 250})
    for (const int count : {0, 17, 70, 115}) {
      twin twin(kind, 2, longest);
      catch_up(twin, 129, std::min(longest, end + 50), end);
      if (count == 0) twin.check();
      if (!twin.tested().can_truncate(1, end - count)) continue;
      twin.truncate(1, end - count);
      twin.check();
    }
}

BOOST_DATA_TEST_CASE(quantized_bytes_never_change, data::make(kinds()), kind) {
  twin twin(kind, 2, longest);
  std::vector<std::byte> original;
  const auto quantized_now = [&](int blocks) {
    std::vector<std::byte> bytes;
    for (int i = 0; i < twin.tested().layers(); ++i) {
      const auto view = twin.tested().layer(i).view(0, twin.length(0));
      if (!view || view->quantized.ranges == 0 || view->quantized.range[0].ring > 0) continue;
      const quantized_view& quantized = view->quantized;
      const std::byte* data = quantized.range[0].data;
      for (int block = 0; block < blocks; ++block)
        bytes.insert(
            bytes.end(), data + block * quantized.block_stride,
            data + block * quantized.block_stride + quantized.value_offset + view->kv_heads * quantized.value_bytes);
    }
    return bytes;
  };
  twin.append({{.slot = 0, .count = 200}});
  const auto first = quantized_now(1);
  for (const int count : {1, 7, 60}) {
    twin.append({{.slot = 0, .count = count}, {.slot = 1, .count = 3}});
    BOOST_TEST((quantized_now(1) == first));
  }
  twin.truncate(0, 268 - std::min(twin.tested().max_rollback_tokens(), 16));
  twin.append({{.slot = 0, .count = 30}});
  BOOST_TEST((quantized_now(1) == first));
  if (kind.name.starts_with("int")) BOOST_TEST(!first.empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::cache::test
