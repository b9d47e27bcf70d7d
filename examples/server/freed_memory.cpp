#include "freed_memory.hpp"

namespace server {

void freed_memory::add(std::size_t bytes) {
  bytes_ += bytes;
  if (bytes_ < enough || waits_) return;
  waits_ = true;
  timer_.expires_after(delay_);
  timer_.async_wait([this](const boost::system::error_code& cancelled) {
    if (cancelled) return;
    waits_ = false;
    bytes_ = 0;
    give_back_();
  });
}

}  // namespace server
