#include <cogen/policy.hpp>

namespace cogen::scheduler {
namespace {

class all_at_once final : public allocation_policy {
 public:
  int tokens(int /*needed*/, int most) const noexcept override { return most; }
};

}  // namespace

std::unique_ptr<allocation_policy> reserve_max_length() { return std::make_unique<all_at_once>(); }

}  // namespace cogen::scheduler
