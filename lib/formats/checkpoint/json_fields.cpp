#include "formats/checkpoint/json_fields.hpp"

#include "formats/checkpoint/family_fields.hpp"
#include "formats/checkpoint/message.hpp"
#include "formats/json/field.hpp"
#include "formats/json/parse.hpp"
#include "formats/json/shown.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace cogen::load {
namespace {

std::string_view view(const boost::json::string& text) { return {text.data(), text.size()}; }

constexpr std::array<std::string_view, 3> words_for_floats{"-Infinity", "Infinity", "NaN"};

/// Python writes some numbers as words, which are no JSON. They become what Transformers writes for them.
std::string without_words_for_floats(std::string_view text) {
  std::string result;
  bool in_string = false;
  for (std::size_t position = 0; position < text.size();) {
    const auto* const word = std::ranges::find_if(words_for_floats, [&](std::string_view spelling) {
      return !in_string && text.substr(position).starts_with(spelling);
    });
    if (word != words_for_floats.end()) {
      result.append(R"({"__float__":")").append(*word).append("\"}");
      position += word->size();
      continue;
    }
    if (in_string && text[position] == '\\' && position + 1 < text.size())
      result += text[position++];
    else if (text[position] == '"')
      in_string = !in_string;
    result += text[position++];
  }
  return result;
}

// What Transformers writes for numbers that JSON lacks: {"__float__": "Infinity"}.
std::optional<field_scalar> written_out_float(const boost::json::object& object) {
  const auto* text = object.if_contains("__float__");
  if (object.size() != 1 || text == nullptr || !text->is_string()) return std::nullopt;
  if (view(text->get_string()) == "Infinity") return std::numeric_limits<double>::infinity();
  if (view(text->get_string()) == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (view(text->get_string()) == "NaN") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

std::optional<field_scalar> scalar_of(const boost::json::value& value) {
  switch (value.kind()) {
    case boost::json::kind::bool_:
      return value.get_bool();
    case boost::json::kind::int64:
      return value.get_int64();
    case boost::json::kind::uint64:
      return static_cast<double>(value.get_uint64());
    case boost::json::kind::double_:
      return value.get_double();
    case boost::json::kind::string:
      return std::string(view(value.get_string()));
    case boost::json::kind::object:
      return written_out_float(value.get_object());
    default:
      return std::nullopt;
  }
}

std::optional<std::vector<field_scalar>> scalars_of(const boost::json::array& array) {
  std::vector<field_scalar> scalars;
  for (const auto& element : array) {
    auto scalar = scalar_of(element);
    if (!scalar) return std::nullopt;
    scalars.push_back(std::move(*scalar));
  }
  return scalars;
}

field field_of(const boost::json::value& value) {
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

boost::json::value parsed_object(std::string_view text, std::string_view name) {
  const auto written_out = without_words_for_floats(text);
  auto root = read_json([&] { return json::parse_with_unique_keys(written_out, name); });
  if (!root.is_object()) refuse(name, "is not JSON object");
  return root;
}

/// Keys that files write otherwise: as published, or by the name that most families share.
struct other_spelling {
  std::string_view key;
  std::string_view other;
  std::string_view family = "";  // empty: any
};
constexpr std::array other_spellings{
    other_spelling{"attention_head_dim", "head_dim"},
    other_spelling{"conv_kernel", "mamba_d_conv"},
    other_spelling{"d_kv", "head_dim"},
    other_spelling{"d_model", "hidden_size"},
    other_spelling{"encoder_attention_heads", "num_attention_heads"},
    other_spelling{"encoder_layers", "num_hidden_layers"},
    other_spelling{"hidden_size", "n_embed"},
    other_spelling{"layer_types", "layers_block_type"},
    other_spelling{"layers_block_type", "layer_types"},
    other_spelling{"n_embd", "hidden_size"},
    other_spelling{"n_groups", "mamba_n_groups"},
    other_spelling{"n_head", "num_attention_heads"},
    other_spelling{"n_heads", "num_attention_heads"},
    other_spelling{"n_layer", "num_hidden_layers"},
    other_spelling{"n_layers", "num_hidden_layers"},
    other_spelling{"n_positions", "max_position_embeddings"},
    other_spelling{"num_heads", "num_attention_heads"},
    other_spelling{"num_layers", "num_hidden_layers"},
    other_spelling{"num_nextn_predict_layers", "num_mtp_layers"},
    other_spelling{"partial_rotary_factor", "rotary_pct"},
    other_spelling{"qk_rope_head_dim", "head_dim", "glm4_moe_lite"},
    other_spelling{"rope_theta", "rotary_emb_base"},
    other_spelling{"use_conv_bias", "mamba_conv_bias"},
};

class json_lookup final : public config_fields::lookup {
 public:
  json_lookup(std::string_view text, std::string file) : lookup(std::move(file)), root_(parsed_object(text, name)) {
    add_rope_parameters();
  }

  config_fields::source origin() const noexcept override { return config_fields::source::hugging_face; }

  std::string family() const override {
    const auto type = find_value("model_type");
    if (!type || !type->value().is_string()) refuse(name, "has no string 'model_type'");
    return type->string();
  }

  std::optional<field> find(std::string_view key) const override {
    const auto found = find_value(key);
    if (!found || found->value().is_null()) return std::nullopt;
    return field_of(found->value());
  }

  bool is_null(std::string_view key) const override {
    const auto found = find_value(key);
    return found && found->value().is_null();
  }

  std::string spelled(std::string_view key) const override {
    return is_wrapped(key) ? text_key(key) : std::string(key);
  }

  std::string shown(std::string_view key) const override {
    const auto found = find_value(key);
    return found ? json::shown(found->value()) : "missing";
  }

 private:
  // What reads more than text keeps what concerns text in an object of its own.
  static std::string text_key(std::string_view key) { return "text_config." + std::string(key); }

  // What the family's configuration class takes for them where they are left out.
  void add_rope_parameters() {
    const auto type = find_value("model_type");
    if (!type || !type->value().is_string() || find("rope_parameters") || find("rope_scaling")) return;
    const auto missing = fields_of(view(type->value().get_string())).rope_parameters;
    if (missing.empty()) return;
    auto& root = root_.get_object();
    auto* const text = root.if_contains("text_config");
    auto& owner = text != nullptr && text->is_object() ? text->get_object() : root;
    owner["rope_parameters"] = json::parse(missing, "rope_parameters");
  }

  // Whether embeddings are tied is said of the whole model.
  bool is_wrapped(std::string_view key) const {
    return key != "model_type" && key != "tie_word_embeddings" && at_either(text_key(key));
  }

  std::optional<json::field> find_value(std::string_view key) const {
    return at_either(is_wrapped(key) ? text_key(key) : key);
  }

  std::optional<json::field> at_either(std::string_view key) const {
    auto found = at_exactly(key);
    for (const auto& other : other_spellings)
      if (!found && key == other.key && (other.family.empty() || other.family == family()))
        found = at_exactly(other.other);
    return found;
  }

  /// A key with dots leads through objects.
  std::optional<json::field> at_exactly(std::string_view key) const {
    auto found = std::optional(json::field(root_, name));
    for (;;) {
      const auto dot = key.find('.');
      found = found->member(key.substr(0, dot));
      if (dot == key.npos || !found) return found;
      key.remove_prefix(dot + 1);
    }
  }

  boost::json::value root_;
};

}  // namespace

std::shared_ptr<const config_fields::lookup> json_fields(std::string_view text, std::string name) {
  return std::make_shared<const json_lookup>(text, std::move(name));
}

}  // namespace cogen::load
