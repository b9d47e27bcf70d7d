#include <cogen/scheduler/victims.hpp>

namespace cogen::scheduler {
namespace {

class by_work final : public victims {
 public:
  bool before(const holder& a, const holder& b) const noexcept override { return a.cached < b.cached; }
};

}  // namespace

std::unique_ptr<victims> least_cached() { return std::make_unique<by_work>(); }

}  // namespace cogen::scheduler
