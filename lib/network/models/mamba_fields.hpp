#pragma once

#include "formats/checkpoint/config_fields.hpp"

#include <cogen/load/model_config.hpp>

#include <cstdint>

namespace cogen::models {

/// The shape of a selective state-space mixer (Gu and Dao, arXiv:2312.00752).
struct mamba_fields {
  std::int64_t inner = 0;           // channels
  std::int64_t state = 0;           // numbers of scan state in each channel
  std::int64_t convolution = 0;     // positions that the convolution sees, its own included
  std::int64_t time_step_rank = 0;  // width of the time step's low-rank projection
  bool bias = false;                // of in_proj and out_proj
  bool convolution_bias = true;
};

/// A Mamba's. Throws load_error.
mamba_fields read_mamba_fields(const load::config_fields& fields, const load::model_config& config);

/// The shape of a Mamba-2 mixer (Dao and Gu, arXiv:2405.21060).
struct mamba2_fields {
  std::int64_t heads = 0;
  std::int64_t head_width = 0;
  std::int64_t groups = 0;       // divide the heads
  std::int64_t state = 0;        // numbers of state for each number of a head
  std::int64_t convolution = 0;  // positions that the convolution sees, its own included
  bool bias = false;             // of in_proj and out_proj
  bool convolution_bias = true;
};

/// A Mamba-2's. Throws load_error.
mamba2_fields read_mamba2_fields(const load::config_fields& fields, const load::model_config& config);

/// Those of a hybrid Granite. Throws load_error.
mamba2_fields read_granite_mamba2_fields(const load::config_fields& fields, const load::model_config& config);

/// Those of a Falcon-H1, whose channels do not depend on the hidden size. Throws load_error.
mamba2_fields read_falcon_mamba2_fields(const load::config_fields& fields, const load::model_config& config);

/// Those of a Nemotron-H, whose channels do not depend on the hidden size. Throws load_error.
mamba2_fields read_nemotron_mamba2_fields(const load::config_fields& fields, const load::model_config& config);

/// Those of a Zamba 2, whose convolution has a bias whatever "use_conv_bias" says. Throws load_error.
mamba2_fields read_zamba_mamba2_fields(const load::config_fields& fields, const load::model_config& config);

/// Layer i attends where i % attention_period == attention_offset and is a mamba_fields mixer elsewhere; its
/// feed-forward has experts where i % expert_period == expert_offset.
struct jamba_fields {
  mamba_fields mamba;
  std::int64_t attention_period = 0;
  std::int64_t attention_offset = 0;
  std::int64_t expert_period = 0;
  std::int64_t expert_offset = 0;
  std::int64_t experts = 0;
  std::int64_t experts_per_token = 1;  // at most experts
};

/// A Jamba's (Lieber et al., arXiv:2403.19887). Throws load_error.
jamba_fields read_jamba_fields(const load::config_fields& fields, const load::model_config& config);

}  // namespace cogen::models
