// The bytes of KV-cache events: those that msgspec 0.22 writes for the same values.
#include "kv_events/message.hpp"
#include "kv_events/msgpack.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <limits>
#include <vector>

namespace server::kv_events {
namespace {

std::string hex(const std::string& bytes) {
  std::string result;
  for (const char each : bytes) result += fmt::format("{:02x}", static_cast<unsigned char>(each));
  return result;
}

/// A cache salt, hashes and tokens of all lengths, a block with a parent, and one of each kind.
std::string written(encoding format) {
  constexpr std::uint64_t large = (std::uint64_t{1} << 63) + 5;
  const std::vector<cogen::kv_event> batch{
      cogen::kv_blocks_cleared{},
      cogen::kv_blocks_stored{.block_hashes = {1, large},
                              .parent_block_hash = {},
                              .token_ids = {7, 200, 70000, std::numeric_limits<cogen::token>::max()},
                              .cache_salt = "18446744073709551615"},
      cogen::kv_blocks_stored{
          .block_hashes = {3}, .parent_block_hash = large, .token_ids = {0, 65535}, .cache_salt = "1"},
      cogen::kv_blocks_removed{{3, 255}}};
  return hex(message_of(batch, 1790000000.5, 2, format));
}

BOOST_AUTO_TEST_SUITE(kv_events)

BOOST_AUTO_TEST_CASE(events_are_written_as_maps) {
  BOOST_TEST(written(encoding::map) ==
             "93cb41daac4ee02000009481a474797065b0416c6c426c6f636b73436c656172656489a474797065ab426c6f636b5374"
             "6f726564ac626c6f636b5f6861736865739201cf8000000000000005b1706172656e745f626c6f636b5f68617368c0a9"
             "746f6b656e5f6964739407ccc8ce00011170ce7fffffffaa626c6f636b5f73697a6502a76c6f72615f6964c0a66d6564"
             "69756da3475055a96c6f72615f6e616d65c0aa65787472615f6b6579739291b431383434363734343037333730393535"
             "31363135c089a474797065ab426c6f636b53746f726564ac626c6f636b5f6861736865739103b1706172656e745f626c"
             "6f636b5f68617368cf8000000000000005a9746f6b656e5f6964739200cdffffaa626c6f636b5f73697a6502a76c6f72"
             "615f6964c0a66d656469756da3475055a96c6f72615f6e616d65c0aa65787472615f6b65797391c083a474797065ac42"
             "6c6f636b52656d6f766564ac626c6f636b5f6861736865739203ccffa66d656469756da347505500");
}

BOOST_AUTO_TEST_CASE(or_as_arrays) {
  BOOST_TEST(written(encoding::array) ==
             "93cb41daac4ee02000009491b0416c6c426c6f636b73436c656172656499ab426c6f636b53746f7265649201cf800000"
             "0000000005c09407ccc8ce00011170ce7fffffff02c0a3475055c09291b4313834343637343430373337303935353136"
             "3135c099ab426c6f636b53746f7265649103cf80000000000000059200cdffff02c0a3475055c091c093ac426c6f636b"
             "52656d6f7665649203ccffa347505500");
}

BOOST_AUTO_TEST_CASE(values_have_their_shortest_form) {
  const auto begin = [](auto write) {
    msgpack_writer out;
    write(out);
    return hex(out.take()).substr(0, 10);
  };
  BOOST_TEST(begin([](auto& out) { out.array(15); }) == "9f");
  BOOST_TEST(begin([](auto& out) { out.array(16); }) == "dc0010");
  BOOST_TEST(begin([](auto& out) { out.array(65536); }) == "dd00010000");
  BOOST_TEST(begin([](auto& out) { out.map(16); }) == "de0010");
  BOOST_TEST(begin([](auto& out) { out.text(std::string(31, 'a')); }) == "bf61616161");
  BOOST_TEST(begin([](auto& out) { out.text(std::string(32, 'a')); }) == "d920616161");
  BOOST_TEST(begin([](auto& out) { out.text(std::string(256, 'a')); }) == "da01006161");
  BOOST_TEST(begin([](auto& out) { out.number(std::uint64_t{127}); }) == "7f");
  BOOST_TEST(begin([](auto& out) { out.number(std::uint64_t{128}); }) == "cc80");
  BOOST_TEST(begin([](auto& out) { out.number(std::uint64_t{256}); }) == "cd0100");
  BOOST_TEST(begin([](auto& out) { out.number(std::uint64_t{65536}); }) == "ce00010000");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace server::kv_events
