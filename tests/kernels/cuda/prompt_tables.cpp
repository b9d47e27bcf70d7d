#include "network/kernels/prompt_tables_cuda.hpp"
#include "numbers.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cogen::kernels::cuda {
namespace {

constexpr int page_tokens = 64, token_bytes = 32, slots = 5, slot_pages = 5;
constexpr std::int64_t query_stride = 96, out_stride = 40;

struct prompt {
  int slot;
  int length;  // with the step
  int count;   // new
};

/// A layer of random bytes, and the tables of some prompts over it.
struct tabled {
  explicit tabled(std::vector<prompt> which, int rows) : prompts(std::move(which)), rows(rows) {
    std::vector<std::int32_t> starts{0}, origins, lengths;
    for (const auto& each : prompts) {
      starts.push_back(starts.back() + each.count);
      origins.push_back(each.slot * slot_pages * page_tokens);
      lengths.push_back(each.length);
    }
    origins.push_back(0);
    const device_array<std::int32_t> sent_starts(starts), sent_origins(origins), sent_lengths(lengths);
    write_prompt_tables(
        {sent_starts.data(), sent_origins.data(), sent_lengths.data(), static_cast<int>(prompts.size())},
        {.rows = rows,
         .pages = slot_pages,
         .page_tokens = page_tokens,
         .query_stride = query_stride,
         .out_stride = out_stride,
         .query_offsets = query_offsets.data(),
         .out_offsets = out_offsets.data(),
         .query_lengths = query_lengths.data(),
         .key_lengths = key_lengths.data(),
         .page_table = page_table.data()},
        {.keys = keys.data(), .values = values.data(), .token_bytes = token_bytes}, nullptr);
  }

  static std::vector<std::byte> random_layer(unsigned stream) {
    random_source random(stream);
    std::vector<std::byte> bytes(std::size_t{slots} * slot_pages * page_tokens * token_bytes);
    for (auto& each : bytes) each = static_cast<std::byte>(1 + random.below(255));
    return bytes;
  }

  std::vector<prompt> prompts;
  int rows;
  std::vector<std::byte> keys_before = random_layer(900), values_before = random_layer(901);
  device_bytes keys{keys_before}, values{values_before};
  device_array<std::int64_t> query_offsets{std::vector<std::int64_t>(static_cast<std::size_t>(rows) + 1, -1)};
  device_array<std::int64_t> out_offsets{std::vector<std::int64_t>(static_cast<std::size_t>(rows) + 1, -1)};
  device_array<std::int32_t> query_lengths{std::vector<std::int32_t>(static_cast<std::size_t>(rows), -1)};
  device_array<std::int32_t> key_lengths{std::vector<std::int32_t>(static_cast<std::size_t>(rows), -1)};
  device_array<std::int32_t> page_table{std::vector<std::int32_t>(static_cast<std::size_t>(rows * slot_pages), -1)};
};

const std::vector<prompt> some_prompts{{2, 150, 150}, {0, 64, 7}, {3, 320, 2}, {1, 65, 64}, {4, 129, 1}};

BOOST_AUTO_TEST_SUITE(cuda_prompt_tables_test, *boost::unit_test::precondition(on_device))

BOOST_AUTO_TEST_CASE(rows_say_where_prompts_begin_and_how_long_they_are) {
  for (const int rows : {5, 16}) {
    const tabled tables(some_prompts, rows);
    std::vector<std::int64_t> query_offsets, out_offsets;
    std::vector<std::int32_t> query_lengths, key_lengths;
    std::int64_t start = 0;
    for (std::size_t row = 0; row <= static_cast<std::size_t>(rows); ++row) {
      query_offsets.push_back(start * query_stride);
      out_offsets.push_back(start * out_stride);
      const bool is_prompt = row < some_prompts.size();
      if (is_prompt) start += some_prompts[row].count;
      if (row == static_cast<std::size_t>(rows)) break;
      query_lengths.push_back(is_prompt ? some_prompts[row].count : 0);
      key_lengths.push_back(is_prompt ? some_prompts[row].length : 0);
    }
    BOOST_TEST((tables.query_offsets.read() == query_offsets));
    BOOST_TEST((tables.out_offsets.read() == out_offsets));
    BOOST_TEST((tables.query_lengths.read() == query_lengths));
    BOOST_TEST((tables.key_lengths.read() == key_lengths));
  }
}

BOOST_AUTO_TEST_CASE(pages_hold_the_tokens_of_slots_and_zeros_behind_them) {
  const tabled tables(some_prompts, 8);
  const auto table = tables.page_table.read();
  const auto check = [&](const std::vector<std::byte>& now, const std::vector<std::byte>& previous) {
    for (std::size_t row = 0; row < some_prompts.size(); ++row) {
      const auto& [slot, length, count] = some_prompts[row];
      const int held = (length + page_tokens - 1) / page_tokens * page_tokens;
      for (int token = 0; token < held; ++token) {
        const auto page = table[row * slot_pages + static_cast<std::size_t>(token / page_tokens)];
        const auto offset = static_cast<std::size_t>(page * page_tokens + token % page_tokens) * token_bytes;
        const auto expected = static_cast<std::size_t>(slot * slot_pages * page_tokens + token) * token_bytes;
        BOOST_TEST_REQUIRE(offset == expected);
        for (std::size_t byte = 0; byte < token_bytes; ++byte) {
          const bool is_cleared = token >= length;
          if (!is_cleared && now[offset + byte] == std::byte{0})
            BOOST_ERROR("a token of row " << row << " was cleared");
          if (is_cleared && now[offset + byte] != std::byte{0}) BOOST_ERROR("row " << row << " has no zero behind it");
        }
      }
    }
    std::size_t changed = 0;
    for (std::size_t index = 0; index < now.size(); ++index) changed += now[index] != previous[index];
    BOOST_TEST(changed == std::size_t{42 + 63 + 63} * token_bytes);
  };
  check(tables.keys.read(), tables.keys_before);
  check(tables.values.read(), tables.values_before);
}

BOOST_AUTO_TEST_CASE(entries_behind_the_last_page_are_pages_that_a_prompt_has) {
  const tabled tables(some_prompts, 8);
  const auto table = tables.page_table.read();
  for (std::size_t row = 0; row < 8; ++row) {
    const auto& prompt = some_prompts[row < some_prompts.size() ? row : 0];
    const int first = prompt.slot * slot_pages;
    const int last = row < some_prompts.size() ? first + (prompt.length - 1) / page_tokens : first;
    for (std::size_t page = 0; page < slot_pages; ++page)
      BOOST_TEST(table[row * slot_pages + page] == std::min(first + static_cast<int>(page), last));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels::cuda
