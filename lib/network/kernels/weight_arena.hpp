#pragma once

#include <cstddef>
#include <memory>
#include <mutex>

namespace cogen::kernels {

/// Memory for the weights of a model, side by side in chunks that the system is asked to back by huge pages.
/// A chunk lives as long as anything taken from it. Any thread.
class weight_arena {
 public:
  static constexpr std::size_t chunk_bytes = std::size_t{64} << 20;

  /// `chunk`: bytes reserved at a time; they are committed as they are written.
  explicit weight_arena(std::size_t chunk = chunk_bytes) : chunk_(chunk) {}

  /// Zeroed memory, aligned to 64 bytes. Throws std::bad_alloc.
  std::shared_ptr<std::byte[]> take(std::size_t bytes);

 private:
  std::mutex mutex_;
  std::size_t chunk_;
  std::size_t used_ = 0;
  std::size_t size_ = 0;
  std::shared_ptr<std::byte[]> current_;
};

}  // namespace cogen::kernels
