#pragma once

#include <cogen/event_sink.hpp>

#include <filesystem>
#include <iosfwd>
#include <memory>

namespace cogen {

/// Writes what happens in one engine as a trace that chrome://tracing and ui.perfetto.dev show: the Trace Event Format,
/// as an array of JSON objects (https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU).
///
/// Track "engine" has a slice for each step, with its number, rows and tokens, and a mark for each refusal. Track
/// "slot N" has a slice "request ID" for each time that a sequence has that slot, and in it a slice "prefill" for each
/// step that prefilled it. Counters say what held during a step, and are written where they change: "batch size"
/// [rows], "slots in use", "waiting" and "preempted" [sequences], "cache" [bytes]. Times are microseconds of the
/// engine's clock.
///
/// Whole events are written, and flushed at the end of the engine or of this sink, whichever comes first, and about ten
/// times a second: what a dying process leaves behind is a valid trace that lacks only the bracket at its end, which
/// the format allows. Where writing fails, std::system_error goes to the engine, which logs it and lets go of the sink.
/// For one engine; not to be called from several threads.
class chrome_trace final : public event_sink {
 public:
  /// `out` is used until the end of this sink.
  explicit chrome_trace(std::ostream& out);

  /// Overwrites `file`. Throws std::system_error where it cannot be written.
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
