#include "session_transfers.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <list>
#include <map>
#include <optional>

namespace server {

struct session_transfers::state : std::enable_shared_from_this<state> {
  struct waiter {
    std::uint64_t tenant;
    net::steady_timer wake;
    std::optional<place> given = {};
  };

  /// Keeps a waiter in the queue until it is given its place, or gone.
  class queued {
   public:
    queued(state& owner, waiter& entry) : owner_(owner), entry_(entry) { owner_.queue.push_back(&entry_); }
    queued(const queued&) = delete;
    queued& operator=(const queued&) = delete;
    ~queued() { owner_.queue.remove(&entry_); }

   private:
    state& owner_;
    waiter& entry_;
  };

  state(net::any_io_executor where, int tenant_limit) : executor(std::move(where)), limit_of_tenant(tenant_limit) {}

  bool may_begin(std::uint64_t tenant) const {
    const auto own = running.find(tenant);
    return own == running.end() || (own->second < limit_of_tenant && count < max_at_once);
  }

  void begin_those_that_may() {
    for (auto next = queue.begin(); next != queue.end();) {
      auto& entry = **next;
      if (!may_begin(entry.tenant)) {
        ++next;
        continue;
      }
      next = queue.erase(next);
      ++running[entry.tenant];
      ++count;
      entry.given.emplace(shared_from_this(), entry.tenant);
      entry.wake.cancel();
    }
  }

  void end(std::uint64_t tenant) {
    --count;
    if (--running[tenant] == 0) running.erase(tenant);
    begin_those_that_may();
  }

  const net::any_io_executor executor;
  const int limit_of_tenant;
  std::list<waiter*> queue;
  std::map<std::uint64_t, int> running;
  int count = 0;
};

session_transfers::place::~place() {
  if (owner_) owner_->end(tenant_);
}

session_transfers::session_transfers(const net::any_io_executor& executor, int tenant_limit)
    : state_(std::make_shared<state>(executor, tenant_limit)) {}

net::awaitable<session_transfers::place> session_transfers::async_begin(std::uint64_t tenant) {
  const auto owner = state_;
  state::waiter own{tenant, net::steady_timer(owner->executor, net::steady_timer::time_point::max())};
  const state::queued kept(*owner, own);
  owner->begin_those_that_may();
  while (!own.given) {
    boost::system::error_code woken;
    co_await own.wake.async_wait(net::redirect_error(net::use_awaitable, woken));
    const auto cancelled = co_await net::this_coro::cancellation_state;
    if (cancelled.cancelled() != net::cancellation_type::none)
      throw boost::system::system_error(net::error::operation_aborted);
  }
  co_return *std::move(own.given);
}

}  // namespace server
