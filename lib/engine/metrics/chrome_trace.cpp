#include "formats/text/utf8.hpp"

#include <cogen/metrics.hpp>

#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <system_error>
#include <utility>

namespace cogen {
namespace {

using time_point = clock::time_point;

constexpr auto flush_interval = std::chrono::milliseconds(100);
constexpr auto idle = std::chrono::milliseconds(1);  // in a longer gap between two steps the batch counts as empty

constexpr int engine_track = 0;
int track_of(int slot) { return slot + 1; }

/// A JSON string. Invalid UTF-8 in `text` is replaced.
std::string json_string(std::string_view text) { return boost::json::serialize(text::repaired_utf8(text)); }

/// The time in microseconds, the unit of the format.
std::string stamp(clock::duration time) {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
  return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
}

std::string stamp(time_point time) { return stamp(time.time_since_epoch()); }

/// The arguments of the event that ends a slice.
std::string ending(const sequence_event& event) {
  if (event.type == sequence_event::kind::preempted) return R"("end":"preempted")";
  auto text = fmt::format(R"("end":"{}","tokens":{})", to_string(event.type), event.usage.generated_tokens);
  if (event.type != sequence_event::kind::finished) return text;
  text += fmt::format(R"(,"reason":"{}")", to_string(event.reason));
  if (event.error) text += fmt::format(R"(,"error":{})", json_string(event.error.message()));
  return text;
}

}  // namespace

/// Writes the events of the trace format, and keeps track of open slices.
class chrome_trace::writer {
 public:
  explicit writer(std::ostream& out) : out_(out) { begin(); }

  explicit writer(const std::filesystem::path& file) : file_(file, std::ios::binary), out_(file_) {
    if (!file_) throw std::system_error(errno, std::generic_category(), fmt::format("cannot write {}", file.string()));
    begin();
  }

  ~writer() {
    try {
      end(latest_);
    } catch (...) {  // a destructor cannot report it
    }
  }

  void step(const step_event& step) {
    if (batch_.text && step.begin - latest_end_ > idle) count(batch_, latest_end_, 0);
    const auto begin = std::max(step.begin, latest_end_);  // the previous step may end after this one begins
    slice(engine_track, begin, step.end, "step",
          fmt::format(R"("number":{},"rows":{},"tokens":{},"prefilled":{})", step.number, step.rows, step.tokens,
                      step.prefilled));
    count(batch_, begin, step.rows);
    count(slots_in_use_, begin, step.slots_in_use);
    count(waiting_, begin, step.waiting);
    count(preempted_, begin, step.preempted);
    count(cache_, begin, step.cache_bytes);
    latest_begin_ = begin;
    latest_end_ = step.end;
    see(step.end);
    if (step.end - flushed_ >= flush_interval) flush(step.end);
  }

  void open(const sequence_event& event) {
    for (auto next = open_.begin(); next != open_.end();)
      if (const auto [slot, id] = *next++; slot == event.slot || id == event.id)
        close(slot, event.time, R"("end":"moved")");
    name_track(event.slot);
    add(R"("ph":"B","tid":{},"ts":{},"cat":"sequence","name":"request {}","args":{{"waited_us":{},"preemptions":{}}})",
        track_of(event.slot), stamp(event.time), event.id, stamp(event.request_metrics.waiting),
        event.request_metrics.preemptions);
    open_[event.slot] = event.id;
    see(event.time);
  }

  void close(const sequence_event& event) {
    if (is_open(event)) close(event.slot, event.time, ending(event));
    see(event.time);
  }

  void prefill(const sequence_event& event) {
    if (is_open(event))
      slice(track_of(event.slot), latest_begin_, latest_end_, "prefill", fmt::format(R"("tokens":{})", event.tokens));
  }

  void first_token(const sequence_event& event) {
    if (is_open(event)) mark(track_of(event.slot), event.time, "first token", "");
  }

  void transfer(const sequence_event& event) {
    if (event.slot < 0) return;
    name_track(event.slot);
    mark(track_of(event.slot), event.time, to_string(event.type),
         fmt::format(R"("request":{},"tokens":{})", event.id, event.tokens));
  }

  void refuse(const sequence_event& event) {
    mark(engine_track, event.time, "refused",
         fmt::format(R"("request":{},"error":{})", event.id, json_string(event.error.message())));
  }

  void end(time_point time) {
    if (std::exchange(ended_, true)) return;
    while (!open_.empty()) close(open_.begin()->first, time, R"("end":"engine")");
    if (batch_.text) count(batch_, time, 0);
    buffer_ += "\n]\n";
    flush(time);
  }

  void flush(time_point time) {
    flushed_ = time;
    out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
    if (!out_.flush())
      throw std::system_error(std::make_error_code(std::errc::io_error), "the trace cannot be written");
  }

 private:
  struct counter {
    std::string_view name, unit;
    std::int64_t value = 0;
    bool text = false;
  };

  void begin() {
    buffer_ = R"([
{"pid":1,"ph":"M","tid":0,"name":"process_name","args":{"name":"cogen"}})";
    add(R"("ph":"M","tid":0,"name":"thread_name","args":{{"name":"engine"}})");
  }

  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    const auto whole = buffer_.size();
    try {
      buffer_ += ",\n{\"pid\":1,";
      fmt::format_to(std::back_inserter(buffer_), format, std::forward<Values>(values)...);
      buffer_ += '}';
    } catch (...) {
      buffer_.resize(whole);
      throw;
    }
  }

  void mark(int track, time_point time, std::string_view name, const std::string& more) {
    add(R"("ph":"i","s":"t","tid":{},"ts":{},"name":"{}","args":{{{}}})", track, stamp(time), name, more);
    see(time);
  }

  void slice(int track, time_point begin, time_point end, std::string_view name, const std::string& more) {
    add(R"("ph":"X","tid":{},"ts":{},"dur":{},"cat":"{}","name":"{}","args":{{{}}})", track, stamp(begin),
        stamp(end - begin), name, name, more);
  }

  void close(int slot, time_point time, const std::string& more) {
    add(R"("ph":"E","tid":{},"ts":{},"args":{{{}}})", track_of(slot), stamp(time), more);
    open_.erase(slot);
  }

  bool is_open(const sequence_event& event) const {
    const auto found = open_.find(event.slot);
    return found != open_.end() && found->second == event.id;
  }

  void name_track(int slot) {
    if (!named_.insert(slot).second) return;
    add(R"("ph":"M","tid":{},"name":"thread_name","args":{{"name":"slot {}"}})", track_of(slot), slot);
    add(R"("ph":"M","tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}})", track_of(slot), track_of(slot));
  }

  void count(counter& series, time_point time, std::int64_t value) {
    if (series.text && series.value == value) return;
    series.text = true;
    series.value = value;
    add(R"("ph":"C","tid":0,"ts":{},"name":"{}","args":{{"{}":{}}})", stamp(time), series.name, series.unit, value);
  }

  void see(time_point time) { latest_ = std::max(latest_, time); }

  std::ofstream file_;
  std::ostream& out_;
  std::string buffer_;
  std::map<int, std::uint64_t> open_;  // ids of requests with an open slice, by slot
  std::set<int> named_;
  counter batch_{"batch size", "rows"};
  counter slots_in_use_{"slots in use", "slots"};
  counter waiting_{"waiting", "sequences"};
  counter preempted_{"preempted", "sequences"};
  counter cache_{"cache", "bytes"};
  time_point latest_{}, latest_begin_{}, latest_end_{}, flushed_{};
  bool ended_ = false;
};

chrome_trace::chrome_trace(std::ostream& out) : writer_(std::make_unique<writer>(out)) {}
chrome_trace::chrome_trace(const std::filesystem::path& file) : writer_(std::make_unique<writer>(file)) {}
chrome_trace::~chrome_trace() = default;

void chrome_trace::on_step(const step_event& step) { writer_->step(step); }

void chrome_trace::on_sequence(const sequence_event& event) {
  using kind = sequence_event::kind;
  switch (event.type) {
    case kind::accepted:
      return;
    case kind::scheduled:
    case kind::resumed:
      return writer_->open(event);
    case kind::prefilled:
      return writer_->prefill(event);
    case kind::first_token:
      return writer_->first_token(event);
    case kind::preempted:
      return writer_->close(event);
    case kind::swapping_out:
    case kind::swapping_in:
    case kind::swapped_out:
    case kind::swapped_in:
      return writer_->transfer(event);
    case kind::refused:
      writer_->refuse(event);
      return writer_->flush(event.time);
    case kind::cancelled:
    case kind::finished:
      writer_->close(event);
      return writer_->flush(event.time);
  }
}

void chrome_trace::on_end(const diagnostics&, clock::time_point time) { writer_->end(time); }

}  // namespace cogen
