#include "../test_data.hpp"
#include "network/backend/tensor_weights.hpp"
#include "network/models/families.hpp"
#include "network/models/model_spec.hpp"
#include "network/nn/device/device_model.hpp"
#include "plain_backend.hpp"

#include <cogen/load/checkpoint.hpp>

#include <boost/test/unit_test.hpp>

#include <memory>
#include <stdexcept>
#include <string>

namespace cogen::test {

BOOST_AUTO_TEST_SUITE(device_blocks)

BOOST_AUTO_TEST_CASE(blocks_of_the_same_kind_are_not_parallel) {
  const load::checkpoint files(golden_folder("falcon_h1_scaled"));
  const auto config = files.config();
  auto spec = models::family_named(files.family())(files.fields(), config);
  const auto load = [&] {
    device::random_weights weights(at::TensorOptions().dtype(at::kFloat), 0.1);
    const nn::device_model model(std::make_shared<plain_backend>(), spec, config, weights);
  };
  load();
  spec.blocks[1] = spec.blocks[0];
  spec.blocks[1].parallel = true;
  BOOST_CHECK_EXCEPTION(load(), std::invalid_argument, [](const auto& why) {
    return std::string(why.what()) == R"(devices do not run parallel blocks of the same kind; "cpu" does)";
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
