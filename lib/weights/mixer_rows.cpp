#include "weights/mixer_rows.hpp"

namespace cogen::weights {

std::vector<named_rows> in_rows(const models::short_convolution_spec& spec, const std::string& prefix) {
  return {{.name = prefix + "in_proj", .rows = spec.in_width()}};
}

std::vector<named_rows> decision_rows(const models::short_convolution_spec&, const std::string&) { return {}; }

std::vector<named_rows> in_rows(const models::delta_net_spec& spec, const std::string& prefix) {
  return {{.name = prefix + "in_proj_qkv", .rows = spec.channels()},
          {.name = prefix + "in_proj_z", .rows = spec.values()}};
}

std::vector<named_rows> decision_rows(const models::delta_net_spec& spec, const std::string& prefix) {
  return {{.name = prefix + "in_proj_b", .rows = spec.heads}, {.name = prefix + "in_proj_a", .rows = spec.heads}};
}

std::vector<named_rows> in_rows(const models::mamba2_spec& spec, const std::string& prefix) {
  return {{.name = prefix + "in_proj", .rows = spec.in_width(), .stored = spec.in_width() + spec.decisions()}};
}

std::vector<named_rows> decision_rows(const models::mamba2_spec& spec, const std::string& prefix) {
  return {{.name = prefix + "in_proj",
           .rows = spec.decisions(),
           .stored = spec.in_width() + spec.decisions(),
           .runs = {{.first = spec.in_width(), .count = spec.decisions()}}}};
}

}  // namespace cogen::weights
