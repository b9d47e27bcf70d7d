#pragma once

#include "formats/checkpoint/config_fields.hpp"
#include "formats/checkpoint/family_fields.hpp"
#include "network/models/model_spec.hpp"

#include <cogen/load/model_config.hpp>

#include <functional>
#include <string_view>
#include <vector>

namespace cogen::models {

/// One family of models: all that the library knows of it.
struct family {
  std::string_view title;      ///< for people
  load::family_fields fields;  ///< how its files are read; `family` is its name
  /// Describes a model. `config` is common to all families; a family finds its own settings in `fields`. Throws
  /// load::load_error, naming the key, for what does not fit.
  model_spec (*describe)(const load::config_fields& fields, const load::model_config& config);
};

// Each cites the model's paper or its authors.
#define FAMILY(name) extern const family name;
#include "network/models/families.def"
#undef FAMILY

/// Names of keys that several families share.
inline constexpr load::key_names no_window_keys{.sliding_window = ""};
inline constexpr load::key_names no_window_norm_eps_keys{.rms_norm_eps = "norm_eps", .sliding_window = ""};
inline constexpr load::key_names no_window_layer_norm_keys{.rms_norm_eps = "layer_norm_eps", .sliding_window = ""};
inline constexpr load::key_names gpt2_keys{.hidden = "n_embd",
                                           .layers = "n_layer",
                                           .heads = "n_head",
                                           .kv_heads = "",
                                           .head_dim = "",
                                           .intermediate = "n_inner",
                                           .max_positions = "n_positions",
                                           .rms_norm_eps = "layer_norm_epsilon",
                                           .sliding_window = "",
                                           .activation = "activation_function"};

using describe_model = std::function<model_spec(const load::config_fields& fields, const load::model_config& config)>;

/// Describes models of this family, from Hugging Face folders and GGUF files. Throws std::invalid_argument, naming it
/// and the known ones, for one that is not in the list.
describe_model family_named(std::string_view name);

std::vector<std::string_view> family_names();

/// What people call models of a family of the list.
std::string_view family_title(std::string_view name);

}  // namespace cogen::models
