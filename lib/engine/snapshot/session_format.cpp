#include "engine/snapshot/session_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <utility>

namespace cogen::detail {
namespace {

constexpr std::size_t largest_piece = std::size_t{1} << 20;
constexpr std::uint64_t max_reserved = std::uint64_t{64} << 20;
constexpr std::size_t checksum_bytes = sizeof(std::uint64_t);

constexpr std::uint32_t inexact_sequence = 1;
constexpr std::uint32_t inexact_snapshot = 2;

std::uint64_t sum_of(const session_preamble& preamble) {
  return load::checksum_of(std::as_bytes(std::span(&preamble, 1)).first(offsetof(session_preamble, sum)));
}

template <class... Args>
[[noreturn]] void refuse(const std::string& name, fmt::format_string<Args...> format, Args&&... args) {
  throw session_error(name, make_error_code(error::bad_session), fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void too_long(const std::string& name, fmt::format_string<Args...> format, Args&&... args) {
  throw session_error(name, make_error_code(error::does_not_fit), fmt::format(format, std::forward<Args>(args)...));
}

// The head

class head_writer {
 public:
  template <class Number>
  void number(Number value) {
    list(std::span(&value, 1));
  }
  template <class Element>
  void counted(const Element& list_of) {
    number(static_cast<std::uint64_t>(list_of.size()));
    list(std::span(list_of));
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  template <class Span>
  void list(Span values) {
    const auto bytes = std::as_bytes(values);
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }

  std::vector<std::byte> bytes_;
};

class head_reader {
 public:
  head_reader(const std::string& name, std::span<const std::byte> bytes) : name_(name), rest_(bytes) {}

  template <class Number>
  void number(Number& target) {
    take(&target, sizeof(target));
  }
  template <class List>
  void counted(List& target) {
    std::uint64_t size = 0;
    number(size);
    if (size > rest_.size() / sizeof(target[0])) refuse(name_, "its head is invalid");
    target.resize(static_cast<std::size_t>(size));
    take(target.data(), target.size() * sizeof(target[0]));
  }
  bool at_end() const { return rest_.empty(); }

 private:
  void take(void* target, std::size_t bytes) {
    if (bytes > rest_.size()) refuse(name_, "its head is invalid");
    if (bytes > 0) std::memcpy(target, rest_.data(), bytes);
    rest_ = rest_.subspan(bytes);
  }

  const std::string& name_;
  std::span<const std::byte> rest_;
};

/// Visits the members in the order of the head, to write or to read them.
template <class Head, class Session>
void each_member(Head& head, Session& state) {
  head.counted(state.model);
  head.counted(state.cache);
  head.number(state.seed);
  head.number(state.branch);
  head.number(state.forks);
  head.number(state.truncations);
  head.counted(state.tokens);
  head.counted(state.generated);
  head.counted(state.encoder_input);
}

std::uint32_t marks_of(const session& state, const kv_snapshot* snapshot) {
  return (state.exact ? 0 : inexact_sequence) | (!snapshot || state.snapshot.value().exact ? 0 : inexact_snapshot);
}

std::vector<std::byte> head_of(const session& state, const kv_snapshot* snapshot) {
  head_writer head;
  each_member(head, state);
  const auto extent = snapshot ? state.snapshot.value() : scheduler::snapshot();
  for (const int number :
       {extent.length, extent.cached, extent.high_water_mark, snapshot ? snapshot->encoder_input() : 0})
    head.number(number);
  return head.bytes();
}

void check_snapshot(const std::string& name, const read_session& found) {
  const auto& extent = *found.saved.snapshot;
  const auto tokens = static_cast<int>(found.saved.tokens.size());
  const bool sound =
      extent.cached >= 1 && extent.cached <= std::min(tokens, extent.length) && extent.length <= extent.high_water_mark;
  if (!sound || found.snapshot_source < 0) refuse(name, "its head is invalid");
}

read_session parsed_head(const std::string& name, std::span<const std::byte> bytes) {
  read_session found;
  head_reader head(name, bytes);
  each_member(head, found.saved);
  scheduler::snapshot extent;
  for (int* const number : {&extent.length, &extent.cached, &extent.high_water_mark, &found.snapshot_source})
    head.number(*number);
  if (extent.length != 0) found.saved.snapshot = extent;
  if (!head.at_end() || found.saved.generated.size() != found.saved.tokens.size()) refuse(name, "its head is invalid");
  if (found.saved.snapshot) check_snapshot(name, found);
  return found;
}

void check_tokens(const std::string& name, const std::vector<token>& tokens, int vocabulary) {
  for (const token id : tokens)
    if (id < 0 || id >= vocabulary) refuse(name, "it holds token {}; the vocabulary ends at {}", id, vocabulary - 1);
}

void check(const std::string& name, const session& state, const session_limits& within) {
  if (state.model != within.model)
    refuse(name, "it is of another model: of \"{}\", and this engine's is \"{}\"", state.model, within.model);
  if (state.cache != within.cache)
    refuse(name, "it is of another kind of cache: of \"{}\", and this engine's is \"{}\"", state.cache, within.cache);
  check_tokens(name, state.tokens, within.vocabulary);
  check_tokens(name, state.encoder_input, within.vocabulary);
  if (state.tokens.size() > static_cast<std::size_t>(within.max_sequence_length))
    too_long(name, "it holds {} tokens; the sequence may hold {}", state.tokens.size(), within.max_sequence_length);
  if (state.encoder_input.size() > static_cast<std::size_t>(within.max_encoder_input))
    too_long(name, "its encoder input has {} tokens; this engine's encoder reads {}", state.encoder_input.size(),
             within.max_encoder_input);
  if (state.encoder_input.empty() != (within.max_encoder_input == 0))
    refuse(name, "it has no encoder input, and the model reads one");
}

template <class What>
std::vector<std::byte> bytes_of(const What& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

generation_error session_error(const std::string& name, error_code code, const std::string& message) {
  return generation_error({code, fmt::format("{}: {}", name, message)});
}

// Writing

session_writer::session_writer(std::string name, const session& state, std::shared_ptr<const kv_snapshot> snapshot)
    : name_(std::move(name)), snapshot_(std::move(snapshot)) {
  const auto head = head_of(state, snapshot_.get());
  session_preamble first;
  first.marks = marks_of(state, snapshot_.get());
  first.head_bytes = head.size();
  first.head_sum = load::checksum_of(head);
  first.body_bytes = snapshot_ ? snapshot_->size() : 0;
  first.sum = sum_of(first);
  held_ = bytes_of(first);
  held_.insert(held_.end(), head.begin(), head.end());
  rest_ = held_;
}

std::span<const std::byte> session_writer::next() {
  while (rest_.empty() && part_ != part::end) begin_next_part();
  const auto piece = rest_.first(std::min(largest_piece, rest_.size()));
  if (part_ == part::body) sum_.add(piece);
  rest_ = rest_.subspan(piece.size());
  return piece;
}

void session_writer::begin_next_part() {
  if (part_ == part::checksum) {
    part_ = part::end;
    return;
  }
  if (std::exchange(part_, part::body) == part::head && snapshot_) body_ = snapshot_->read();
  if (body_) rest_ = next_of_body();
  if (!rest_.empty()) return;
  part_ = part::checksum;
  held_ = bytes_of(sum_.value());
  rest_ = held_;
}

std::span<const std::byte> session_writer::next_of_body() const try { return body_(); } catch (const std::bad_alloc&) {
  throw;
} catch (const std::exception& e) {
  throw session_error(name_, make_error_code(boost::system::errc::io_error),
                      fmt::format("what the sequence has cached cannot be read: {}", e.what()));
}

// Reading

session_reader::session_reader(std::string name, std::optional<session_limits> within,
                               std::optional<std::uint64_t> size)
    : name_(std::move(name)), within_(std::move(within)), size_(size) {
  begin(part::magic, sizeof(preamble_.magic));
}

std::span<std::byte> session_reader::prepare() {
  if (filled_ == held_.size())
    held_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(expected_, filled_ + largest_piece)));
  return std::span(held_).subspan(filled_);
}

void session_reader::commit(std::size_t bytes) {
  sum_.add(std::span(held_).subspan(filled_, bytes));
  filled_ += bytes;
  taken_ += bytes;
  while (part_ != part::end && filled_ == expected_) end_part();
}

void session_reader::begin(part next, std::uint64_t bytes) {
  part_ = next;
  expected_ = bytes;
  filled_ = 0;
  held_ = {};
  // Address space; memory is taken as bytes come. A size that nothing but the session claims gets no more at first.
  held_.reserve(static_cast<std::size_t>(size_ ? bytes : std::min(bytes, max_reserved)));
  sum_ = {};
}

void session_reader::end_part() {
  const auto preamble = std::as_writable_bytes(std::span(&preamble_, 1));
  switch (part_) {
    case part::magic:
      if (!std::ranges::equal(held_, preamble.first(held_.size()))) refuse(name_, "it is not a session of cogen");
      return begin(part::preamble, preamble.size() - sizeof(preamble_.magic));
    case part::preamble:
      std::ranges::copy(held_, preamble.subspan(sizeof(preamble_.magic)).begin());
      check_preamble();
      return begin(part::head, preamble_.head_bytes);
    case part::head:
      read_head();
      return begin(part::body, preamble_.body_bytes);
    case part::body:
      body_sum_ = sum_.value();
      found_.bytes = std::move(held_);
      return begin(part::checksum, checksum_bytes);
    case part::checksum:
      check_body();
      return begin(part::end, 0);
    case part::end:
      return;
  }
}

void session_reader::check_preamble() const {
  const session_preamble known;
  if (preamble_.version != known.version)
    refuse(name_, "it is of version {}; this program reads version {}", preamble_.version, known.version);
  if (preamble_.sum != sum_of(preamble_))
    refuse(name_, "its beginning is damaged: its checksum is {:016x}, that of what is there {:016x}", preamble_.sum,
           sum_of(preamble_));
  if (preamble_.marks > (inexact_sequence | inexact_snapshot))
    refuse(name_, "its marks are {}; this program knows those up to {}", preamble_.marks,
           inexact_sequence | inexact_snapshot);
  if (std::max(preamble_.head_bytes, preamble_.body_bytes) > held_.max_size() / 4)
    refuse(name_, "it claims a head of {} and a body of {} bytes", preamble_.head_bytes, preamble_.body_bytes);
  const auto whole = sizeof(preamble_) + preamble_.head_bytes + preamble_.body_bytes + checksum_bytes;
  if (size_ && *size_ != whole)
    refuse(name_, "{}: it has {} bytes, and its beginning says {}",
           *size_ < whole ? "it is cut short" : "it is too long", *size_, whole);
}

void session_reader::read_head() {
  if (sum_.value() != preamble_.head_sum)
    refuse(name_, "its head is damaged: its checksum is {:016x}, that of what is there {:016x}", preamble_.head_sum,
           sum_.value());
  found_ = parsed_head(name_, held_);
  found_.saved.exact = (preamble_.marks & inexact_sequence) == 0;
  if (found_.saved.snapshot) found_.saved.snapshot->exact = (preamble_.marks & inexact_snapshot) == 0;
  if (within_) check(name_, found_.saved, *within_);
}

void session_reader::check_body() const {
  std::uint64_t sum = 0;
  std::memcpy(&sum, held_.data(), sizeof(sum));
  if (sum != body_sum_)
    refuse(name_, "its body is damaged: its checksum is {:016x}, that of what is there {:016x}", sum, body_sum_);
}

void session_reader::refuse_end() const {
  if (part_ == part::magic) refuse(name_, "it is not a session of cogen");
  refuse(name_, "it is cut short: it ends after {} bytes", taken_);
}

read_session session_reader::release() {
  if (found_.bytes.empty()) found_.saved.snapshot.reset();
  return std::move(found_);
}

}  // namespace cogen::detail
