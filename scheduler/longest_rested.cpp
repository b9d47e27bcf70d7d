#include <cogen/scheduler/victims.hpp>

namespace cogen::scheduler {
namespace {

class by_rest final : public victims {
 public:
  bool before(const holder& a, const holder& b) const noexcept override {
    return a.since && b.since && *a.since < *b.since;
  }
};

}  // namespace

std::unique_ptr<victims> longest_rested() { return std::make_unique<by_rest>(); }

}  // namespace cogen::scheduler
