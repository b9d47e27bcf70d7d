#pragma once

#include <boost/json/value.hpp>

#include <initializer_list>
#include <set>
#include <vector>

namespace cogen::grammar {

/// Schemas that a value has to satisfy together; none: any value. Each is there once, in the order of insertion, so
/// that what is made of a schema does not depend on addresses. Sets with the same members are the same key.
class schema_set {
 public:
  schema_set() = default;
  schema_set(std::initializer_list<const boost::json::value*> schemas) {
    for (const auto* each : schemas) insert(each);
  }

  void insert(const boost::json::value* schema) {
    if (members_.insert(schema).second) schemas_.push_back(schema);
  }
  bool empty() const noexcept { return schemas_.empty(); }
  auto begin() const noexcept { return schemas_.begin(); }
  auto end() const noexcept { return schemas_.end(); }

  friend bool operator<(const schema_set& left, const schema_set& right) { return left.members_ < right.members_; }

 private:
  std::vector<const boost::json::value*> schemas_;
  std::set<const boost::json::value*> members_;
};

}  // namespace cogen::grammar
