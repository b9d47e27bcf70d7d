#include "http/fair_budget.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <utility>

namespace server::http {

/// A share that waits for more, for as long as this lives.
class fair_budget::waiter {
 public:
  waiter(budget_share& holder, std::uint64_t more, net::steady_timer& woken)
      : share(holder), amount(more), wake(woken) {
    share.budget_->account_of(share.client_).waiting.push_back(this);
  }
  waiter(const waiter&) = delete;
  waiter& operator=(const waiter&) = delete;
  ~waiter() {
    if (!has_it) share.budget_->leave(share.client_, *this);
  }

  budget_share& share;
  const std::uint64_t amount;
  net::steady_timer& wake;
  bool has_it = false;
};

fair_budget::account& fair_budget::account_of(const std::string& client) {
  const auto [entry, is_new] = accounts_.try_emplace(client);
  if (is_new) entry->second.turn = last_turn_ - 1;
  return entry->second;
}

bool fair_budget::fits(const account& owner, std::uint64_t amount) const noexcept {
  const auto free = limit_ - taken_;
  return amount <= free && owner.taken <= free - amount;
}

bool fair_budget::take(const std::string& client, std::uint64_t amount) {
  auto& own = account_of(client);
  const bool may = own.waiting.empty() && fits(own, amount);
  if (may) serve(own, amount);
  forget_if_empty(accounts_.find(client));
  return may;
}

void fair_budget::give_back(const std::string& client, std::uint64_t amount) noexcept {
  const auto own = accounts_.find(client);
  own->second.taken -= amount;
  taken_ -= amount;
  forget_if_empty(own);
  serve_waiting();
}

void fair_budget::leave(const std::string& client, const waiter& entry) noexcept {
  const auto own = accounts_.find(client);
  std::erase(own->second.waiting, &entry);
  forget_if_empty(own);
  serve_waiting();
}

void fair_budget::forget_if_empty(account_map::iterator entry) noexcept {
  if (entry->second.taken == 0 && entry->second.waiting.empty()) accounts_.erase(entry);
}

void fair_budget::serve(account& owner, std::uint64_t amount) noexcept {
  owner.turn = last_turn_ += 2;
  owner.taken += amount;
  taken_ += amount;
}

void fair_budget::serve_waiting() noexcept {
  while (auto* const own = next_in_turn()) {
    auto& first = *own->waiting.front();
    own->waiting.pop_front();
    serve(*own, first.amount);
    first.share.taken_ += first.amount;
    first.has_it = true;
    first.wake.cancel();
  }
}

fair_budget::account* fair_budget::next_in_turn() noexcept {
  account* next = nullptr;
  for (auto& [client, account] : accounts_) {
    const bool may = !account.waiting.empty() && fits(account, account.waiting.front()->amount);
    if (may && (!next || account.turn < next->turn)) next = &account;
  }
  return next;
}

budget_share& budget_share::operator=(budget_share&& other) noexcept {
  if (this == &other) return *this;
  release();
  budget_ = std::move(other.budget_);
  client_ = std::move(other.client_);
  taken_ = std::exchange(other.taken_, 0);
  return *this;
}

bool budget_share::take(std::uint64_t more) {
  if (!budget_ || more == 0) return true;
  const bool may = budget_->take(client_, more);
  if (may) taken_ += more;
  return may;
}

net::awaitable<bool> budget_share::async_take(std::uint64_t more, time_point deadline) {
  if (take(more)) co_return true;
  net::steady_timer wake(co_await net::this_coro::executor, deadline);
  const fair_budget::waiter place(*this, more, wake);
  boost::system::error_code woken;
  co_await wake.async_wait(net::redirect_error(net::use_awaitable, woken));
  if ((co_await net::this_coro::cancellation_state).cancelled() != net::cancellation_type::none)
    throw boost::system::system_error(net::error::operation_aborted);
  co_return place.has_it;
}

void budget_share::keep(std::uint64_t most) noexcept {
  if (budget_ && taken_ > most) budget_->give_back(client_, std::exchange(taken_, most) - most);
}

std::uint64_t counted_bytes::more_of(std::uint64_t bytes) const noexcept {
  const auto counted = counted_of(bytes);
  return counted > counted_ ? counted - counted_ : 0;
}

bool counted_bytes::grow_to(std::uint64_t bytes) {
  const auto more = more_of(bytes);
  const bool may = share_.take(more);
  if (may) counted_ += more;
  return may;
}

net::awaitable<bool> counted_bytes::async_grow_to(std::uint64_t bytes, budget_share::time_point deadline) {
  const auto more = more_of(bytes);
  const bool may = co_await share_.async_take(more, deadline);
  if (may) counted_ += more;
  co_return may;
}

void counted_bytes::shrink_to(std::uint64_t bytes) noexcept {
  counted_ = std::min(counted_, counted_of(bytes));
  share_.keep(counted_);
}

}  // namespace server::http
