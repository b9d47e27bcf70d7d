#include <cogen/policy.hpp>

#include <stdexcept>
#include <string>

namespace cogen::scheduler {
namespace {

std::int64_t share(double fraction, std::int64_t budget) {
  return fraction < 1 ? static_cast<std::int64_t>(fraction * static_cast<double>(budget)) : budget;
}

class as_it_grows final : public allocation_policy {
 public:
  explicit as_it_grows(const watermark_options& options) : options_(options) {}

  int tokens(int needed, int most) const noexcept override {
    return options_.step < most - needed ? needed + options_.step : most;
  }
  std::int64_t high(std::int64_t budget) const noexcept override { return share(options_.high, budget); }
  std::int64_t low(std::int64_t budget) const noexcept override { return share(options_.low, budget); }

 private:
  const watermark_options options_;
};

void check(const watermark_options& options) {
  if (!(options.high > 0 && options.high <= 1))
    throw std::invalid_argument("watermarks.high is " + std::to_string(options.high) +
                                "; it must be above 0 and at most 1");
  if (!(options.low > 0 && options.low <= options.high))
    throw std::invalid_argument("watermarks.low is " + std::to_string(options.low) +
                                "; it must be above 0 and at most high, " + std::to_string(options.high));
  if (options.step < 0)
    throw std::invalid_argument("watermarks.step is " + std::to_string(options.step) + "; it must be at least 0");
}

}  // namespace

std::unique_ptr<allocation_policy> watermarks(const watermark_options& options) {
  check(options);
  return std::make_unique<as_it_grows>(options);
}

}  // namespace cogen::scheduler
