#include <cogen/scheduler/order.hpp>

namespace cogen::scheduler {
namespace {

class first_come_order final : public order {
 public:
  bool before(const candidate& a, const candidate& b) const noexcept override { return a.arrival < b.arrival; }
};

}  // namespace

std::unique_ptr<order> first_come() { return std::make_unique<first_come_order>(); }

}  // namespace cogen::scheduler
