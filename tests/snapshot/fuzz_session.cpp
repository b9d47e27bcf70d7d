// A session from bytes: as they are, and with the sizes and checksums that they need to be read to the end.
#include "engine/snapshot/session_format.hpp"
#include "formats/checkpoint/checksum.hpp"

#include <cogen/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

namespace {

using namespace cogen;
using namespace cogen::detail;
using bytes = std::span<const std::byte>;

void require(bool holds) {
  if (!holds) std::abort();
}

const session_limits& limits() {
  static const session_limits bounds{.model = "m", .cache = "c", .vocabulary = 100, .max_sequence_length = 64};
  return bounds;
}

/// How far the bytes made a session.
struct outcome {
  bool has_head = false;
  std::optional<read_session> whole;
};

outcome read(bytes input, std::size_t step, const std::optional<session_limits>& within,
             std::optional<std::uint64_t> size) {
  session_reader reader("a session", within, size);
  outcome found;
  try {
    for (auto target = reader.prepare(); !target.empty(); target = reader.prepare()) {
      const auto count = std::min({target.size(), input.size(), step});
      if (count == 0) reader.refuse_end();
      std::copy_n(input.begin(), count, target.begin());
      input = input.subspan(count);
      reader.commit(count);
      found.has_head = reader.has_head();
    }
    found.whole = reader.release();
  } catch (const generation_error&) {
  }
  return found;
}

void check(const read_session& session, bool is_within) {
  const auto& saved = session.saved;
  require(saved.generated.size() == saved.tokens.size());
  if (saved.snapshot) {
    require(saved.snapshot->cached >= 1 && saved.snapshot->length <= saved.snapshot->high_water_mark);
    require(static_cast<std::size_t>(saved.snapshot->cached) <= saved.tokens.size());
  }
  if (!is_within) return;
  require(saved.tokens.size() <= static_cast<std::size_t>(limits().max_sequence_length));
  require(std::ranges::all_of(saved.tokens, [](token id) { return id >= 0 && id < limits().vocabulary; }));
}

/// The same session, written again, without its snapshot.
void check_again(const read_session& session) {
  auto saved = session.saved;
  saved.snapshot.reset();
  session_writer writer("a session", saved, nullptr);
  std::vector<std::byte> written;
  for (auto piece = writer.next(); !piece.empty(); piece = writer.next())
    written.insert(written.end(), piece.begin(), piece.end());
  const auto again = read(written, written.size(), {}, written.size());
  require(again.whole && again.whole->saved.tokens == saved.tokens && again.whole->saved.model == saved.model);
}

template <class Number>
void append(std::vector<std::byte>& target, const Number& number) {
  const auto more = std::as_bytes(std::span(&number, 1));
  target.insert(target.end(), more.begin(), more.end());
}

/// The first byte has the marks, the second the size of the head.
std::vector<std::byte> forced(bytes input) {
  if (input.size() < 2) return {};
  session_preamble first;
  first.marks = static_cast<std::uint32_t>(input[0]) % 5;
  const auto head = input.subspan(2, std::min<std::size_t>(static_cast<std::size_t>(input[1]), input.size() - 2));
  const auto body = input.subspan(2 + head.size());
  first.head_bytes = head.size();
  first.head_sum = load::checksum_of(head);
  first.body_bytes = body.size();
  first.sum = load::checksum_of(std::as_bytes(std::span(&first, 1)).first(offsetof(session_preamble, sum)));
  std::vector<std::byte> result;
  append(result, first);
  result.insert(result.end(), head.begin(), head.end());
  result.insert(result.end(), body.begin(), body.end());
  append(result, load::checksum_of(body));
  return result;
}

void use(bytes input) {
  for (const bool is_within : {false, true}) {
    const auto within = is_within ? std::optional(limits()) : std::nullopt;
    const auto whole = read(input, input.size(), within, input.size());
    const auto cut = read(input, 7, within, std::nullopt);
    if (!whole.whole) continue;
    require(cut.whole && cut.whole->bytes == whole.whole->bytes &&
            cut.whole->saved.tokens == whole.whole->saved.tokens);
    check(*whole.whole, is_within);
    check_again(*whole.whole);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto given = std::as_bytes(std::span(data, size));
  use(given);
  use(forced(given));
  return 0;
}
