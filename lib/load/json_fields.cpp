#include "load/json_fields.hpp"

#include "load/json.hpp"
#include "load/message.hpp"

#include <boost/json/serialize.hpp>

#include <limits>
#include <utility>

namespace cogen::load {
namespace {

namespace json = boost::json;

std::string_view view(const json::string& text) { return {text.data(), text.size()}; }

// Python cannot write an infinity as JSON; Transformers writes {"__float__": "Infinity"}.
std::optional<field_scalar> written_out_float(const json::object& object) {
  const auto* text = object.if_contains("__float__");
  if (object.size() != 1 || text == nullptr || !text->is_string()) return std::nullopt;
  if (view(text->get_string()) == "Infinity") return std::numeric_limits<double>::infinity();
  if (view(text->get_string()) == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (view(text->get_string()) == "NaN") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

std::optional<field_scalar> scalar_of(const json::value& value) {
  switch (value.kind()) {
    case json::kind::bool_:
      return value.get_bool();
    case json::kind::int64:
      return value.get_int64();
    case json::kind::uint64:
      return static_cast<double>(value.get_uint64());
    case json::kind::double_:
      return value.get_double();
    case json::kind::string:
      return std::string(view(value.get_string()));
    case json::kind::object:
      return written_out_float(value.get_object());
    default:
      return std::nullopt;
  }
}

std::optional<std::vector<field_scalar>> scalars_of(const json::array& array) {
  std::vector<field_scalar> scalars;
  for (const auto& element : array) {
    auto scalar = scalar_of(element);
    if (!scalar) return std::nullopt;
    scalars.push_back(std::move(*scalar));
  }
  return scalars;
}

field field_of(const json::value& value) {
  field found;
  if (auto scalar = scalar_of(value)) {
    found.kind = field::shape::scalar;
    found.values.push_back(std::move(*scalar));
  } else if (value.is_array()) {
    if (auto scalars = scalars_of(value.get_array())) {
      found.kind = field::shape::list;
      found.values = std::move(*scalars);
    }
  }
  return found;
}

class json_lookup final : public config_fields::lookup {
 public:
  json_lookup(std::string_view text, std::string file)
      : lookup(std::move(file)), object_(parse_json_object(text, name)) {}

  config_fields::source origin() const noexcept override { return config_fields::source::hugging_face; }

  std::string family() const override {
    const auto* type = object_.if_contains("model_type");
    if (type == nullptr || !type->is_string()) refuse(name, "has no string 'model_type'");
    return std::string(view(type->get_string()));
  }

  std::optional<field> find(std::string_view key) const override {
    const auto* value = value_at(key);
    if (value == nullptr || value->is_null()) return std::nullopt;
    return field_of(*value);
  }

  bool is_null(std::string_view key) const override {
    const auto* value = value_at(key);
    return value != nullptr && value->is_null();
  }

  std::string spelled(std::string_view key) const override { return std::string(key); }

  std::string shown(std::string_view key) const override {
    const auto* value = value_at(key);
    return value == nullptr ? "missing" : printable(json::serialize(*value));
  }

 private:
  const json::value* value_at(std::string_view key) const {
    const auto* object = &object_;
    for (;;) {
      const auto dot = key.find('.');
      const auto* value = object->if_contains(json::string_view(key.data(), std::min(dot, key.size())));
      if (dot == key.npos || value == nullptr) return value;
      object = value->if_object();
      if (object == nullptr) return nullptr;
      key.remove_prefix(dot + 1);
    }
  }

  json::object object_;
};

}  // namespace

std::shared_ptr<const config_fields::lookup> json_fields(std::string_view text, std::string name) {
  return std::make_shared<const json_lookup>(text, std::move(name));
}

}  // namespace cogen::load
