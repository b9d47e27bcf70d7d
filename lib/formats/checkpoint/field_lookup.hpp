#pragma once

#include "formats/checkpoint/config_fields.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cogen::load {

using field_scalar = std::variant<bool, std::int64_t, double, std::string>;

/// What stands under one key: a scalar, a list of scalars, or something else that is only said to be there.
struct field {
  enum class shape { scalar, list, other };
  shape kind = shape::other;
  std::vector<field_scalar> values;  // one where kind is scalar
};

/// Where config_fields finds its values.
struct config_fields::lookup {
  explicit lookup(std::string file) : name(std::move(file)) {}
  virtual ~lookup() = default;

  virtual source origin() const noexcept = 0;
  virtual std::string family() const = 0;
  virtual std::optional<field> find(std::string_view key) const = 0;
  virtual bool is_null(std::string_view) const { return false; }  // there, with null for its value
  virtual std::string spelled(std::string_view key) const = 0;    // as the source writes it
  virtual std::string shown(std::string_view key) const = 0;      // its value, or "missing"

  std::string name;
};

}  // namespace cogen::load
