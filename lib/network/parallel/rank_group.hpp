#pragma once

#include "network/parallel/place.hpp"
#include "network/parallel/transport.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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
  rank_group(std::shared_ptr<transport> channel, int tensor, int pipeline);

  int rank() const { return channel_->rank(); }
  int size() const { return channel_->size(); }
  int local_rank() const { return channel_->local_rank(); }  ///< among the ranks of this machine
  bool leads() const { return rank() == 0; }
  place tensor() const { return {rank() % tensor_, tensor_}; }  ///< among the ranks that split the same layers
  place stage() const { return {rank() / tensor_, pipeline_}; }

  /// Numbers become the sums of those of all ranks of the stage, added in the order of ranks: the same bits everywhere.
  void sum(std::span<float> numbers);

  /// From a rank of one stage to the same one of the next.
  void send_to_next_stage(std::span<const float> numbers);
  void receive_from_last_stage(std::span<float> numbers);

  /// From each rank of the last stage its `part`, to all ranks, or to rank 0 alone after gather_at_rank_0(). Ranks of
  /// that stage call it; those that gathers() receive the parts in `parts`, one from each, and others pass none.
  void gather(std::span<const float> part, std::span<const std::span<float>> parts);
  bool gathers() const { return leads() || for_all_; }
  void gather_at_rank_0() { for_all_ = false; }

  /// The same for ranks of earlier stages that gather, which go on meanwhile: the parts are there when a later call has
  /// sent rows to the next stage, or when collect() has returned that was given the number of this call. Parts are
  /// received in the order of calls, and have to be valid until then, or until forget_expected().
  std::uint64_t expect(std::span<const std::span<float>> parts);
  void collect(std::uint64_t number);
  void forget_expected() noexcept { expected_.clear(); }

  /// Sends what later stages have been told, and receives all that is expected.
  void flush() { exchange_with_stages({}, {}); }

  /// Rank 0's message to all others or to one, and what they answer. answers() has one of each, in order of ranks. What
  /// later stages are told goes with the next rows that are sent, or with flush(), whichever comes first.
  void tell(std::span<const std::byte> message);
  void tell(int rank, std::span<const std::byte> message);
  std::vector<std::byte> listen();
  void answer(std::span<const std::byte> message);
  std::vector<std::vector<std::byte>> answers();

  /// This rank has failed: what it exchanges with others throws, on its own side, too.
  void fail(const std::string& why) noexcept;

  void fail_soon(std::string_view why) noexcept { channel_->fail_soon(why); }

  /// As transport::watch().
  std::shared_ptr<void> watch(std::function<void(const std::string& why)> failed) {
    return channel_->watch(std::move(failed));
  }

 private:
  int first_of_stage() const { return rank() / tensor_ * tensor_; }
  int first_of_last_stage() const { return size() - tensor_; }
  void sum_at_once(std::span<float> numbers);
  void sum_by_slices(std::span<float> numbers);
  bool is_in_stage(int rank) const { return rank / tensor_ == stage().index; }
  void send(int receiver, std::span<const std::byte> message);
  void send_later(int receiver, std::span<const std::byte> bytes);
  std::vector<std::byte> receive(int sender);
  void exchange_with_stages(std::span<const outgoing> out, std::span<const incoming> in);

  std::shared_ptr<transport> channel_;
  int tensor_;
  int pipeline_;
  bool for_all_ = true;
  std::optional<std::string> failure_;
  std::vector<float> received_;
  std::vector<outgoing> out_;
  std::vector<incoming> in_;

  // A rank that waited for one of another stage until it takes or has these would keep it from its work.
  struct message {
    int receiver;
    std::vector<std::byte> bytes;
  };
  std::vector<message> unsent_;
  std::vector<incoming> expected_;
  std::uint64_t expectations_ = 0, received_expectations_ = 0;
};

}  // namespace cogen::parallel
