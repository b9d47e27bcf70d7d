#pragma once

#include "network/backend/backend.hpp"

#include <functional>
#include <memory>

namespace cogen::test {

/// A device that is the processor itself: what is begun has ended at once, but for what `later` is given.
class plain_backend : public device::backend {
 public:
  at::Device device() const override { return at::kCPU; }
  std::string description() const override { return "the processor"; }
  std::unique_ptr<device::stream> make_stream() const override;
  std::unique_ptr<device::operators> make_operators() const override;
  std::unique_ptr<device::operators> make_batch_invariant_operators() const override;
  at::Tensor make_host(std::int64_t bytes) const override;
  std::int64_t free_bytes() const override;
  int max_recorded_row() const override { return recorded_row; }
  std::int64_t max_vocabulary() const override { return vocabulary; }
  std::int64_t page_bytes() const override { return page; }
  std::unique_ptr<cache::virtual_memory> reserve(std::int64_t bytes, std::int64_t limit) const override;
  void allocate(const std::function<void()>& work) const override;
  void synchronize() const override;

  /// Called before everything that a device could fail at, with its name; throws in its place.
  std::function<void(const char* operation)> hook = {};

  /// Is given the callbacks of then(), and calls each once, on any thread; without it they are called at once.
  std::function<void(std::function<void()> call)> later = {};

  std::int64_t free = std::int64_t{1} << 30;  ///< free_bytes(), always
  std::int64_t vocabulary = 1 << 30;          ///< max_vocabulary()

  /// page_bytes(), a multiple of the system's. With pages, a thread of the cache's own calls `hook`, too.
  std::int64_t page = 0;

  /// Graphs: a replay runs the work itself.
  bool records = true;
  int recorded_row = 1;  ///< max_recorded_row()
};

}  // namespace cogen::test
