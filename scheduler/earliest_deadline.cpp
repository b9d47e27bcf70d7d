#include <cogen/scheduler/order.hpp>

namespace cogen::scheduler {
namespace {

class earliest_deadline_order final : public order {
 public:
  bool before(const candidate& a, const candidate& b) const noexcept override { return a.deadline < b.deadline; }
  bool refuses_late() const noexcept override { return true; }
};

}  // namespace

std::unique_ptr<order> earliest_deadline_first() { return std::make_unique<earliest_deadline_order>(); }

}  // namespace cogen::scheduler
