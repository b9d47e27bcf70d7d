#pragma once

#include "parallel/place.hpp"
#include "parallel/transport.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cogen::parallel {

/// The ranks of one model: stages of a pipeline, each of as many ranks that split its layers. Rank 0 leads: it is the
/// first of the first stage. All ranks make the same calls in the same order; each call throws rank_error.
class rank_group {
 public:
  /// Throws std::invalid_argument unless the transport has tensor * pipeline ranks.
  rank_group(std::shared_ptr<transport> by, int tensor, int pipeline);

  int rank() const { return by_->rank(); }
  int size() const { return by_->size(); }
  int local_rank() const { return by_->local_rank(); }  ///< among the ranks of this machine
  bool leads() const { return rank() == 0; }
  place tensor() const { return {rank() % tensor_, tensor_}; }  ///< among the ranks that split the same layers
  place stage() const { return {rank() / tensor_, pipeline_}; }

  /// Numbers become the sums of those of all ranks of the stage, added in the order of ranks: the same bits everywhere.
  void sum(std::span<float> numbers);

  /// From a rank of one stage to the same one of the next.
  void send_to_next_stage(std::span<const float> numbers);
  void receive_from_last_stage(std::span<float> numbers);

  /// From each rank of the last stage its `part`, to all ranks, or to rank 0 alone after gather_at_rank_0(). Whoever
  /// gathers() receives them in `parts`, one from each; others pass none.
  void gather(std::span<const float> part, std::span<const std::span<float>> parts);
  bool gathers() const { return leads() || for_all_; }
  void gather_at_rank_0() { for_all_ = false; }

  /// Rank 0's message to all others or to one, and what they answer. answers() has one of each, in order of ranks.
  void tell(std::span<const std::byte> message);
  void tell(int rank, std::span<const std::byte> message) { send(rank, message); }
  std::vector<std::byte> listen();
  void answer(std::span<const std::byte> message);
  std::vector<std::vector<std::byte>> answers();

  void fail(const std::string& why) noexcept { by_->fail(why); }

  void fail_soon(std::string_view why) noexcept { by_->fail_soon(why); }

  /// As transport::watch().
  std::shared_ptr<void> watch(std::function<void(const std::string& why)> failed) {
    return by_->watch(std::move(failed));
  }

 private:
  int first_of_stage() const { return rank() / tensor_ * tensor_; }
  void sum_at_once(std::span<float> numbers);
  void sum_by_slices(std::span<float> numbers);
  void send(int to, std::span<const std::byte> message);
  std::vector<std::byte> receive(int from);

  std::shared_ptr<transport> by_;
  int tensor_;
  int pipeline_;
  bool for_all_ = true;
  std::vector<float> received_;
  std::vector<outgoing> out_;
  std::vector<incoming> in_;
};

}  // namespace cogen::parallel
