// For which numbers of rows products run the same algorithm.
#include "network/backend/cuda/row_buckets.hpp"

#include <boost/test/unit_test.hpp>

#include <vector>

namespace cogen::test {

namespace {

using device::row_bucket;
using device::row_buckets;

BOOST_AUTO_TEST_SUITE(device_row_buckets)

BOOST_AUTO_TEST_CASE(there_are_two_to_an_octave) {
  const std::vector<std::int64_t> expected{16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512};
  BOOST_TEST(row_buckets(512) == expected, boost::test_tools::per_element());
  BOOST_TEST(row_buckets(385) == expected, boost::test_tools::per_element());
  BOOST_TEST(row_buckets(1).size() == 1u);
  BOOST_TEST(row_bucket(2048) == 2048);
  BOOST_TEST(row_bucket(2049) == 3072);
}

BOOST_AUTO_TEST_CASE(a_bucket_is_of_as_many_rows_or_somewhat_more) {
  for (std::int64_t rows = 1; rows <= 10000; ++rows) {
    const auto most = row_bucket(rows);
    BOOST_TEST_REQUIRE((most >= rows && row_bucket(most) == most));
    BOOST_TEST_REQUIRE((most == 16 || 2 * most <= 3 * rows));
    BOOST_TEST_REQUIRE(row_buckets(rows).back() == most);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
