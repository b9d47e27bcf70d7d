#include "plain_backend.hpp"
#include "tested_backend.hpp"

namespace cogen::test {

std::shared_ptr<const device::backend> tested_backend() {
  auto backend = std::make_shared<plain_backend>();
  backend->page = 4096;
  return backend;
}

boost::test_tools::assertion_result the_tested_place::operator()(boost::unit_test::test_unit_id) const { return true; }

}  // namespace cogen::test
