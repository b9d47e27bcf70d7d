#include "http/handshake_turns.hpp"

#include "http/closed_peer.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <limits>
#include <utility>

namespace server::http {

/// A turn that is waited for, as long as this lives.
class handshake_turn::waiter {
 public:
  explicit waiter(handshake_turn& turn) : turn_(turn) {
    turn_.has_come_ = false;
    turn_.turns_->add(turn_);
  }
  waiter(const waiter&) = delete;
  waiter& operator=(const waiter&) = delete;
  ~waiter() {
    if (!turn_.has_come_) turn_.turns_->remove(turn_);
  }

 private:
  handshake_turn& turn_;
};

void handshake_turns::add(handshake_turn& waiting) {
  call(waiting.socket_.get_executor());
  waiting_.emplace(waiting.place_, &waiting);
}

void handshake_turns::remove(const handshake_turn& waiting) noexcept { waiting_.erase(waiting.place_); }

/// The next turn comes behind all that is ready.
void handshake_turns::call(const net::any_io_executor& executor) {
  if (!called_) net::post(executor, [self = shared_from_this()] { self->go_on(); });
  called_ = true;
}

void handshake_turns::go_on() {
  called_ = false;
  bool is_over = true;
  for (int ended = 0; is_over && ended < max_ended && !waiting_.empty(); ++ended) {
    auto& next = take_next();
    is_over = next.is_over();
    next.has_come_ = true;
    next.wake_.cancel();
  }
  if (!waiting_.empty()) call(waiting_.begin()->second->socket_.get_executor());
}

handshake_turn& handshake_turns::take_next() {
  auto next = waiting_.upper_bound({last_, std::numeric_limits<std::uint64_t>::max()});
  if (next == waiting_.end()) next = waiting_.begin();
  last_ = next->first.first;
  auto& turn = *next->second;
  waiting_.erase(next);
  return turn;
}

handshake_turn::handshake_turn(std::shared_ptr<handshake_turns> turns, net::ip::tcp::socket& socket,
                               std::string network)
    : turns_(std::move(turns)),
      socket_(socket),
      place_(std::move(network), turns_->count_++),
      wake_(socket.get_executor(), net::steady_timer::time_point::max()) {}

net::awaitable<void> handshake_turn::async_wait() {
  co_await socket_.async_wait(net::ip::tcp::socket::wait_read, net::use_awaitable);
  {
    const waiter waiting(*this);
    boost::system::error_code woken;
    co_await wake_.async_wait(net::redirect_error(net::use_awaitable, woken));
  }
  if (!has_come_) throw boost::system::system_error(net::error::operation_aborted);
  if (is_over()) throw boost::system::system_error(net::error::eof);
}

void handshake_turn::cancel() noexcept { wake_.cancel(); }

bool handshake_turn::is_over() const noexcept { return !answered_ && peer_has_closed(socket_); }

}  // namespace server::http
