#pragma once

#include <cogen/tool_call.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cogen::response {

/// Collects what is read of calls.
class call_writer {
 public:
  void begin() {
    ++index_;
    open_ = true;
    deltas_.push_back({.index = index_});
  }

  /// Of the call that is open; otherwise one begins.
  void name(std::string_view text) { current().name += text; }
  void id(std::string_view text) { current().id += text; }
  void arguments(std::string_view text) { current().arguments += text; }
  void end(tool_call_status status) {
    current().status = status;
    open_ = false;
    ++ended_;
  }

  bool is_open() const noexcept { return open_; }
  int ended() const noexcept { return ended_; }  ///< how many calls have

  std::vector<tool_call_delta> take() { return std::exchange(deltas_, {}); }

 private:
  tool_call_delta& current() {
    if (!open_) begin();
    if (deltas_.empty() || deltas_.back().index != index_) deltas_.push_back({.index = index_});
    return deltas_.back();
  }

  std::vector<tool_call_delta> deltas_;
  int index_ = -1;
  int ended_ = 0;
  bool open_ = false;
};

}  // namespace cogen::response
