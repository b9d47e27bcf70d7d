#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace server {

namespace net = boost::asio;

/// Sessions on their way to clients, to files and back. Each takes as much memory as the cache of a sequence, for as
/// long as its client likes. Those that may not begin yet wait, and begin in the order in which they came. For one
/// thread.
class session_transfers {
 public:
  static constexpr int max_of_tenant = 2;  ///< at once
  static constexpr int max_at_once = 4;    ///< of all tenants; but one that has none need not wait for others

  class place;

  /// With another limit for a tenant.
  explicit session_transfers(const net::any_io_executor& executor, int tenant_limit = max_of_tenant);

  /// Waits until the tenant may begin one more.
  net::awaitable<place> async_begin(std::uint64_t tenant);

 private:
  struct state;

  std::shared_ptr<state> state_;
};

/// A transfer that has begun, until it is destroyed.
class session_transfers::place {
 public:
  place(std::shared_ptr<state> owner, std::uint64_t tenant) noexcept : owner_(std::move(owner)), tenant_(tenant) {}
  place(place&&) noexcept = default;
  place& operator=(place&&) = delete;
  ~place();

 private:
  std::shared_ptr<state> owner_;
  std::uint64_t tenant_;
};

}  // namespace server
