#include "thread_transport.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

namespace cogen::test {

class thread_transport final : public parallel::transport {
 public:
  thread_transport(thread_ranks& between, int rank) : between_(between), rank_(rank) {}

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return between_.size(); }

  void exchange(std::span<const parallel::outgoing> out, std::span<const parallel::incoming> in) override {
    if (!error_.empty()) throw parallel::rank_error(error_);
    try {
      if (between_.before_exchange) between_.before_exchange(rank_, ++exchanges_);
      for (const auto& each : out) between_.put(rank_, each.receiver, each.bytes);
      for (const auto& each : in) receive(each);
    } catch (const std::exception& error) {
      error_ = error.what();
      throw;
    }
  }

  void fail(const std::string& why) noexcept override { between_.fail(rank_, why); }
  void fail_soon(std::string_view why) noexcept override { fail(std::string(why)); }
  std::shared_ptr<void> watch(std::function<void(const std::string& why)> failed) override {
    return between_.watchers_.add(std::move(failed));
  }

 private:
  void receive(const parallel::incoming& expected) {
    const auto message = between_.take(expected.sender, rank_);
    if (message.size() != expected.bytes.size())
      throw parallel::rank_error(fmt::format("rank {} sent {} bytes where {} were expected", expected.sender,
                                             message.size(), expected.bytes.size()));
    std::ranges::copy(message, expected.bytes.begin());
  }

  thread_ranks& between_;
  int rank_;
  int exchanges_ = 0;
  std::string error_;
};

std::shared_ptr<parallel::transport> thread_ranks::transport(int rank) {
  return std::make_shared<thread_transport>(*this, rank);
}

void thread_ranks::put(int source, int target, std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  sent_[{source, target}].emplace(bytes.begin(), bytes.end());
  changed_.notify_all();
}

thread_ranks::message thread_ranks::take(int source, int target) {
  std::unique_lock lock(mutex_);
  auto& messages = sent_[{source, target}];
  const auto failed = [&] { return std::ranges::find_if(failures_, [](const auto& why) { return !why.empty(); }); };
  changed_.wait(lock, [&] { return !messages.empty() || failed() != failures_.end(); });
  if (messages.empty())
    throw parallel::rank_error(fmt::format("rank {} has failed: {}", failed() - failures_.begin(), *failed()));
  auto first = std::move(messages.front());
  messages.pop();
  return first;
}

void thread_ranks::fail(int rank, const std::string& why) {
  const std::lock_guard lock(mutex_);
  auto& own = failures_[static_cast<std::size_t>(rank)];
  if (own.empty()) own = why.empty() ? "unknown" : why;
  changed_.notify_all();
  watchers_.tell(fmt::format("rank {} has failed: {}", rank, own));
}

void run_ranks(thread_ranks& ranks, const std::function<void(std::shared_ptr<parallel::transport>)>& run) {
  std::exception_ptr first;
  std::mutex mutex;
  const auto run_rank = [&](int rank) {
    const auto own = ranks.transport(rank);
    try {
      run(own);
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
      own->fail(error.what());
    }
  };
  std::vector<std::thread> threads;
  for (int rank = 1; rank < ranks.size(); ++rank) threads.emplace_back(run_rank, rank);
  run_rank(0);
  for (auto& each : threads) each.join();
  if (first) std::rethrow_exception(first);
}

void run_ranks(int count, const std::function<void(std::shared_ptr<parallel::transport>)>& run) {
  thread_ranks ranks(count);
  run_ranks(ranks, run);
}

}  // namespace cogen::test
