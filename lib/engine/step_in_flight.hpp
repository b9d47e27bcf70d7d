#pragma once

#include "engine/request_state.hpp"
#include "engine/sampling_state.hpp"

#include <cogen/extend/runner.hpp>
#include <cogen/metrics.hpp>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace cogen::detail {

/// A step from its planning to its delivery, with the requests of its rows and what the event sink gets to know of it.
class step_in_flight : public step {
 public:
  using step::step;

  /// Adds the request of `row`, the next of the rows, and how it is sampled. It lives at least until clear().
  void add_request(const scheduler::row& row, std::shared_ptr<request_state> request) {
    request->sampling()->fill(*this, row);
    has_outputs_ |= row.scored || sampling.rows.back().masks;
    requests_.push_back(std::move(request));
  }

  /// Whether a row has scores, or a guide that follows what it sampled.
  bool has_outputs() const noexcept { return has_outputs_; }

  /// The request of a row; null if it has left meanwhile.
  request_state* request_of(std::size_t row) const noexcept {
    auto* const request = requests_[row].get();
    return request->is_registered_as(rows[row].sequence) ? request : nullptr;
  }

  /// Empties the step and keeps its memory.
  void clear() noexcept {
    step::clear();
    requests_.clear();
    has_outputs_ = false;
  }

  step_event event{};  ///< complete once the step has been executed

 private:
  std::vector<std::shared_ptr<request_state>> requests_;
  bool has_outputs_ = false;
};

}  // namespace cogen::detail
