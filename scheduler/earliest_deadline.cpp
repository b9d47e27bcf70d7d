#include <cogen/policy.hpp>

namespace cogen::scheduler {
namespace {

class earliest_deadline_policy final : public scheduling_policy {
 public:
  bool precedes(const candidate& a, const candidate& b) const noexcept override { return a.deadline < b.deadline; }
  bool refuses_late() const noexcept override { return true; }
};

}  // namespace

std::unique_ptr<scheduling_policy> earliest_deadline_first() { return std::make_unique<earliest_deadline_policy>(); }

}  // namespace cogen::scheduler
