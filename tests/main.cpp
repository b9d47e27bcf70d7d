#define BOOST_TEST_MODULE cogen
#include <boost/test/unit_test.hpp>
