#include "network/models/kv_sharing.hpp"

#include "network/models/like_llama.hpp"

#include <fmt/format.h>

#include <array>

namespace cogen::models {

std::vector<std::optional<int>> shared_kv_layers(const load::config_fields& fields, const std::vector<bool>& slides,
                                                 std::int64_t own) {
  std::array<std::optional<int>, 2> last;
  std::vector<std::optional<int>> shared(slides.size());
  for (std::size_t layer = 0; layer < slides.size(); ++layer) {
    auto& of_type = last[slides[layer] ? 1 : 0];
    if (static_cast<std::int64_t>(layer) < own)
      of_type = static_cast<int>(layer);
    else if (of_type)
      shared[layer] = of_type;
    else
      fields.refuse("num_kv_shared_layers", "a type of layers has no keys and values to share");
  }
  return shared;
}

void leave_kv_unread(model_spec& spec, std::int64_t layer) {
  for (const auto* name : {"k_proj", "v_proj", "k_norm", "v_norm"})
    for (const auto* end : {"weight", "bias"})
      spec.unread.push_back(fmt::format("{}self_attn.{}.{}", layer_prefix(layer), name, end));
}

}  // namespace cogen::models
