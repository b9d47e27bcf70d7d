#include <cogen/detail/indirect.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <utility>

namespace cogen::detail {

// Values lie in the default memory resource: that of another one may end before them, or belong to one thread.

template <class Value>
indirect<Value>::indirect() noexcept = default;

template <class Value>
indirect<Value>::indirect(Value value)
    : value_(std::make_unique<Value>(std::move(value), boost::json::storage_ptr())) {}

template <class Value>
indirect<Value>::indirect(const indirect& other)
    : value_(other.value_ ? std::make_unique<Value>(*other, boost::json::storage_ptr()) : nullptr) {}

template <class Value>
indirect<Value>::indirect(indirect&& other) noexcept = default;

template <class Value>
indirect<Value>& indirect<Value>::operator=(const indirect& other) {
  return *this = indirect(other);
}

template <class Value>
indirect<Value>& indirect<Value>::operator=(indirect&& other) noexcept = default;

template <class Value>
indirect<Value>::~indirect() = default;

template <class Value>
const Value& indirect<Value>::operator*() const noexcept {
  static const Value empty;
  return value_ ? *value_ : empty;
}

template <class Value>
Value& indirect<Value>::operator*() {
  if (!value_) value_ = std::make_unique<Value>();
  return *value_;
}

template class indirect<boost::json::array>;
template class indirect<boost::json::object>;

}  // namespace cogen::detail
