#include "device_models.hpp"

#include "models/families.hpp"
#include "models/model_text.hpp"
#include "models/network_on_device.hpp"

namespace cogen::test {

std::shared_ptr<const model> golden_model_on(std::shared_ptr<const device::place> where, const std::string& name,
                                             at::ScalarType type) {
  const load::checkpoint files(COGEN_TEST_DATA "/golden/" + name);
  auto config = files.config();
  models::stored_weights weights(files, at::TensorOptions(where->device()).dtype(type), {});
  auto network = models::device_family_named(files.family())(config, weights);
  weights.finish();
  models::device_model on_device{std::move(where), std::move(network)};
  return std::make_shared<const model>(std::move(config), models::model_text{},
                                       std::make_unique<models::network_on_device>(std::move(on_device)));
}

}  // namespace cogen::test
