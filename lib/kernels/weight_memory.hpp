#pragma once

#include <cstddef>

namespace cogen::kernels {

/// Zeroed memory for weights, aligned to 2 MiB where it is large, which the system is asked to back by huge pages.
class weight_memory {
 public:
  weight_memory() = default;
  /// Throws std::bad_alloc.
  explicit weight_memory(std::size_t bytes);
  weight_memory(weight_memory&& other) noexcept;
  weight_memory& operator=(weight_memory&& other) noexcept;
  ~weight_memory();

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace cogen::kernels
