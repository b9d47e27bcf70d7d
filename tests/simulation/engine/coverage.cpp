#include "simulation/engine/coverage.hpp"

namespace cogen::engine_simulation {
namespace {

constexpr const char* stream_states[] = {"queued", "waiting",   "prefilling", "decoding",
                                         "paused", "preempted", "ended",      "failed"};
constexpr const char* stream_events[] = {"next",    "next_for", "timed out", "complete", "progress", "second",  "total",
                                         "partial", "terminal", "stop",      "destroy",  "device",   "stopped", "gone"};
constexpr const char* sequence_states[] = {"fresh",  "queued",  "waiting", "prefilling", "decoding", "preemption",
                                           "saving", "opening", "idle",    "preempted",  "dead"};
constexpr const char* sequence_events[] = {"forward", "decode",  "fork",     "truncate", "preempt", "save",    "open",
                                           "total",   "partial", "terminal", "destroy",  "device",  "stopped", "gone"};
constexpr const char* feature_names[] = {"step held",
                                         "chained",
                                         "sampled by the device",
                                         "sampled after a token unknown to the host",
                                         "postponed",
                                         "carried out late",
                                         "encoder input read",
                                         "preempted",
                                         "displaced",
                                         "reused",
                                         "transferred",
                                         "snapshot opened",
                                         "cut when opened",
                                         "lost",
                                         "end",
                                         "length",
                                         "stopped",
                                         "bad logits",
                                         "invalid request",
                                         "does not fit",
                                         "queue full",
                                         "in progress",
                                         "aborted",
                                         "part of a completion",
                                         "sampled",
                                         "destroyed in a handler",
                                         "stopped in a handler",
                                         "went with its executor",
                                         "won by a stream",
                                         "won by a fork",
                                         "lost when ready"};

template <class State, class Event>
constexpr simulation::impossible never(State state, Event event, const char* why) {
  return {static_cast<int>(state), static_cast<int>(event), why};
}

constexpr const char* is_over = "the engine is dead already";
constexpr const char* never_waits = "who reads a stream that is over never waits";
constexpr const char* has_read_all = "a reader waits and has read what there was";
constexpr simulation::impossible never_of_streams[] = {
    never(stream_at::ended, stream_event::timed_out, never_waits),
    never(stream_at::failed, stream_event::timed_out, never_waits),
    never(stream_at::paused, stream_event::second, has_read_all),
    never(stream_at::preempted, stream_event::second, has_read_all),
};
constexpr simulation::impossible never_of_sequences[] = {
    never(sequence_at::dead, sequence_event::device_failed, is_over),
    never(sequence_at::dead, sequence_event::engine_stopped, is_over),
};

}  // namespace

coverage::coverage()
    : streams_(stream_states, stream_events, never_of_streams),
      sequences_(sequence_states, sequence_events, never_of_sequences),
      features_(feature_names) {}

void coverage::add(const coverage& other) {
  streams_.add(other.streams_);
  sequences_.add(other.sequences_);
  features_.add(other.features_);
}

bool coverage::report(std::ostream& out) const {
  out << "visits by what a stream was at and what happened to it:\n";
  const bool streams = streams_.report(out);
  out << "\nthe same of sequences:\n";
  const bool sequences = sequences_.report(out);
  const bool features = features_.report(out);
  return simulation::report_all(out, streams && sequences && features);
}

}  // namespace cogen::engine_simulation
