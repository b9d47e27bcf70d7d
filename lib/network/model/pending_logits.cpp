#include "network/model/pending_logits.hpp"

#include "network/models/tensor_shards.hpp"
#include "network/nn/host_tensor.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cogen::nn {

namespace {

std::span<float> span_of(const at::Tensor& tensor) {
  return {floats_of(tensor), static_cast<std::size_t>(tensor.numel())};
}

}  // namespace

pending_logits::pending_logits(parallel::rank_group& ranks, std::int64_t rows, std::int64_t vocabulary)
    : ranks_(&ranks), whole_(host_floats(rows, vocabulary)) {}

pending_logits::pending_logits(pending_logits&& other) noexcept
    : ranks_(std::exchange(other.ranks_, nullptr)),
      last_(other.last_),
      whole_(std::move(other.whole_)),
      parts_(std::move(other.parts_)) {}

pending_logits::~pending_logits() {
  if (ranks_) ranks_->forget_expected();
}

void pending_logits::expect(std::span<const int> rows) {
  if (rows.empty()) return;
  const int shards = ranks_->tensor().count;
  const auto count = static_cast<std::int64_t>(rows.size());
  const bool in_place = shards == 1 && rows.back() - rows.front() + 1 == count;
  std::vector<at::Tensor> received;
  for (int rank = 0; rank < shards; ++rank)
    received.push_back(in_place ? whole_.narrow(0, rows.front(), count)
                                : host_floats(count, models::logits_columns(whole_.size(1), {rank, shards}).count));
  std::vector<std::span<float>> targets;
  std::ranges::transform(received, std::back_inserter(targets), span_of);
  last_ = ranks_->expect(targets);
  if (!in_place) parts_.push_back({{rows.begin(), rows.end()}, std::move(received)});
}

at::Tensor pending_logits::wait() {
  ranks_->collect(last_);
  ranks_ = nullptr;
  for (const auto& [rows, shards] : parts_)
    for (std::size_t rank = 0; rank < shards.size(); ++rank) {
      const auto columns =
          models::logits_columns(whole_.size(1), {static_cast<int>(rank), static_cast<int>(shards.size())});
      for (std::size_t i = 0; i < rows.size(); ++i)
        whole_[rows[i]].narrow(0, columns.first, columns.count).copy_(shards[rank][static_cast<std::int64_t>(i)]);
    }
  return whole_;
}

}  // namespace cogen::nn
