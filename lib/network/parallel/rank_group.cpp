#include "network/parallel/rank_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace cogen::parallel {

namespace {

/// From here on each rank adds one slice and sends the others its sums: less is sent, but twice.
constexpr std::size_t large = std::size_t{1} << 14;

/// The slice of `numbers` that one rank of `ranks` adds.
std::span<float> slice(std::span<float> numbers, int rank, int ranks) {
  const auto begin_of = [&](int index) {
    return numbers.size() * static_cast<std::size_t>(index) / static_cast<std::size_t>(ranks);
  };
  return numbers.subspan(begin_of(rank), begin_of(rank + 1) - begin_of(rank));
}

/// sum = the parts of all ranks in their order. sum holds that of rank `own`; the others' lie in `received`.
void add_in_order(std::span<float> sum, int own, int ranks, const float* received) {
  if (own > 0) {  // the first parts do not depend on this rank's
    for (std::size_t i = 0; i < sum.size(); ++i) {
      float first = received[i];
      for (int rank = 1; rank < own; ++rank) first += received[static_cast<std::size_t>(rank) * sum.size() + i];
      sum[i] = first + sum[i];
    }
  }
  for (int rank = own + 1; rank < ranks; ++rank) {
    const float* part = received + static_cast<std::size_t>(rank - 1) * sum.size();
    std::transform(sum.begin(), sum.end(), part, sum.begin(), std::plus());
  }
}

}  // namespace

rank_group::rank_group(std::shared_ptr<transport> channel, int tensor, int pipeline)
    : channel_(std::move(channel)), tensor_(tensor), pipeline_(pipeline) {
  if (channel_->size() != tensor * pipeline)
    throw std::invalid_argument(
        fmt::format("load_options.parallel asks for {} ranks ({} tensor, {} pipeline); this program runs as {}",
                    tensor * pipeline, tensor, pipeline, channel_->size()));
}

void rank_group::sum(std::span<float> numbers) {
  if (tensor_ == 1 || numbers.empty()) return;
  if (tensor_ > 2 && numbers.size() >= large)
    sum_by_slices(numbers);
  else
    sum_at_once(numbers);
}

void rank_group::sum_at_once(std::span<float> numbers) {
  const int own = tensor().index, first = first_of_stage();
  received_.resize(std::max(received_.size(), numbers.size() * static_cast<std::size_t>(tensor_ - 1)));
  out_.clear(), in_.clear();
  float* target = received_.data();
  for (int peer = 0; peer < tensor_; ++peer) {
    if (peer == own) continue;
    out_.push_back({first + peer, std::as_bytes(numbers)});
    in_.push_back({first + peer, std::as_writable_bytes(std::span(target, numbers.size()))});
    target += numbers.size();
  }
  channel_->exchange(out_, in_);
  add_in_order(numbers, own, tensor_, received_.data());
}

void rank_group::sum_by_slices(std::span<float> numbers) {
  const int own = tensor().index, first = first_of_stage();
  const auto mine = slice(numbers, own, tensor_);
  received_.resize(std::max(received_.size(), mine.size() * static_cast<std::size_t>(tensor_ - 1)));
  const auto with_others = [&](const auto& each_other) {
    out_.clear(), in_.clear();
    for (int peer = 0; peer < tensor_; ++peer)
      if (peer != own) each_other(peer);
    channel_->exchange(out_, in_);
  };
  float* target = received_.data();
  with_others([&](int peer) {
    out_.push_back({first + peer, std::as_bytes(slice(numbers, peer, tensor_))});
    in_.push_back({first + peer, std::as_writable_bytes(std::span(target, mine.size()))});
    target += mine.size();
  });
  add_in_order(mine, own, tensor_, received_.data());
  with_others([&](int peer) {
    out_.push_back({first + peer, std::as_bytes(mine)});
    in_.push_back({first + peer, std::as_writable_bytes(slice(numbers, peer, tensor_))});
  });
}

void rank_group::send_to_next_stage(std::span<const float> numbers) {
  const outgoing rows{rank() + tensor_, std::as_bytes(numbers)};
  exchange_with_stages({&rows, 1}, {});
}

void rank_group::receive_from_last_stage(std::span<float> numbers) {
  const incoming rows{rank() - tensor_, std::as_writable_bytes(numbers)};
  exchange_with_stages({}, {&rows, 1});
}

/// What ranks send and receive between stages, and what has waited for that.
void rank_group::exchange_with_stages(std::span<const outgoing> out, std::span<const incoming> in) {
  if (failure_) throw rank_error(*failure_);
  const auto unsent = std::exchange(unsent_, {});
  out_.clear();
  for (const auto& each : unsent) out_.push_back({each.receiver, each.bytes});
  out_.insert(out_.end(), out.begin(), out.end());
  in_ = std::exchange(expected_, {});
  in_.insert(in_.end(), in.begin(), in.end());
  if (!out_.empty() || !in_.empty()) channel_->exchange(out_, in_);
  received_expectations_ = expectations_;
}

void rank_group::send_later(int receiver, std::span<const std::byte> bytes) {
  unsent_.push_back({receiver, {bytes.begin(), bytes.end()}});
}

void rank_group::gather(std::span<const float> part, std::span<const std::span<float>> parts) {
  if (pipeline_ > 1 && !for_all_) return send_later(0, std::as_bytes(part));
  const int first = first_of_last_stage();
  out_.clear(), in_.clear();
  for (int receiver = 0; receiver < (for_all_ ? size() : 1); ++receiver)
    if (receiver != rank()) out_.push_back({receiver, std::as_bytes(part)});
  for (int peer = 0; peer < static_cast<int>(parts.size()); ++peer) {
    const auto target = parts[static_cast<std::size_t>(peer)];
    if (first + peer == rank())
      std::ranges::copy(part, target.begin());
    else
      in_.push_back({first + peer, std::as_writable_bytes(target)});
  }
  if (!out_.empty() || !in_.empty()) channel_->exchange(out_, in_);
}

std::uint64_t rank_group::expect(std::span<const std::span<float>> parts) {
  int sender = first_of_last_stage();
  for (const auto part : parts) expected_.push_back({sender++, std::as_writable_bytes(part)});
  return ++expectations_;
}

void rank_group::collect(std::uint64_t number) {
  if (failure_) throw rank_error(*failure_);
  if (received_expectations_ < number) flush();
}

void rank_group::tell(std::span<const std::byte> message) {
  for (int receiver = 1; receiver < size(); ++receiver) tell(receiver, message);
}

void rank_group::tell(int receiver, std::span<const std::byte> message) {
  if (is_in_stage(receiver)) return send(receiver, message);
  const std::uint64_t length = message.size();
  send_later(receiver, std::as_bytes(std::span(&length, 1)));
  if (!message.empty()) send_later(receiver, message);
}

std::vector<std::byte> rank_group::listen() { return receive(0); }

void rank_group::answer(std::span<const std::byte> message) { send(0, message); }

std::vector<std::vector<std::byte>> rank_group::answers() {
  std::vector<std::vector<std::byte>> messages;
  for (int sender = 1; sender < size(); ++sender) messages.push_back(receive(sender));
  return messages;
}

/// Without memory for the reason, it is unknown.
void rank_group::fail(const std::string& why) noexcept {
  channel_->fail(why);
  if (!failure_) try {
      failure_.emplace() = why;
    } catch (const std::bad_alloc&) {
    }
}

/// A message follows its length.
void rank_group::send(int receiver, std::span<const std::byte> message) {
  const std::uint64_t length = message.size();
  const outgoing parts[] = {{receiver, std::as_bytes(std::span(&length, 1))}, {receiver, message}};
  const auto pieces = std::span(parts).first(message.empty() ? 1 : 2);
  is_in_stage(receiver) ? channel_->exchange(pieces, {}) : exchange_with_stages(pieces, {});
}

std::vector<std::byte> rank_group::receive(int sender) {
  std::uint64_t length = 0;
  const incoming header{sender, std::as_writable_bytes(std::span(&length, 1))};
  exchange_with_stages({}, {&header, 1});
  std::vector<std::byte> message;
  if (length > std::uint64_t{1} << 40)
    throw rank_error(fmt::format("rank {} announced a message of {} bytes", sender, length));
  message.resize(length);
  const incoming whole{sender, message};
  if (length > 0) exchange_with_stages({}, {&whole, 1});
  return message;
}

}  // namespace cogen::parallel
