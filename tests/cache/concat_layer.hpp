#pragma once

#include <cogen/cache/layer.hpp>

#include <vector>

namespace cogen::cache::test {

/// A kind of a user's own, with no more than the interface asks for: every slot is a tensor that grows by
/// concatenation.
class concat_layer final : public layer {
 public:
  concat_layer(const layer_shape& shape, scalar type, const slot_table& table, int max_length);

  int max_length() const noexcept override { return max_length_; }
  void append(const step& step, const at::Tensor& k, const at::Tensor& v) override;
  keys_values materialise(int slot, int length) const override;
  void truncate(int slot, int length) override;
  void clear(int slot) override;

 private:
  keys_values nothing() const;

  int max_length_;
  std::vector<keys_values> held_;  // [slots]
};

}  // namespace cogen::cache::test
