#pragma once

#include "network/backend/cpu/delta_net.hpp"
#include "network/backend/cpu/heads.hpp"
#include "network/backend/cpu/mamba2_scan.hpp"
#include "network/backend/cpu/mamba_scan.hpp"
#include "network/backend/cpu/norm.hpp"
#include "network/backend/cpu/projection.hpp"
#include "network/backend/cpu/short_convolution.hpp"
#include "network/backend/parts.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace cogen::cpu {

/// The forms of parts in host memory, where kernels run them.
struct forms {
  using rows = activations;
  using table = std::shared_ptr<const kernels::tiled_matrix>;
  using projection = cpu::projection;
  using norm = std::optional<cpu::norm>;
  using positions = std::vector<float>;
  using rotation = std::shared_ptr<const rope>;
  using heads = cpu::heads;
  using scan = mamba_scan;
  using mixer = std::variant<short_convolution, delta_net, mamba2_scan>;

  /// Kernels take one product at a time.
  struct stacked {};
  static stacked stack(const std::vector<projection*>&) { return {}; }

  using block_part =
      std::variant<parts::attention<forms>, parts::latent_attention<forms>, parts::cross_attention<forms>,
                   parts::mamba<forms>, parts::recurrent_mixer<forms>, parts::time_mix<forms>,
                   parts::channel_mix<forms>, parts::mlp<forms>, parts::linear<forms>, parts::mixture_of_experts<forms>,
                   parts::layer_input<forms>, parts::low_rank<forms>, parts::stream_step<forms>>;

  static heads make_heads(const weight_reader&, const models::attention_spec& spec,
                          const weights::head_numbers& numbers, rotation rope) {
    return {spec, numbers, std::move(rope)};
  }

  static mixer read_mixer(weight_reader& weights, const std::string& prefix, const models::mamba2_spec& spec) {
    return mamba2_scan(weights, prefix, spec);
  }
  static mixer read_mixer(weight_reader& weights, const std::string& prefix, const models::delta_net_spec& spec) {
    return delta_net(weights, prefix, spec);
  }
  static mixer read_mixer(weight_reader& weights, const std::string& prefix,
                          const models::short_convolution_spec& spec) {
    return short_convolution(weights, prefix, spec);
  }

  static std::int64_t bytes(const projection& linear) { return linear ? linear.bytes() : 0; }
  static std::int64_t bytes(const norm& params) { return params ? params->bytes() : 0; }
};

}  // namespace cogen::cpu
