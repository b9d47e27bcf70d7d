#pragma once

#include "engine/async/forkable_mutex.hpp"

#include <cogen/stream_group.hpp>

#include <boost/circular_buffer.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace cogen::detail {

class stream_state;

/// The reader of several streams. They tell it what they have, under their own locks, and it takes that as its handler
/// runs: a stream's lock may be held where this one's is taken, never the other way round.
class group_state final : public result_owner, public std::enable_shared_from_this<group_state> {
 public:
  using next_operation = operation<std::optional<stream_event>>;

  /// What a stream has for its reader.
  struct stream_offer {
    bool piece = false;
    bool progress = false;
    bool ended = false;   ///< and all its pieces are read
    bool failed = false;  ///< so, with an error

    explicit operator bool() const noexcept { return piece || progress || ended; }
  };

  explicit group_state(std::vector<std::shared_ptr<stream_state>> streams);  ///< throws std::invalid_argument for none

  /// Has the streams offer what they have. Once, when it is shared.
  void join_all();

  net::any_io_executor default_executor() const override;
  void cancel(const pending_operation& wait, net::cancellation_type type) noexcept override;
  void settle(pending_operation& called) noexcept override;

  // Operations of the handle.
  std::shared_ptr<next_operation> last_next() noexcept;  ///< the wait before, given away; may be null
  void start_next(std::shared_ptr<next_operation> wait, bool events);
  void abort() noexcept;

  /// A stream has something. Returns the operation that this completes, for the stream to post; else null.
  std::shared_ptr<pending_operation> offer(std::size_t index, const stream_offer& offered) noexcept;

  /// Whether an operation waits, or its handler has not run yet; one that wants progress, if asked for that.
  bool waits(bool for_progress) const noexcept;

 private:
  struct member {
    std::shared_ptr<stream_state> stream;
    bool listed = false;  ///< among those that may have something
    bool over = false;    ///< its end was given
  };

  void post(std::shared_ptr<next_operation> completed) noexcept;
  std::optional<std::size_t> take_listed() noexcept;
  bool wants_more() const noexcept;

  // Under the lock.
  void list(std::size_t index, bool first) noexcept;
  void end(member& entry) noexcept;
  void give_up() noexcept;

  mutable forkable_mutex mutex_;
  std::vector<member> members_;
  boost::circular_buffer<std::size_t> listed_;  // in the order in which they are asked
  std::size_t open_;                            // members whose end was not given
  std::shared_ptr<next_operation> next_;        // until its handler runs
  std::shared_ptr<next_operation> last_next_;
  std::size_t chosen_ = 0;  // the member that completed it
  bool events_ = false;     // whether it wants progress and ends
};

}  // namespace cogen::detail
