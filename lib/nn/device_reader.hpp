#pragma once

#include "device/operators.hpp"
#include "models/model_spec.hpp"
#include "nn/device_weights.hpp"

#include <cogen/load/model_config.hpp>

#include <optional>
#include <string>
#include <vector>

namespace cogen::nn {

/// Reads the parts of a spec as a device's operators take them.
class device_reader {
 public:
  device_reader(const load::model_config& config, device_weights& weights) : config_(config), weights_(weights) {}

  device::norm norm(const std::optional<models::norm_spec>& spec) const;
  device::embedding embedding(const models::embedding_spec& spec) const;
  device::head head(const models::head_spec& spec, const device::embedding& embedding) const;

  device::projection qkv(const models::attention_spec& spec, const std::string& prefix) const;
  device::projection output(const models::attention_spec& spec, const std::string& prefix) const;
  device::attention_shape shape(const models::attention_spec& spec, const std::string& prefix) const;

  device::projection up(const models::mlp_spec& spec, const std::string& prefix) const;
  device::projection down(const models::mlp_spec& spec, const std::string& prefix) const;
  device::activation_shape activation(const models::mlp_spec& spec, const std::string& prefix) const;

 private:
  at::Tensor table(const std::vector<std::string>& names, std::int64_t width) const;
  at::Tensor vector(const std::string& name, std::int64_t size) const;
  device::projection project(std::vector<layers::named_rows> parts, std::int64_t inputs, bool bias) const;
  device::head_norm head_norm(const models::attention_spec& spec, const std::string& name, int heads) const;

  const load::model_config& config_;
  device_weights& weights_;
};

}  // namespace cogen::nn
