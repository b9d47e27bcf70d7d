#include <cogen/policy.hpp>

namespace cogen::scheduler {
namespace {

class by_rest final : public preemption_policy {
 public:
  bool precedes(const holder& a, const holder& b) const noexcept override {
    return a.since && b.since && *a.since < *b.since;
  }
};

}  // namespace

std::unique_ptr<preemption_policy> longest_idle() { return std::make_unique<by_rest>(); }

}  // namespace cogen::scheduler
