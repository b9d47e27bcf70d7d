#pragma once

#include "network/backend/backend.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>

namespace cogen::test {

/// Where suites run that hold for every device: each program that has them says so.
std::shared_ptr<const device::backend> tested_backend();

/// Whether it is there.
struct the_tested_place {
  boost::test_tools::assertion_result operator()(boost::unit_test::test_unit_id suite) const;
};

}  // namespace cogen::test
