#include "network/backend/collectives.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

namespace cogen::device {

namespace {

std::span<float> floats_of(const at::Tensor& tensor) {
  return {tensor.mutable_data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

class host_collectives final : public collectives {
 public:
  explicit host_collectives(std::shared_ptr<parallel::rank_group> ranks) : ranks_(std::move(ranks)) {}

  parallel::place place() const override { return ranks_->tensor(); }
  void sum(const at::Tensor& numbers) override { ranks_->sum(floats_of(numbers)); }

  void gather(const at::Tensor& part, const std::vector<at::Tensor>& parts) override {
    std::vector<std::span<float>> received;
    received.reserve(parts.size());
    for (const auto& each : parts) received.push_back(floats_of(each));
    ranks_->gather(floats_of(part), received);
  }
  bool gathers() const override { return ranks_->gathers(); }

  void broadcast(const at::Tensor& numbers) override {
    const std::span bytes(static_cast<std::byte*>(numbers.mutable_data_ptr()), numbers.nbytes());
    if (ranks_->leads()) return ranks_->tell(bytes);
    const auto told = ranks_->listen();
    if (told.size() != bytes.size())
      throw parallel::rank_error(fmt::format("rank 0 sent {} bytes where {} were expected", told.size(), bytes.size()));
    std::memcpy(bytes.data(), told.data(), told.size());
  }

  void fail(std::string_view why) noexcept override { ranks_->fail_soon(why); }

 private:
  const std::shared_ptr<parallel::rank_group> ranks_;
};

}  // namespace

std::unique_ptr<collectives> make_host_collectives(std::shared_ptr<parallel::rank_group> ranks) {
  return std::make_unique<host_collectives>(std::move(ranks));
}

}  // namespace cogen::device
