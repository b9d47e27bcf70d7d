#include <cogen/scheduler/victims.hpp>

namespace cogen::scheduler {
namespace {

class by_size final : public victims {
 public:
  bool before(const holder& a, const holder& b) const noexcept override { return a.bytes > b.bytes; }
};

}  // namespace

std::unique_ptr<victims> largest() { return std::make_unique<by_size>(); }

}  // namespace cogen::scheduler
