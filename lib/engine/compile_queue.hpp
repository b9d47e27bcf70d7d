#pragma once

#include "answers/grammar/bounded_work.hpp"
#include "engine/async/forkable_mutex.hpp"
#include "engine/compile_turns.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

namespace cogen::detail {

/// Runs what compiles formats, which may take seconds, on threads of its own and as compile_turns says. Any thread. Its
/// threads share it, since one may still look for a job when the last has ended.
class compile_queue : public std::enable_shared_from_this<compile_queue> {
 public:
  /// Does what it has to under the watch, which has it rest, and ends it by throwing a generation_error: then it was
  /// not wanted any more, gives way to others, or takes too much memory.
  using job = std::function<void(grammar::work_watch&)>;

  /// `at_once`: jobs run where they are put. Another `long_time` is for tests.
  explicit compile_queue(bool at_once, compile_turns::time long_time = compile_turns::long_time)
      : at_once_(at_once), long_time_(long_time) {}
  compile_queue(const compile_queue&) = delete;
  compile_queue& operator=(const compile_queue&) = delete;

  /// A job keeps alive whoever owns the queue, and `unwanted`, which any thread may set; it does not throw. Throws
  /// std::bad_alloc, and has then kept nothing.
  void put(std::uint64_t tenant, const std::atomic<bool>& unwanted, job task);

  /// Runs it like the others, and waits for its end.
  void run(std::uint64_t tenant, job task);

  std::size_t size() const;  ///< jobs that wait or run; none where they run at once

 private:
  using lock = std::unique_lock<forkable_mutex>;
  class watched_turn;

  struct entry {
    job task;
    const std::atomic<bool>* unwanted;
    compile_turns::job name = 0;
  };

  void put(std::uint64_t tenant, std::list<entry> added);
  void start_threads(std::size_t idle = 0) noexcept;
  void work() noexcept;
  void run(const entry& item) noexcept;
  void check(compile_turns::job name, compile_turns::time processor, bool measures);
  std::int64_t growth() noexcept;

  const bool at_once_;
  const compile_turns::time long_time_;
  const unsigned process_ = process_generation();
  mutable forkable_mutex mutex_;  // guards everything below
  std::condition_variable_any turned_;
  compile_turns turns_{long_time_};
  std::list<entry> waiting_;
  std::size_t threads_ = 0;
  std::size_t starting_ = 0;    // of those, how many have no job yet
  std::size_t last_bytes_ = 0;  // of the process
};

}  // namespace cogen::detail
