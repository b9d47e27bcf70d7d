// A slot that reads its first tokens in another one.
#include "kinds.hpp"
#include "says.hpp"
#include "twin.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <stdexcept>

namespace cogen::cache::test {
namespace {

namespace data = boost::unit_test::data;

constexpr int longest = 300;

}  // namespace

BOOST_AUTO_TEST_SUITE(prefix_share)

BOOST_DATA_TEST_CASE(shared_tokens_take_no_memory, data::make(kinds_in_place()), kind) {
  twin twin(kind, 3, longest);
  cache& cache = twin.tested();
  twin.append({{.slot = 0, .count = 200}});
  twin.share_prefix(1, 0, 192);
  twin.share_prefix(2, 0, 64);
  BOOST_TEST(cache.committed_bytes() == cache.footprint(200));
  twin.append({{.slot = 1, .count = 1}, {.slot = 2, .count = 65}});
  BOOST_TEST(cache.committed_bytes() == cache.footprint(200) + cache.footprint(1) + cache.footprint(65));
  twin.truncate(1, 100);
  BOOST_TEST(cache.committed_bytes() == cache.footprint(200) + cache.footprint(36) + cache.footprint(65));
  twin.truncate(1, 64);
  twin.clear(2);
  BOOST_TEST(cache.committed_bytes() == cache.footprint(200));
  twin.check();
}

BOOST_DATA_TEST_CASE(a_view_has_the_base_and_then_the_tail, data::make(kinds_in_place()), kind) {
  twin twin(kind, 2, longest);
  twin.append({{.slot = 0, .count = 130}});
  twin.share_prefix(1, 0, 128);
  const auto& layer = twin.tested().layer(1);
  const kv_view parent = *layer.view(1, 128);
  BOOST_TEST_REQUIRE(parent.ranges == 1);
  BOOST_TEST(parent.range[0].data == layer.view(0, 128)->range[0].data);
  BOOST_TEST(layer.view(1, 100)->range[0].end == 100);
  twin.append({{.slot = 1, .count = 3}});
  const kv_view both = *layer.view(1, 131);
  BOOST_TEST_REQUIRE(both.ranges == 2);
  BOOST_TEST(both.range[0].begin == 0);
  BOOST_TEST(both.range[0].end == 128);
  BOOST_TEST(both.range[1].begin == 128);
  BOOST_TEST(both.range[1].end == 131);
}

BOOST_DATA_TEST_CASE(shared_tokens_stay_until_no_slot_reads_them, data::make(kinds_that_keep_all()), kind) {
  twin twin(kind, 4, longest);
  cache& cache = twin.tested();
  twin.append({{.slot = 0, .count = 200}, {.slot = 3, .count = 200}});
  twin.share_prefix(1, 0, 64);
  twin.share_prefix(2, 0, 128);
  BOOST_CHECK_EXCEPTION(cache.clear(0), std::logic_error, says({"slot 0", "first 128"}));
  BOOST_CHECK_EXCEPTION(cache.truncate(0, 127), std::logic_error, says({"slot 0", "127", "first 128"}));
  BOOST_CHECK_EXCEPTION(cache.copy(3, 0, 100, 200), std::logic_error, says({"slot 0", "100", "first 128"}));
  BOOST_TEST(!cache.can_truncate(0, 127));
  BOOST_TEST(cache.can_truncate(0, 128));
  twin.check();
  twin.truncate(0, 128);
  twin.append({{.slot = 0, .count = 20}});
  twin.copy(3, 0, 130, 140);
  twin.check();
  twin.truncate(2, 127);
  twin.truncate(0, 64);
  twin.check();
  BOOST_CHECK_THROW(cache.clear(0), std::logic_error);
  twin.clear(1);
  twin.clear(2);
  twin.clear(0);
  twin.check();
}

BOOST_DATA_TEST_CASE(a_copy_never_overwrites_the_base, data::make(kinds_that_keep_all()), kind) {
  twin twin(kind, 3, longest);
  twin.append({{.slot = 0, .count = 150}, {.slot = 2, .count = 150}});
  twin.share_prefix(1, 0, 128);
  BOOST_CHECK_EXCEPTION(twin.tested().copy(2, 1, 127, 150), std::logic_error, says({"slot 1", "first 128", "127"}));
  twin.check();
  twin.copy(0, 1, 128, 150);
  twin.check();
  twin.copy(2, 1, 130, 140);
  twin.check();
}

BOOST_DATA_TEST_CASE(a_base_of_a_base_is_taken_itself, data::make(kinds_that_keep_all()), kind) {
  twin twin(kind, 4, longest);
  cache& cache = twin.tested();
  twin.append({{.slot = 0, .count = 140}});
  twin.share_prefix(1, 0, 128);
  twin.append({{.slot = 1, .count = 100}});
  twin.share_prefix(2, 1, 128);
  BOOST_TEST(cache.table().parent(2).slot == 0);
  twin.check();
  BOOST_CHECK_EXCEPTION(cache.share_prefix(3, 1, 192), std::logic_error,
                        says({"slot 1", "first 128 tokens", "slot 0"}));
  twin.clear(1);
  twin.check();
}

BOOST_DATA_TEST_CASE(what_cannot_be_shared_is_refused, data::make(kinds_that_keep_all()), kind) {
  twin twin(kind, 3, longest);
  cache& cache = twin.tested();
  twin.append({{.slot = 0, .count = 130}, {.slot = 1, .count = 1}});
  BOOST_CHECK_EXCEPTION(cache.share_prefix(1, 0, 64), std::logic_error, says({"slot 1", "empty"}));
  BOOST_CHECK_EXCEPTION(cache.share_prefix(2, 0, 65), std::invalid_argument, says({"65", "multiple of 64"}));
  BOOST_CHECK_EXCEPTION(cache.share_prefix(2, 0, 192), std::invalid_argument, says({"192", "at most 130"}));
  BOOST_CHECK_THROW(cache.share_prefix(2, 0, 0), std::invalid_argument);
  BOOST_CHECK_THROW(cache.share_prefix(2, 0, -64), std::invalid_argument);
  BOOST_CHECK_THROW(cache.share_prefix(2, 2, 64), std::invalid_argument);
  BOOST_CHECK_THROW(cache.share_prefix(2, 3, 64), std::out_of_range);
  BOOST_CHECK_THROW(cache.share_prefix(3, 0, 64), std::out_of_range);
  twin.check();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::cache::test
