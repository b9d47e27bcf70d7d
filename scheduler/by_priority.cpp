#include <cogen/policy.hpp>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

namespace cogen::scheduler {
namespace {

using limit = std::numeric_limits<std::int64_t>;

/// Saturates at the ends of the range.
std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t result;
  if (!__builtin_mul_overflow(a, b, &result)) return result;
  return (a < 0) == (b < 0) ? limit::max() : limit::min();
}

std::int64_t difference(std::int64_t a, std::int64_t b) {
  std::int64_t result;
  if (!__builtin_sub_overflow(a, b, &result)) return result;
  return b < 0 ? limit::max() : limit::min();
}

class priority_policy final : public scheduling_policy {
 public:
  explicit priority_policy(time boost) : boost_(boost) {
    if (boost.count() < 0)
      throw std::invalid_argument("boost is " + std::to_string(boost.count()) + " ns; it must be at least 0");
  }

  bool precedes(const candidate& a, const candidate& b) const noexcept override { return due(a) < due(b); }

  bool displaces(const candidate& waits, const candidate& runs) const noexcept override {
    return waits.priority > runs.priority;
  }

 private:
  std::int64_t due(const candidate& run) const {
    return difference(run.asked.count(), product(run.priority, boost_.count()));
  }

  time boost_;
};

}  // namespace

std::unique_ptr<scheduling_policy> by_priority(time boost) { return std::make_unique<priority_policy>(boost); }

}  // namespace cogen::scheduler
