#include <cogen/drafter.hpp>

#include <algorithm>

namespace cogen {
namespace {

class mtp_drafter final : public drafter {
 public:
  using drafter::draft;

  std::vector<token> draft(std::span<const token> /*history*/, int /*most*/) override { return {}; }

  std::vector<token> draft(std::span<const token> /*history*/, std::span<const token> predicted, int most) override {
    const auto count = std::min(predicted.size(), static_cast<std::size_t>(most));
    return {predicted.begin(), predicted.begin() + static_cast<std::ptrdiff_t>(count)};
  }

  bool reads_predictions() const noexcept override { return true; }
};

}  // namespace

std::shared_ptr<drafter> mtp() { return std::make_shared<mtp_drafter>(); }

}  // namespace cogen
