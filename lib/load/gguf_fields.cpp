#include "load/gguf_fields.hpp"

#include "load/message.hpp"

#include <type_traits>
#include <utility>

namespace cogen::load {
namespace {

template <class T>
field_scalar scalar_of(const T& value) {
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<double>(value);
  } else {
    if (std::in_range<std::int64_t>(value)) return static_cast<std::int64_t>(value);
    return static_cast<double>(value);
  }
}

struct value_text {
  template <class T>
  std::string operator()(const T& value) const {
    return fmt::format("{}", value);
  }

  template <class T>
  std::string operator()(const std::vector<T>& list) const {
    return fmt::format("an array of {}", list.size());
  }

  std::string operator()(const std::string& text) const { return in_quotes(text); }
};

struct field_maker {
  template <class T>
  field operator()(const T& value) const {
    return {field::shape::scalar, {scalar_of(value)}};
  }

  template <class T>
  field operator()(const std::vector<T>& list) const {
    field made{field::shape::list, {}};
    made.values.reserve(list.size());
    for (const auto& value : list) made.values.push_back(scalar_of<T>(value));
    return made;
  }
};

class gguf_lookup final : public config_fields::lookup {
 public:
  explicit gguf_lookup(const gguf_file& file) : lookup(file.path().string()), file_(file) {}

  config_fields::source origin() const noexcept override { return config_fields::source::gguf; }

  std::string family() const override {
    const auto* value = file_.metadata("general.architecture");
    const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
    if (text == nullptr) refuse(name, "has no string 'general.architecture'");
    return *text;
  }

  std::optional<field> find(std::string_view key) const override {
    const auto* value = file_.metadata(spelled(key));
    if (value == nullptr) return std::nullopt;
    return std::visit(field_maker(), *value);
  }

  std::string spelled(std::string_view key) const override {
    auto own = family() + "." + std::string(key);
    const bool is_global = file_.metadata(own) == nullptr && file_.metadata(key) != nullptr;
    return is_global ? std::string(key) : own;
  }

  std::string shown(std::string_view key) const override {
    const auto* value = file_.metadata(spelled(key));
    return value == nullptr ? "missing" : std::visit(value_text(), *value);
  }

 private:
  const gguf_file& file_;
};

}  // namespace

std::shared_ptr<const config_fields::lookup> gguf_fields(const gguf_file& file) {
  return std::make_shared<const gguf_lookup>(file);
}

}  // namespace cogen::load
