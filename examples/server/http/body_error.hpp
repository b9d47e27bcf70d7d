#pragma once

#include <stdexcept>
#include <string>

namespace server::http {

/// A body, of a request or an answer, that cannot be had, and the status and the message that say why.
class body_error : public std::runtime_error {
 public:
  body_error(int status, const std::string& message) : std::runtime_error(message), status_(status) {}
  int status() const noexcept { return status_; }

 private:
  int status_;
};

}  // namespace server::http
