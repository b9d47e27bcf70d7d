#pragma once

#include <cogen/engine_options.hpp>
#include <cogen/load/sha256.hpp>
#include <cogen/scheduler/scheduler.hpp>

#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

namespace cogen::detail {

/// Tells a kv_event_sink which blocks a scheduler's slots hold, by comparing them with what they held before. The
/// engine thread only.
class kv_block_events {
 public:
  using log = std::function<void(std::string_view message, const std::exception_ptr& why)>;

  /// `plans` must outlive this object; it has so many slots. If the sink throws, or memory runs out, the exception goes
  /// to `log`, and the sink is released.
  kv_block_events(const kv_options& options, const scheduler::scheduler& plans, int slots, log log);

  /// Reports what has changed since the last call. Does nothing without a sink.
  void report() noexcept {
    if (sink_) compare();
  }

 private:
  struct holding {
    scheduler::shareable_prefix prefix;
    std::vector<load::sha256_digest> blocks;
  };

  void compare() noexcept;
  void look_at(int slot);
  void store(holding& held);
  void remove_left();

  std::shared_ptr<kv_event_sink> sink_;
  const std::size_t block_size_;
  const scheduler::scheduler& plans_;
  const log log_;
  std::vector<holding> slots_;
  std::map<load::sha256_digest, int> holders_;  // of each block: slots
  std::vector<load::sha256_digest> left_;       // blocks that slots hold no more, by slot the last one first
  std::vector<kv_event> batch_;
};

}  // namespace cogen::detail
