#include "network/model/pending_logits.hpp"

#include "network/models/tensor_shards.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cogen::nn {

pending_logits::pending_logits(parallel::rank_group& ranks, std::int64_t rows, std::int64_t vocabulary)
    : ranks_(&ranks), whole_(rows, vocabulary) {}

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
  if (in_place) {
    last_ = ranks_->expect({{whole_.view().rows_from(rows.front(), count).numbers()}});
    return;
  }
  std::vector<matrix> received;
  for (int rank = 0; rank < shards; ++rank)
    received.emplace_back(count, models::logits_columns(whole_.columns(), {rank, shards}).count);
  std::vector<std::span<float>> targets;
  for (const auto& shard : received) targets.push_back(shard.numbers());
  last_ = ranks_->expect(targets);
  parts_.push_back({{rows.begin(), rows.end()}, std::move(received)});
}

matrix pending_logits::wait() {
  ranks_->collect(last_);
  ranks_ = nullptr;
  for (const auto& [rows, shards] : parts_)
    for (std::size_t rank = 0; rank < shards.size(); ++rank) {
      const auto columns =
          models::logits_columns(whole_.columns(), {static_cast<int>(rank), static_cast<int>(shards.size())});
      for (std::size_t i = 0; i < rows.size(); ++i)
        std::ranges::copy(shards[rank][static_cast<std::int64_t>(i)], whole_[rows[i]].begin() + columns.first);
    }
  return std::move(whole_);
}

}  // namespace cogen::nn
