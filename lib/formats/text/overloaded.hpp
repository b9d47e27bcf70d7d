#pragma once

namespace cogen::text {

/// One callable of several, for std::visit.
template <typename... F>
struct overloaded : F... {
  using F::operator()...;
};
template <typename... F>
overloaded(F...) -> overloaded<F...>;

}  // namespace cogen::text
