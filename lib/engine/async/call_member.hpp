#pragma once

#include <cogen/detail/operation.hpp>

#include <utility>

namespace cogen::detail {

template <class Member>
struct class_of_member;

template <class State, class Type>
struct class_of_member<Type State::*> {
  using type = State;
};

/// Calls a member of the owner, which is of the member's class. How initiations start operations.
template <auto member, class... Args>
decltype(auto) call_member(result_owner& owner, Args&&... args) {
  auto& state = static_cast<typename class_of_member<decltype(member)>::type&>(owner);
  return (state.*member)(std::forward<Args>(args)...);
}

}  // namespace cogen::detail
