#include "engine/compile_queue.hpp"

#include "engine/async/joined_threads.hpp"

#include <cogen/error.hpp>
#include <cogen/fwd.hpp>

#include <boost/asio/error.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <malloc.h>
#include <memory>
#include <utility>

namespace cogen::detail {
namespace {

/// What ends a job that exceeds no bound of its own.
class interruption final : public generation_error, public grammar::work_interrupted {
 public:
  using generation_error::generation_error;
};

/// Bytes by which a job makes the process grow before what it has freed is given back to the system.
constexpr std::size_t large_growth = std::size_t{64} << 20;

/// Between two looks at the memory.
constexpr compile_turns::time measuring_pause(5);

/// Of a job that runs where it was put: ends it when it is not wanted any more.
class lone_watch : public grammar::work_watch {
 public:
  explicit lone_watch(const std::atomic<bool>* unwanted) : unwanted_(unwanted) {}

  void check() override {
    if (unwanted_ && unwanted_->load(std::memory_order_relaxed))
      throw interruption(diagnostics(net::error::operation_aborted));
  }

 private:
  const std::atomic<bool>* const unwanted_;
};

[[noreturn]] void give_way(compile_turns::time long_time) {
  throw interruption(
      {error::queue_full, fmt::format("compiling the response format has taken {} ms, and others wait; try again later",
                                      long_time.count())});
}

[[noreturn]] void free_memory(bool is_alone) {
  if (is_alone)
    throw grammar::work_error(
        fmt::format("compiling the response format takes more than {} bytes of memory", compile_turns::max_bytes));
  throw interruption({error::queue_full,
                      fmt::format("the response formats that are compiled take more than {} bytes of memory, and this "
                                  "one the most; try again later",
                                  compile_turns::max_bytes)});
}

}  // namespace

/// Of a job that takes turns.
class compile_queue::watched_turn final : public lone_watch {
 public:
  watched_turn(compile_queue& queue, const entry& item) : lone_watch(item.unwanted), queue_(queue), name_(item.name) {}

  bool bounds_memory() const noexcept override { return true; }

  void check() override {
    lone_watch::check();
    const auto took = grammar::thread_time() - begin_;
    const bool measures = took >= measured_ + measuring_pause;
    if (measures) measured_ = took;
    queue_.check(name_, took, measures);
  }

 private:
  compile_queue& queue_;
  const compile_turns::job name_;
  const compile_turns::time begin_ = grammar::thread_time();
  compile_turns::time measured_{0};
};

void compile_queue::put(std::uint64_t tenant, const std::atomic<bool>& unwanted, job task) {
  std::list<entry> added;
  added.push_back({std::move(task), &unwanted});
  put(tenant, std::move(added));
}

void compile_queue::run(std::uint64_t tenant, job task) {
  const auto end = std::make_shared<std::promise<void>>();
  std::list<entry> added;
  added.push_back({[task = std::move(task), end](grammar::work_watch& watch) {
                     task(watch);
                     end->set_value();
                   },
                   nullptr});
  put(tenant, std::move(added));
  end->get_future().wait();
}

std::size_t compile_queue::size() const {
  const lock held(mutex_);
  return waiting_.size() + turns_.places();
}

void compile_queue::put(std::uint64_t tenant, std::list<entry> added) {
  if (at_once_ || process_ != process_generation()) {
    lone_watch watch(added.front().unwanted);
    return added.front().task(watch);
  }
  lock held(mutex_);
  added.front().name = turns_.put(tenant);
  waiting_.splice(waiting_.end(), added);
  start_threads();
  if (threads_ > 0) return;
  ++threads_;
  ++starting_;
  held.unlock();
  work();  // here, since there is no memory for a thread
}

/// One for each job that can have a place, but for those that `idle` threads will take. Without memory for it the
/// threads that there are take all.
void compile_queue::start_threads(std::size_t idle) noexcept try {
  while (turns_.placeable() > starting_ + idle) {
    run_joined([self = shared_from_this()] { self->work(); });
    ++threads_;
    ++starting_;
  }
} catch (const std::exception&) {
}

/// Runs jobs until none can have a place. The last one may be what holds the queue's owner.
void compile_queue::work() noexcept {
  std::list<entry> own;
  lock held(mutex_);
  --starting_;
  while (const auto next = turns_.place_next()) {
    std::list<entry> taken;
    taken.splice(taken.end(), waiting_, std::ranges::find(waiting_, *next, &entry::name));
    start_threads();
    held.unlock();
    own = std::move(taken);
    run(own.front());
    held.lock();
    growth();
    turns_.end(*next);
    start_threads(1);
    turned_.notify_all();
  }
  --threads_;
  held.unlock();
}

void compile_queue::run(const entry& item) noexcept {
  {
    lock held(mutex_);
    turned_.wait(held, [&] { return turns_.runs(item.name); });
    if (turns_.running() == 1) growth();
  }
  const auto previous = grammar::bytes_of_process();
  watched_turn watch(*this, item);
  item.task(watch);
  if (grammar::bytes_of_process() > previous + large_growth) ::malloc_trim(0);
}

void compile_queue::check(compile_turns::job name, compile_turns::time processor, bool measures) {
  lock held(mutex_);
  const auto ran = turns_.running();
  const auto order = turns_.used(name, processor, measures ? growth() : 0);
  if (order == compile_turns::order::rest || turns_.running() > ran) turned_.notify_all();
  start_threads();
  if (order == compile_turns::order::give_way) give_way(long_time_);
  if (order == compile_turns::order::free_memory) free_memory(turns_.places() == 1);
  if (order != compile_turns::order::rest) return;
  turned_.wait(held, [&] { return turns_.runs(name); });
  if (turns_.running() == 1) growth();
}

/// Bytes by which the process has grown since the last call. What grew while nothing ran is nobody's, nor is what one
/// frees as it ends.
std::int64_t compile_queue::growth() noexcept {
  const auto now = grammar::bytes_of_process();
  return static_cast<std::int64_t>(now) - static_cast<std::int64_t>(std::exchange(last_bytes_, now));
}

}  // namespace cogen::detail
