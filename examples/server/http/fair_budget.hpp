#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

namespace server::http {

namespace net = boost::asio;

/// An amount, such as bytes, that clients share: none gets more than it leaves free, so that there is some for one that
/// comes later, and those that wait get theirs in turn. For one thread.
class fair_budget {
 public:
  explicit fair_budget(std::uint64_t limit) noexcept : limit_(limit) {}

  std::uint64_t limit() const noexcept { return limit_; }
  std::uint64_t taken() const noexcept { return taken_; }

 private:
  friend class budget_share;

  class waiter;
  struct account {
    std::uint64_t turn = 0;  // when it last got something; the least comes first
    std::uint64_t taken = 0;
    std::deque<waiter*> waiting = {};  // the first one waits longest
  };
  using account_map = std::map<std::string, account>;

  account& account_of(const std::string& client);
  bool fits(const account& owner, std::uint64_t amount) const noexcept;
  bool take(const std::string& client, std::uint64_t amount);
  void give_back(const std::string& client, std::uint64_t amount) noexcept;
  void leave(const std::string& client, const waiter& entry) noexcept;
  void forget_if_empty(account_map::iterator entry) noexcept;
  void serve(account& owner, std::uint64_t amount) noexcept;
  void serve_waiting() noexcept;
  account* next_in_turn() noexcept;  // null: none that may be served waits

  const std::uint64_t limit_;
  std::uint64_t taken_ = 0;
  account_map accounts_;         // that have something, or wait
  std::uint64_t last_turn_ = 1;  // when anyone got something; a new account comes before that one, after all others
};

/// What one client has of a budget, for as long as it lives.
class budget_share {
 public:
  using time_point = net::steady_timer::time_point;

  budget_share() = default;  ///< without a budget: there is always enough
  budget_share(std::shared_ptr<fair_budget> budget, std::string client) noexcept
      : budget_(std::move(budget)), client_(std::move(client)) {}
  budget_share(budget_share&& other) noexcept { *this = std::move(other); }
  budget_share& operator=(budget_share&& other) noexcept;
  ~budget_share() { release(); }

  bool take(std::uint64_t more);  ///< false: the client may not have so much, and has as much as before

  /// Waits for it in the client's turn. False: it has not come by then. Throws boost::system::system_error if it is
  /// cancelled.
  net::awaitable<bool> async_take(std::uint64_t more, time_point deadline = time_point::max());

  void keep(std::uint64_t most) noexcept;  ///< gives back what is beyond

 private:
  friend class fair_budget;

  void release() noexcept { keep(0); }

  std::shared_ptr<fair_budget> budget_;
  std::string client_;
  std::uint64_t taken_ = 0;
};

/// Bytes of one thing that count against a budget, except for the first ones: so that large things keep no small one
/// out.
class counted_bytes {
 public:
  static constexpr std::uint64_t uncounted = 64 << 10;

  counted_bytes() = default;  ///< without a budget
  counted_bytes(std::shared_ptr<fair_budget> budget, std::string client) noexcept
      : share_(std::move(budget), std::move(client)) {}

  bool grow_to(std::uint64_t bytes);  ///< false: the budget has no room for them
  net::awaitable<bool> async_grow_to(std::uint64_t bytes, budget_share::time_point deadline);
  void shrink_to(std::uint64_t bytes) noexcept;

 private:
  static std::uint64_t counted_of(std::uint64_t bytes) noexcept { return bytes > uncounted ? bytes - uncounted : 0; }
  std::uint64_t more_of(std::uint64_t bytes) const noexcept;

  budget_share share_;
  std::uint64_t counted_ = 0;
};

}  // namespace server::http
