#include <cogen/policy.hpp>

namespace cogen::scheduler {
namespace {

class by_work final : public preemption_policy {
 public:
  bool precedes(const holder& a, const holder& b) const noexcept override { return a.cached < b.cached; }
};

}  // namespace

std::unique_ptr<preemption_policy> least_cached() { return std::make_unique<by_work>(); }

}  // namespace cogen::scheduler
