#pragma once

#include "backend/parts.hpp"
#include "layers/heads.hpp"
#include "layers/mamba_scan.hpp"
#include "layers/norm.hpp"
#include "layers/projection.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

namespace cogen::layers {

/// The forms of parts in host memory, where kernels run them.
struct cpu {
  using rows = activations;
  using table = std::shared_ptr<const kernels::tiled_matrix>;
  using projection = layers::projection;
  using norm = std::optional<layers::norm>;
  using positions = std::vector<float>;
  using rotation = std::shared_ptr<const rope>;
  using heads = layers::heads;
  using scan = mamba_scan;
  using block_part = std::variant<parts::attention<cpu>, parts::cross_attention<cpu>, parts::mamba<cpu>,
                                  parts::mlp<cpu>, parts::mixture_of_experts<cpu>>;

  static std::int64_t bytes(const projection& of) { return of ? of.bytes() : 0; }
  static std::int64_t bytes(const norm& of) { return of ? of->bytes() : 0; }
};

}  // namespace cogen::layers
