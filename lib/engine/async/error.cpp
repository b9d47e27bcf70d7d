#include <cogen/error.hpp>

#include <new>
#include <utility>

namespace cogen {
namespace {

class cogen_category final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "cogen"; }

  std::string message(int value) const override {
    switch (static_cast<error>(value)) {
      case error::invalid_request:
        return "the request is invalid";
      case error::does_not_fit:
        return "the request does not fit";
      case error::queue_full:
        return "the engine has no room for one more sequence";
      case error::operation_in_progress:
        return "another operation of this handle is pending";
      case error::timed_out:
        return "nothing came within the time given";
      case error::bad_logits:
        return "the model produced logits from which no token can be sampled";
      case error::callback_threw:
        return "the request's logits processor threw";
      case error::out_of_memory:
        return "memory for the request was refused";
      case error::engine_stopped:
        return "the engine was stopped";
      case error::device_failed:
        return "a step of the engine failed";
      case error::deadline_unreachable:
        return "it would have ended after its deadline";
      case error::deadline_exceeded:
        return "no token came by the time the request names";
      case error::draining:
        return "the engine is draining";
      case error::bad_session:
        return "the session cannot be opened";
    }
    return "unknown error of cogen";
  }
};

}  // namespace

const boost::system::error_category& category() noexcept {
  static const cogen_category instance;
  return instance;
}

error_code make_error_code(error value) noexcept { return {static_cast<int>(value), category()}; }

diagnostics::diagnostics(error_code code, std::string_view message) noexcept : code_(code) {
  try {
    message_ = std::make_shared<const std::string>(message);
  } catch (const std::bad_alloc&) {
  }
}

std::string diagnostics::message() const {
  if (message_) return *message_;
  return code_ ? code_.message() : std::string();
}

generation_error::generation_error(diagnostics why) : system_error(why.code()), why_(std::move(why)) {
  if (!why_.message_) why_.message_ = std::make_shared<const std::string>(why_.message());
}

const char* generation_error::what() const noexcept { return why_.message_->c_str(); }

}  // namespace cogen
