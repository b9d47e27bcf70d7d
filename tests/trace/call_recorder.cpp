#include "call_recorder.hpp"

#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <xray/xray_interface.h>

namespace cogen::trace {
namespace {

class recorder {
 public:
  void enter(std::int32_t function) {
    const std::lock_guard lock(mutex_);
    auto& open = open_[std::this_thread::get_id()];
    const auto caller = open.empty() ? std::nullopt : std::optional(open.back());
    const auto [found, is_new] = known_.try_emplace({caller, function}, calls_.size());
    if (is_new) calls_.push_back({function, caller});
    open.push_back(found->second);
  }

  /// A function that was left by an exception has ended unseen, before the one that called it.
  void leave(std::int32_t function) {
    const std::lock_guard lock(mutex_);
    auto& open = open_[std::this_thread::get_id()];
    auto depth = open.size();
    while (depth > 0 && calls_[open[depth - 1]].function != function) --depth;
    if (depth > 0) open.resize(depth - 1);
  }

  std::vector<call> take() {
    const std::lock_guard lock(mutex_);
    known_.clear();
    open_.clear();
    return std::exchange(calls_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<call> calls_;
  std::map<std::pair<std::optional<std::size_t>, std::int32_t>, std::size_t> known_;  // by caller and function
  std::map<std::thread::id, std::vector<std::size_t>> open_;  // calls that have not ended, the innermost last
};

recorder recorded;
thread_local bool is_recording = false;  // what the recorder itself calls is not recorded

[[clang::xray_never_instrument]] void take_event(std::int32_t function, XRayEntryType type) {
  if (is_recording) return;
  is_recording = true;
  if (type == XRayEntryType::ENTRY || type == XRayEntryType::LOG_ARGS_ENTRY)
    recorded.enter(function);
  else
    recorded.leave(function);
  is_recording = false;
}

[[clang::xray_never_instrument]] void begin() {
  __xray_init();
  if (!__xray_set_handler(take_event) || __xray_patch() != XRayPatchingStatus::SUCCESS)
    throw std::runtime_error("no function of this program can be traced");
}

[[clang::xray_never_instrument]] void end() {
  __xray_unpatch();
  __xray_remove_handler();
}

}  // namespace

[[clang::xray_never_instrument]] std::vector<call> record_calls(const std::function<void()>& work) {
  begin();
  try {
    work();
  } catch (...) {
    end();
    throw;
  }
  end();
  return recorded.take();
}

}  // namespace cogen::trace
