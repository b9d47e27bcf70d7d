#pragma once

#include <cogen/detail/scheduler/types.hpp>

#include <cstdint>
#include <exception>

namespace cogen::scheduler {

/// The first breach of a policy's contract. After it the policies are asked no more, and runs are in order of arrival.
/// Recording a breach allocates nothing.
class policy_breach {
 public:
  explicit operator bool() const noexcept { return kind_ != kind::none; }

  // `member` is a literal: the function of the policy, with its class.

  void not_strict(const char* member, sequence_id a, sequence_id b) noexcept { record(kind::not_strict, member, a, b); }
  void order_changed(const char* member, sequence_id a, sequence_id b) noexcept {
    record(kind::order_changed, member, a, b);
  }
  void not_a_number(const char* member) noexcept { record(kind::not_a_number, member); }

  /// The result of `call`, or `otherwise` after a breach. An exception is a breach.
  template <class Result, class Call>
  Result guard(const char* member, Result otherwise, const Call& call) noexcept {
    if (*this) return otherwise;
    try {
      return call();
    } catch (...) {
      record(kind::threw, member);
      thrown_ = std::current_exception();
    }
    return otherwise;
  }

  /// Throws std::logic_error if there was a breach.
  void check() const;

 private:
  enum class kind : std::uint8_t { none, not_strict, order_changed, not_a_number, threw };

  void record(kind found, const char* member, sequence_id a = {}, sequence_id b = {}) noexcept;

  kind kind_ = kind::none;
  const char* member_ = "";
  sequence_id first_{};
  sequence_id second_{};
  std::exception_ptr thrown_;
};

}  // namespace cogen::scheduler
