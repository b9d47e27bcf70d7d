#pragma once

#include <cogen/extend/runner.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace cogen::detail {

/// What all ranks hold of one slot: the bytes of rank 0, and those of the others behind a table of sizes.
class rank_snapshot final : public kv_snapshot {
 public:
  rank_snapshot(std::shared_ptr<const kv_snapshot> own, std::vector<std::vector<std::byte>> remote);

  std::size_t size() const noexcept override;
  int encoder_input() const noexcept override { return own_->encoder_input(); }
  snapshot_reader read() const override;

  const std::shared_ptr<const kv_snapshot>& own() const { return own_; }
  const std::vector<std::byte>& of_rank(int rank) const { return remote_[static_cast<std::size_t>(rank - 1)]; }

 private:
  std::shared_ptr<const kv_snapshot> own_;
  std::vector<std::vector<std::byte>> remote_;  // of rank 1, rank 2, …
};

/// Where each rank's bytes are among those that a rank_snapshot of so many ranks reads. Throws std::runtime_error if
/// they cannot be those.
std::vector<std::span<const std::byte>> rank_parts(std::span<const std::byte> bytes, int ranks);

}  // namespace cogen::detail
