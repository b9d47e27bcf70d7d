#include <cogen/policy.hpp>

namespace cogen::scheduler {
namespace {

class by_size final : public preemption_policy {
 public:
  bool precedes(const holder& a, const holder& b) const noexcept override { return a.bytes > b.bytes; }
};

}  // namespace

std::unique_ptr<preemption_policy> largest() { return std::make_unique<by_size>(); }

}  // namespace cogen::scheduler
