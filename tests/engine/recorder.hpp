#pragma once

#include <cogen/metrics.hpp>

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cogen::test {

/// Records events, also as sentences: one life reads as a list.
class recorder final : public event_sink {
 public:
  void on_step(const step_event& step) override {
    steps.push_back(step);
    received.push_back(fmt::format("step {}: {} rows, {} tokens", step.number, step.rows, step.tokens));
  }

  void on_sequence(const sequence_event& event) override {
    events.push_back(event);
    received.push_back(sentence_of(event));
  }

  void on_end(const diagnostics& why, clock::time_point) override {
    end = why;
    received.push_back("end");
  }

  /// The events of one sequence, without the steps.
  std::vector<std::string> life_of(std::uint64_t id) const {
    std::vector<std::string> result;
    for (const auto& each : events)
      if (each.id == id) result.push_back(sentence_of(each));
    return result;
  }

  std::vector<std::string> received;
  std::vector<sequence_event> events;
  std::vector<step_event> steps;
  std::optional<diagnostics> end;

 private:
  static std::string sentence_of(const sequence_event& event) {
    const auto begin = fmt::format("{} {}", event.id, to_string(event.type));
    switch (event.type) {
      case sequence_event::kind::accepted:
      case sequence_event::kind::prefilled:
        return fmt::format("{} {}", begin, event.tokens);
      case sequence_event::kind::scheduled:
      case sequence_event::kind::preempted:
      case sequence_event::kind::resumed:
        return fmt::format("{} in {}", begin, event.slot);
      case sequence_event::kind::swapping_out:
      case sequence_event::kind::swapping_in:
        return fmt::format("{} {}", begin, event.tokens);
      case sequence_event::kind::swapped_out:
      case sequence_event::kind::swapped_in:
        return event.error ? begin + " failed" : begin;
      case sequence_event::kind::finished:
        return fmt::format("{} {}", begin, to_string(event.reason));
      default:
        return begin;
    }
  }
};

}  // namespace cogen::test
