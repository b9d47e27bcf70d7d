#include "formats/checkpoint/config_fields.hpp"

#include "formats/checkpoint/field_lookup.hpp"
#include "formats/checkpoint/gguf_fields.hpp"
#include "formats/checkpoint/json_fields.hpp"
#include "formats/checkpoint/message.hpp"

#include <cmath>
#include <utility>

namespace cogen::load {
namespace {

std::string bounds(const integer_range& range) {
  using limits = std::numeric_limits<std::int64_t>;
  if (range.lowest == limits::min() && range.highest == limits::max()) return "an integer";
  if (range.highest == limits::max()) return fmt::format("an integer from {}", range.lowest);
  return fmt::format("an integer from {} to {}", range.lowest, range.highest);
}

std::string bounds(const real_range& range) {
  if (range.highest == std::numeric_limits<double>::max()) return fmt::format("a finite number from {}", range.lowest);
  return fmt::format("a number from {} to {}", range.lowest, range.highest);
}

// A float is taken for an integer where it is one: some writers say 8192.0.
std::optional<std::int64_t> integer_of(const field_scalar& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  const auto* real = std::get_if<double>(&value);
  if (real == nullptr || std::trunc(*real) != *real || std::abs(*real) > 0x1p53) return std::nullopt;
  return static_cast<std::int64_t>(*real);
}

std::optional<double> real_of(const field_scalar& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  const auto* real = std::get_if<double>(&value);
  return real == nullptr ? std::nullopt : std::optional(*real);
}

[[noreturn]] void refuse_value(const config_fields::lookup& values, std::string_view key, std::string_view allowed) {
  refuse(values.name, "{} is {}; {} is allowed", values.spelled(key), values.shown(key), allowed);
}

std::int64_t integer_in(const config_fields::lookup& values, std::string_view key, const field_scalar& value,
                        integer_range range) {
  const auto integer = integer_of(value);
  if (!integer || *integer < range.lowest || *integer > range.highest) refuse_value(values, key, bounds(range));
  return *integer;
}

double real_in(const config_fields::lookup& values, std::string_view key, const field_scalar& value, real_range range) {
  const auto real = real_of(value);
  if (!real || !(*real >= range.lowest && *real <= range.highest)) refuse_value(values, key, bounds(range));
  return *real;
}

const field_scalar& single(const config_fields::lookup& values, std::string_view key, const field& found) {
  if (found.kind != field::shape::scalar) refuse_value(values, key, "a single value");
  return found.values.front();
}

const std::string& string_in(const config_fields::lookup& values, std::string_view key, const field_scalar& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) refuse_value(values, key, "a string");
  return *text;
}

[[noreturn]] void refuse_missing(const config_fields::lookup& values, std::string_view key) {
  refuse(values.name, "{} is missing", values.spelled(key));
}

std::optional<field> list_at(const config_fields::lookup& values, std::string_view key) {
  auto found = values.find(key);
  if (found && found->kind == field::shape::other) refuse_value(values, key, "a value or a list of values");
  return found;
}

}  // namespace

config_fields::config_fields(std::shared_ptr<const lookup> values) : values_(std::move(values)) {}

config_fields config_fields::from_json(std::string_view text, std::string name) {
  return config_fields(json_fields(text, std::move(name)));
}

config_fields config_fields::from_gguf(const gguf_file& file) { return config_fields(gguf_fields(file)); }

config_fields::source config_fields::origin() const noexcept { return values_->origin(); }
const std::string& config_fields::name() const noexcept { return values_->name; }
std::string config_fields::family() const { return values_->family(); }
bool config_fields::has(std::string_view key) const { return values_->find(key).has_value(); }
bool config_fields::is_null(std::string_view key) const { return values_->is_null(key); }

bool config_fields::is(std::string_view key, std::string_view text) const {
  const auto found = values_->find(key);
  return found && found->kind == field::shape::scalar && found->values.front() == field_scalar(std::string(text));
}

std::size_t config_fields::size(std::string_view key) const {
  const auto found = values_->find(key);
  if (!found) return 0;
  return found->kind == field::shape::list ? found->values.size() : 1;
}

std::int64_t config_fields::integer(std::string_view key, integer_range range) const {
  const auto found = values_->find(key);
  if (!found) refuse_missing(*values_, key);
  return integer_in(*values_, key, single(*values_, key, *found), range);
}

std::int64_t config_fields::integer(std::string_view key, integer_range range, std::int64_t fallback) const {
  if (has(key)) return integer(key, range);
  if (fallback < range.lowest || fallback > range.highest) refuse_value(*values_, key, bounds(range));
  return fallback;
}

double config_fields::real(std::string_view key, real_range range) const {
  const auto found = values_->find(key);
  if (!found) refuse_missing(*values_, key);
  return real_in(*values_, key, single(*values_, key, *found), range);
}

double config_fields::real(std::string_view key, real_range range, double fallback) const {
  if (has(key)) return real(key, range);
  if (!(fallback >= range.lowest && fallback <= range.highest)) refuse_value(*values_, key, bounds(range));
  return fallback;
}

bool config_fields::boolean(std::string_view key, bool fallback) const {
  const auto found = values_->find(key);
  if (!found) return fallback;
  const auto* value = std::get_if<bool>(&single(*values_, key, *found));
  if (value == nullptr) refuse_value(*values_, key, "true or false");
  return *value;
}

std::string config_fields::string(std::string_view key) const {
  const auto found = values_->find(key);
  if (!found) refuse_missing(*values_, key);
  return string_in(*values_, key, single(*values_, key, *found));
}

std::string config_fields::string(std::string_view key, std::string fallback) const {
  return has(key) ? string(key) : std::move(fallback);
}

std::vector<std::int64_t> config_fields::integers(std::string_view key, integer_range range) const {
  std::vector<std::int64_t> list;
  const auto found = list_at(*values_, key);
  if (!found) return list;
  for (const auto& value : found->values) list.push_back(integer_in(*values_, key, value, range));
  return list;
}

std::vector<double> config_fields::reals(std::string_view key, real_range range) const {
  std::vector<double> list;
  const auto found = list_at(*values_, key);
  if (!found) return list;
  for (const auto& value : found->values) list.push_back(real_in(*values_, key, value, range));
  return list;
}

std::vector<std::string> config_fields::strings(std::string_view key) const {
  std::vector<std::string> list;
  const auto found = list_at(*values_, key);
  if (!found) return list;
  for (const auto& value : found->values) list.push_back(string_in(*values_, key, value));
  return list;
}

void config_fields::refuse(std::string_view key, std::string_view reason) const {
  load::refuse(values_->name, "{} is {}; {}", values_->spelled(key), values_->shown(key), reason);
}

}  // namespace cogen::load
