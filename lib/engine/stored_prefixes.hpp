#pragma once

#include "engine/request_state.hpp"
#include "engine/snapshot/prefix_directory.hpp"

#include <list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace cogen::detail {

class engine_loop;

/// Restores prefixes from a directory while requests wait for them, and saves what is kept when the engine ends. Used
/// on the engine thread, unless noted.
class stored_prefixes {
 public:
  /// The loop must outlive this object. Throws std::invalid_argument if the directory cannot be used, or the engine's
  /// runner provides no snapshots.
  explicit stored_prefixes(engine_loop& loop);

  /// Begins to restore what the request begins with, if the directory has at least a block more of it than slots do.
  /// True if the request has to wait for that; it is enqueued once that is over.
  bool restore(std::span<const token> prompt, const scheduler::cache_salt& salt,
               const std::shared_ptr<request_state>& waiter);

  bool waits(const request_state& request) const;

  /// A transfer of the scheduler's has ended.
  void on_swap_done(scheduler::swap_id name);

  /// Writes the copies that have ended without an error.
  void save(std::span<const scheduler::cached_prefix> copies, runner& source);

  /// Fails what still waits.
  void fail(const diagnostics& why) noexcept;

 private:
  struct restoring {
    std::shared_ptr<const stored_prefix> source;
    std::vector<std::shared_ptr<request_state>> waiters;
    std::optional<scheduler::swap_id> name = {};  ///< once it was read
  };
  using place = std::list<restoring>::iterator;

  void read(place position);
  void fill(place position, read_session found);
  void lose(place position, const diagnostics& why);
  void end(place position);

  engine_loop& loop_;
  prefix_directory directory_;
  std::list<restoring> restoring_;
};

}  // namespace cogen::detail
