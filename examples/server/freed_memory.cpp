#include "freed_memory.hpp"

namespace server {

void freed_memory::add(std::size_t bytes) {
  bytes_ += bytes;
  if (bytes_ >= enough && !first_waits_) wait_for_first();
}

void freed_memory::wait_for_first() {
  first_waits_ = true;
  timer_.expires_after(first_delay_);  // a second one that waits is not needed any more
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (cancelled) return;
    first_waits_ = false;
    bytes_ = 0;
    give_back_();
    wait_for_second();
  });
}

void freed_memory::wait_for_second() {
  timer_.expires_after(second_delay_);
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (!cancelled) give_back_();
  });
}

}  // namespace server
