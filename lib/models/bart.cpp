#include "models/families.hpp"
#include "models/like_bart.hpp"

namespace cogen::models {

/// Lewis et al., arXiv:1910.13461.
model_spec bart(const load::config_fields& fields, const load::model_config& config) {
  return like_bart(fields, config);
}

/// Zhang et al., arXiv:1912.08777: BART with norms before each half of a layer, and sinusoids as positions. A file may
/// hold them.
model_spec pegasus(const load::config_fields& fields, const load::model_config& config) {
  if (config.hidden % 2 != 0) fields.refuse("d_model", "half of it are sines, so it must be even");
  return like_bart(
      fields, config,
      {.norms_before = true, .embedding_norm = false, .first_position = 0, .sinusoid_steps = config.hidden / 2});
}

/// Fan et al., arXiv:2010.11125: the same with sinusoids that no file holds, which begin behind the padding's row, and
/// no bias of logits.
model_spec m2m_100(const load::config_fields& fields, const load::model_config& config) {
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

}  // namespace cogen::models
