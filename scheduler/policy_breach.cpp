#include "policy_breach.hpp"

#include <stdexcept>
#include <string>

namespace cogen::scheduler {
namespace {

std::string number(sequence_id id) { return std::to_string(static_cast<std::uint64_t>(id)); }

std::string message_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception of another type than std::exception";
  }
}

}  // namespace

void policy_breach::record(kind found, const char* member, sequence_id a, sequence_id b) noexcept {
  if (*this) return;
  kind_ = found;
  member_ = member;
  first_ = a;
  second_ = b;
}

void policy_breach::check() const {
  const auto refuse = [&](const std::string& why) { throw std::logic_error(std::string(member_) + " " + why); };
  const auto a = number(first_), b = number(second_);
  switch (kind_) {
    case kind::none:
      return;
    case kind::not_strict:
      return refuse("puts sequence " + a + " before sequence " + b + " and " + b + " before " + a +
                    "; it must be a strict weak ordering");
    case kind::order_changed:
      return refuse("put sequence " + a + " before sequence " + b +
                    " and does so no more, or its order is not transitive; it must be a strict weak ordering");
    case kind::not_a_number:
      return refuse("returned NaN; it must return a number");
    case kind::threw:
      return refuse("threw: " + message_of(thrown_));
  }
}

}  // namespace cogen::scheduler
