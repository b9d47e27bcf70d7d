#pragma once

#include "network/parallel/transport.hpp"
#include "network/parallel/watchers.hpp"

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <queue>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cogen::test {

/// Ranks that are threads of this program, and what is on its way between them.
class thread_ranks {
 public:
  explicit thread_ranks(int count) : failures_(static_cast<std::size_t>(count)) {}

  std::shared_ptr<parallel::transport> transport(int rank);
  int size() const { return static_cast<int>(failures_.size()); }

  /// Called with rank and number of each exchange() before it begins, from 1: may throw, and then the rank has failed.
  std::function<void(int rank, int exchange)> before_exchange;

 private:
  friend class thread_transport;
  using message = std::vector<std::byte>;

  void put(int source, int target, std::span<const std::byte> bytes);
  message take(int source, int target);
  void fail(int rank, const std::string& why);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<int, int>, std::queue<message>> sent_;
  parallel::watchers watchers_;        // of all ranks
  std::vector<std::string> failures_;  // of each rank; empty: it goes on
};

/// Calls run(TRANSPORT) for each of `count` ranks on a thread of its own, rank 0 on this one. What a rank throws,
/// others get to know; of the first rank that has thrown it is thrown again.
void run_ranks(int count, const std::function<void(std::shared_ptr<parallel::transport>)>& run);
void run_ranks(thread_ranks& ranks, const std::function<void(std::shared_ptr<parallel::transport>)>& run);

}  // namespace cogen::test
