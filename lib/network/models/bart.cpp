#include "network/models/families.hpp"
#include "network/models/like_bart.hpp"

namespace cogen::models {
namespace {

/// Keys of the decoder; the encoder's own are read by like_bart().
constexpr load::key_names bart_keys{.hidden = "d_model",
                                    .layers = "decoder_layers",
                                    .heads = "decoder_attention_heads",
                                    .kv_heads = "",
                                    .head_dim = "",
                                    .intermediate = "decoder_ffn_dim",
                                    .rms_norm_eps = "",
                                    .sliding_window = "",
                                    .activation = "activation_function"};

constexpr load::family_fields fields_of(std::string_view name, std::int64_t vocabulary,
                                        const load::default_tokens& tokens, std::string_view activation,
                                        std::int64_t start) {
  return {.family = name,
          .sizes = {.vocabulary = vocabulary, .hidden = 1024, .layers = 12, .heads = 16, .intermediate = 4096},
          .tokens = tokens,
          .gguf = {.known = false},
          .keys = bart_keys,
          .max_positions = 1024,
          .rms_norm_eps = 1e-5,
          .activation = activation,
          .tie_embeddings = true,
          .rotary = false,
          .decoder_start_token = start};
}

model_spec describe_bart(const load::config_fields& fields, const load::model_config& config) {
  return like_bart(fields, config);
}

model_spec describe_pegasus(const load::config_fields& fields, const load::model_config& config) {
  if (config.hidden % 2 != 0) fields.refuse("d_model", "half of it are sines, so it must be even");
  return like_bart(
      fields, config,
      {.norms_before = true, .embedding_norm = false, .first_position = 0, .sinusoid_steps = config.hidden / 2});
}

model_spec describe_m2m_100(const load::config_fields& fields, const load::model_config& config) {
  if (config.hidden % 2 != 0 || config.hidden < 4)
    fields.refuse("d_model", "half of it are sines, so it must be even, and at least 4");
  return like_bart(fields, config,
                   {.norms_before = true,
                    .embedding_norm = false,
                    .scaled_embedding = true,
                    .logits_bias = false,
                    .first_position = config.pad.value_or(1) + 1,
                    .sinusoid_steps = config.hidden / 2 - 1});
}

}  // namespace

/// Lewis et al., arXiv:1910.13461.
const family bart{.title = "BART",
                  .fields = fields_of("bart", 50265, {.bos = 0, .pad = 1, .eos = 2}, "gelu", 2),
                  .describe = describe_bart};

/// Zhang et al., arXiv:1912.08777: BART with norms before each half of a layer, and sinusoids as positions. A file may
/// hold them.
const family pegasus{.title = "Pegasus",
                     .fields = fields_of("pegasus", 50265, {.pad = 0, .eos = 1}, "gelu", 0),
                     .describe = describe_pegasus};

/// Fan et al., arXiv:2010.11125: the same with sinusoids that no file holds, which begin behind the padding's row, and
/// no bias of logits.
const family m2m_100{.title = "M2M-100, NLLB (dense)",
                     .fields = fields_of("m2m_100", 128112, {.bos = 0, .pad = 1, .eos = 2}, "relu", 2),
                     .describe = describe_m2m_100};

}  // namespace cogen::models
