#include "formats/checkpoint/sentence_modules.hpp"

#include "formats/checkpoint/config_fields.hpp"
#include "formats/checkpoint/field_ranges.hpp"
#include "formats/checkpoint/input_file.hpp"
#include "formats/checkpoint/message.hpp"
#include "formats/checkpoint/sentence_text.hpp"
#include "formats/json/field.hpp"
#include "formats/json/parse.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace cogen::load {
namespace {

/// What stands behind the last dot of a class's name.
std::string class_of(const json::field& module) {
  const auto type = module.at("type").string();
  return type.substr(type.rfind('.') + 1);
}

/// A folder's name, which stays below the model's.
std::string path_of(const json::field& module) {
  auto path = module.text("path", "");
  if (path.find("..") != path.npos || path.starts_with('/'))
    refuse(module.path(), "the path {} leaves the model's folder", in_quotes(path));
  return path;
}

config_fields settings_of(const std::filesystem::path& folder) {
  const auto file = folder / "config.json";
  return config_fields::from_json(read_text(file, largest_settings_file), file.string());
}

/// Today's spelling is one name; older files have a flag for each.
std::string pooling_mode(const config_fields& fields) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> flags{
      {{"pooling_mode_cls_token", "cls"},
       {"pooling_mode_mean_tokens", "mean"},
       {"pooling_mode_max_tokens", "max"},
       {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len"},
       {"pooling_mode_weightedmean_tokens", "weightedmean"},
       {"pooling_mode_lasttoken", "lasttoken"}}};
  std::string key = "pooling_mode", mode = fields.string(key, "");
  for (const auto& [flag, name] : flags) {
    if (!fields.boolean(flag, false)) continue;
    if (!mode.empty()) fields.refuse(flag, "one way of pooling is read");
    key = flag;
    mode = name;
  }
  if (mode.empty() && !fields.boolean("pooling_mode_mean_tokens", true))
    fields.refuse("pooling_mode_mean_tokens", "one way of pooling is read, and none is given");
  if (mode.empty() || mode == "mean") return "mean";
  if (mode == "cls") return "cls";
  if (mode == "lasttoken") return "last";
  fields.refuse(key, "pooling by mean, cls and lasttoken is known");
}

/// The names of what a module reads and gives, which are those of the whole text unless they are given.
void check_features(const config_fields& fields) {
  for (const auto* key : {"module_input_name", "module_output_name"}) {
    if (fields.string(key, "sentence_embedding") != "sentence_embedding")
      fields.refuse(key, "sentence_embedding is known");
  }
}

std::string read_pooling(const config_fields& fields, const std::filesystem::path& model) {
  if (!fields.boolean("include_prompt", true) && !read_default_prompt(model).empty())
    fields.refuse("include_prompt", "a prompt that is left out of pooling is not known");
  return pooling_mode(fields);
}

dense_module read_dense(const std::filesystem::path& folder, std::string path) {
  const auto fields = settings_of(folder / path);
  check_features(fields);
  const auto function = fields.string("activation_function", "torch.nn.modules.activation.Tanh");
  const bool tanh = function.ends_with(".Tanh");
  if (!tanh && !function.ends_with(".Identity")) fields.refuse("activation_function", "Tanh and Identity are known");
  return {.path = std::move(path),
          .inputs = fields.integer("in_features", inner_widths),
          .outputs = fields.integer("out_features", inner_widths),
          .bias = fields.boolean("bias", true),
          .tanh = tanh};
}

sentence_modules read_modules(const json::field& modules, const std::filesystem::path& folder) {
  sentence_modules found;
  for (std::size_t i = 0; i < modules.array().size(); ++i) {
    const auto module = modules.element(i);
    const auto type = class_of(module);
    if (found.normalize) refuse(module.path(), "it follows a normalization, which is read as the last module");
    if (type == "Pooling")
      found.pooling = read_pooling(settings_of(folder / path_of(module)), folder);
    else if (type == "Dense")
      found.dense.push_back(read_dense(folder, path_of(module)));
    else if (type == "Normalize")
      found.normalize = true;
    else if (type != "Transformer")
      refuse(module.path(), "it is a module {}; Transformer, Pooling, Dense and Normalize are known", in_quotes(type));
  }
  return found;
}

/// What `read` makes of modules.json, if there is one.
template <class Read>
auto read_list(const std::filesystem::path& folder, Read read)
    -> std::optional<decltype(read(std::declval<json::field>()))> {
  const auto file = folder / "modules.json";
  if (!is_there(file)) return std::nullopt;
  const auto text = read_text(file, largest_settings_file);
  const auto root = read_json([&] { return json::parse_with_unique_keys(text, file.string()); });
  return read_json([&] { return read(json::field(root, file.string())); });
}

}  // namespace

std::optional<sentence_modules> read_sentence_modules(const std::filesystem::path& folder) {
  return read_list(folder, [&](const json::field& modules) { return read_modules(modules, folder); });
}

void check_scoring_modules(const std::filesystem::path& folder) {
  (void)read_list(folder, [&](const json::field& modules) {
    for (std::size_t i = 0; i < modules.array().size(); ++i) {
      const auto module = modules.element(i);
      if (class_of(module) != "Transformer")
        refuse(module.path(), "it is a module {}; a model that scores pairs has a Transformer alone",
               in_quotes(class_of(module)));
    }
    if (!read_default_prompt(folder).empty())
      refuse(modules.path(), "a model that scores pairs has a default prompt, which is not known");
    return 0;
  });
}

}  // namespace cogen::load
