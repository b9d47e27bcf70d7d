#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

namespace cogen::parallel {

/// Those who want to know when the first rank has failed. Thread-safe.
class watchers {
 public:
  using watcher = std::function<void(const std::string& why)>;

  /// `failed` is called once, until the result is destroyed: in tell(), or at once where that has been called. It must
  /// not destroy the result itself. This object outlives the result.
  std::shared_ptr<void> add(watcher failed);

  /// Only the first call counts.
  void tell(const std::string& why) noexcept;

  bool empty() const;

 private:
  mutable std::mutex mutex_;
  std::list<watcher> entries_;
  std::string why_;  // empty: none has failed
};

}  // namespace cogen::parallel
