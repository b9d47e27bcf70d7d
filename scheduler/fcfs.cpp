#include <cogen/policy.hpp>

namespace cogen::scheduler {
namespace {

class fcfs_policy final : public scheduling_policy {
 public:
  bool precedes(const candidate& a, const candidate& b) const noexcept override { return a.arrival < b.arrival; }
};

}  // namespace

std::unique_ptr<scheduling_policy> fcfs() { return std::make_unique<fcfs_policy>(); }

}  // namespace cogen::scheduler
