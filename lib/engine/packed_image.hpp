#pragma once

#include "engine/stored_image.hpp"

#include <cogen/cache/packed_image.hpp>

#include <vector>

namespace cogen::detail {

/// The bytes of one slot, kept with 8 bits for each of their numbers: they are read as they come out of that.
class packed_image final : public slot_image {
 public:
  /// Of bytes that are these runs and still to be packed.
  packed_image(std::vector<cache::exported_run> runs, int source);

  std::size_t size() const noexcept override { return size_; }
  int source() const noexcept override { return kept_.source(); }
  void read(const std::function<void(std::span<const std::byte>)>& visit) const override;

  /// What they are packed into.
  stored_image& kept() noexcept { return kept_; }

  /// Packs the bytes, and moves what they are packed into. Throws what stored_image::move() does.
  void pack(std::span<const std::byte> whole);

 private:
  const std::vector<cache::exported_run> runs_;
  const std::size_t size_;
  stored_image kept_;
};

}  // namespace cogen::detail
