#pragma once

#include "http/exchange.hpp"

#include <string>

namespace server::http {

/// An answer in JSON that is written while it is made: whole if it is short, otherwise in parts, each of which is made
/// when the client has taken those before.
class growing_answer {
 public:
  static constexpr std::size_t part_bytes = 64 << 10;

  explicit growing_answer(exchange& client) noexcept : client_(client) {}

  std::string& text() noexcept { return text_; }                        ///< what comes next is appended
  bool is_full() const noexcept { return text_.size() >= part_bytes; }  ///< whether to flush
  net::awaitable<void> flush();
  net::awaitable<void> end();

 private:
  exchange& client_;
  std::string text_;
};

}  // namespace server::http
