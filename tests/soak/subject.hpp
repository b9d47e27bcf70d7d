#pragma once

#include "options.hpp"

#include <cogen/engine.hpp>
#include <cogen/metrics.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace cogen::soak {

/// A prompt, and what the model says to it alone.
struct story {
  std::vector<token> prompt;
  std::vector<token> continuation;
};

/// Counts, step by step, how many requests there are for the slots.
class crowd final : public event_sink {
 public:
  void on_step(const step_event& step) override;
  void on_sequence(const sequence_event& event) override;

  double mean() const;  ///< requests that held a slot or waited for one, over all steps so far
  std::uint64_t resumed() const { return resumed_; }

 private:
  std::atomic<std::uint64_t> steps_ = 0;
  std::atomic<std::uint64_t> requests_ = 0;
  std::atomic<std::uint64_t> resumed_ = 0;
};

/// An engine on a thread of its own, and what it should say.
struct subject {
  std::shared_ptr<crowd> wanting = std::make_shared<crowd>();
  std::unique_ptr<cogen::engine> running;
  std::vector<story> stories;
  int max_sequence_length = 0;
  int vocabulary = 0;
  bool swap_outs = false;  // what is preempted; else it is run again
};

/// Preempts idle sequences while another one waits, and takes in fewer sequences than the clients may want at once, as
/// those that fork want two.
subject make_subject(const options& wanted);

}  // namespace cogen::soak
