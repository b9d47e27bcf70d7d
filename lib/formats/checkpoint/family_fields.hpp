#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace cogen::load {

/// What a source calls the fields of model_config. An empty name: the models have no such field.
struct key_names {
  std::string_view vocabulary = "vocab_size";
  std::string_view hidden = "hidden_size";
  std::string_view layers = "num_hidden_layers";
  std::string_view layers_otherwise = "";  // counts, if there is no `layers`
  std::string_view heads = "num_attention_heads";
  std::string_view kv_heads = "num_key_value_heads";
  std::string_view head_dim = "head_dim";
  std::string_view intermediate = "intermediate_size";
  std::string_view max_positions = "max_position_embeddings";
  std::string_view rms_norm_eps = "rms_norm_eps";
  std::string_view sliding_window = "sliding_window";
  std::string_view activation = "hidden_act";
};

/// What llama.cpp calls a family, and what its converter does to it.
struct gguf_traits {
  std::string_view architecture = "";  // empty: as the family
  std::string_view also = "";          // another architecture of it
  bool known = true;                   // to llama.cpp
  bool interleaved = false;            // rows of queries and keys that rotate together stand side by side
};

/// Sizes of a model whose file gives none. 0: it must.
struct default_sizes {
  std::int64_t vocabulary = 0;
  std::int64_t hidden = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t intermediate = 0;
};

/// Special tokens of a model whose file names none. -1: it has none.
struct default_tokens {
  std::int64_t bos = -1;
  std::int64_t pad = -1;
  std::int64_t eos = -1;
  std::array<std::int64_t, 2> other_eos = {-1, -1};
};

/// How one family's config.json is read: its own names, and what its configuration class in Transformers takes for a
/// key that is left out.
struct family_fields {
  std::string_view family = "";
  default_sizes sizes = {};
  default_tokens tokens = {};
  gguf_traits gguf = {};
  key_names keys = {};
  std::int64_t kv_heads = 0;  // 0: as many as heads
  std::int64_t head_dim = 0;  // 0: head_dim_factor * hidden / heads
  std::int64_t head_dim_factor = 1;
  std::int64_t max_positions = 2048;
  std::int64_t sliding_window = 0;  // 0: none
  double rms_norm_eps = 1e-6;
  double rope_theta = 10000;
  std::optional<double> partial_rotary = {};  // fraction of a head that is rotated; empty: it is not a setting
  std::string_view rope_parameters = "";      // JSON, if "rope_parameters" and "rope_scaling" are left out
  std::int64_t original_positions = 0;        // before scaling, if the file does not say; 0: max_positions
  std::int64_t intermediate_factor = 0;       // of hidden, if the inner width is not given; 0: it must be
  std::string_view activation = "silu";
  std::optional<bool> attention_bias = false;  // empty: it is not a setting, and there is none
  std::optional<bool> mlp_bias = {};           // likewise
  bool tie_embeddings = false;
  bool rotary = true;                     // positions are encoded by rotations
  std::int64_t decoder_start_token = -1;  // -1: no encoder
  bool first_position_follows_padding =
      false;  // the table's rows up to that of the padding token's id are no positions
};

/// Those of all families. Defined where the families are: lib/network/models/families.cpp.
std::span<const family_fields* const> known_families();

/// Of that family; of one that is not known, the defaults.
const family_fields& fields_of(std::string_view family);

/// The family of the models whose general.architecture is this: of several the first; of none, the same name.
std::string_view family_of_architecture(std::string_view architecture);

/// gguf_traits::interleaved of that family.
bool stores_interleaved_heads(std::string_view family);

/// GGUF's names, the same for every architecture.
extern const key_names gguf_keys;

}  // namespace cogen::load
