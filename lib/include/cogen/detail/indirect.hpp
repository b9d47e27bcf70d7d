#pragma once

#include <boost/json/fwd.hpp>

#include <memory>

namespace cogen::detail {

/// A value in memory of its own, as C++26's std::indirect: its holder needs no more than a declaration of its type.
/// Copies are independent. Defined for the objects and arrays of Boost.JSON, whose headers a program includes to look
/// into one.
template <class Value>
class indirect {
 public:
  indirect() noexcept;    ///< an empty one, which takes no memory
  indirect(Value value);  // NOLINT(google-explicit-constructor)
  indirect(const indirect& other);
  indirect(indirect&& other) noexcept;
  indirect& operator=(const indirect& other);
  indirect& operator=(indirect&& other) noexcept;
  ~indirect();

  const Value& operator*() const noexcept;
  Value& operator*();
  const Value* operator->() const noexcept { return &**this; }
  Value* operator->() { return &**this; }

 private:
  std::unique_ptr<Value> value_;  // null: an empty one
};

extern template class indirect<boost::json::array>;
extern template class indirect<boost::json::object>;

}  // namespace cogen::detail
