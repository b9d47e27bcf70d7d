#include "formats/checkpoint/config_fields.hpp"
#include "formats/checkpoint/input_file.hpp"

#include <cogen/load/model_config.hpp>

#include <string>

namespace cogen::load {
namespace {

/// By the name of a class of PyTorch.
score_activation read_named(const config_fields& fields, std::string_view key) {
  const auto name = fields.string(key, "Sigmoid");
  if (name.ends_with("Sigmoid")) return score_activation::sigmoid;
  if (name.ends_with("Identity")) return score_activation::identity;
  fields.refuse(key, "'torch.nn.modules.activation.Sigmoid' and 'torch.nn.modules.linear.Identity' are known");
}

}  // namespace

score_activation read_score_activation(const std::filesystem::path& path) {
  const auto file = path / "config.json";
  if (!is_there(file)) return score_activation::sigmoid;
  const auto fields = config_fields::from_json(read_text(file, largest_settings_file), file.string());
  const std::string_view newer = "sentence_transformers.activation_fn";
  return read_named(fields, fields.has(newer) ? newer : "sbert_ce_default_activation_function");
}

}  // namespace cogen::load
