#pragma once

#include <cogen/event_sink.hpp>

#include <filesystem>
#include <iosfwd>
#include <memory>

namespace cogen {

/// Writes an engine's events as a trace for chrome://tracing and ui.perfetto.dev: the Trace Event Format, as an array
/// of JSON objects (https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU).
///
/// Track "engine" has a slice for each step, with its number, rows and tokens, and an instant event for each refusal.
/// Track "slot N" has a slice "request ID" for each time that a sequence holds the slot, and in it a slice "prefill"
/// for each step that prefilled it. Counters give the state during a step and are written when they change: "batch
/// size" [rows], "slots in use", "waiting" and "preempted" [sequences], "cache" [bytes]. Times are microseconds of the
/// engine's clock.
///
/// Only whole events are written. They are flushed about ten times a second, and at the end of the engine or of this
/// sink, whichever comes first. So a process that dies leaves a valid trace that lacks only the closing bracket, which
/// the format allows. If writing fails, the engine gets std::system_error, logs it and releases the sink. For one
/// engine. Not thread-safe.
class chrome_trace final : public event_sink {
 public:
  /// `out` must outlive this sink.
  explicit chrome_trace(std::ostream& out);

  /// Overwrites `file`. Throws std::system_error if it cannot be written.
  explicit chrome_trace(const std::filesystem::path& file);

  ~chrome_trace() override;

  void on_step(const step_event& step) override;
  void on_sequence(const sequence_event& event) override;
  void on_end(const diagnostics& why, clock::time_point at) override;

 private:
  class writer;
  std::unique_ptr<writer> writer_;
};

}  // namespace cogen
