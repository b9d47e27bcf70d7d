#include "a_device.hpp"
#include "tested_backend.hpp"

namespace cogen::test {

std::shared_ptr<const device::backend> tested_backend() { return device::backend_named("cuda"); }

boost::test_tools::assertion_result the_tested_place::operator()(boost::unit_test::test_unit_id suite) const {
  return a_device()(suite);
}

}  // namespace cogen::test
