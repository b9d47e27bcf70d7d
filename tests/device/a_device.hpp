#pragma once

#include "network/backend/backend.hpp"

#include <boost/test/unit_test.hpp>

#include <iostream>
#include <stdexcept>

namespace cogen::test {

/// A precondition of suites that need a GPU: without one they are skipped, and say so.
struct a_device {
  boost::test_tools::assertion_result operator()(boost::unit_test::test_unit_id suite) const {
    try {
      device::backend_named("cuda");
      return true;
    } catch (const std::invalid_argument& error) {
      boost::test_tools::assertion_result no(false);
      no.message() << error.what();
      std::cout << "no CUDA device: " << boost::unit_test::framework::get(suite, boost::unit_test::TUT_ANY).full_name()
                << " is skipped; " << error.what() << std::endl;
      return no;
    }
  }
};

}  // namespace cogen::test
