#include "cache_model.hpp"
#include "network/kernels/gather_cuda.hpp"

#include <boost/test/unit_test.hpp>

#include <stdexcept>

namespace cogen::kernels::cuda {
namespace {

BOOST_AUTO_TEST_SUITE(cuda_gather_test, *boost::unit_test::precondition(on_device))

BOOST_AUTO_TEST_CASE(positions_of_a_slot_are_laid_out_one_after_the_other) {
  for (const number type : half_types)
    for (const number stored : {type, number::fp8})
      for (const int ring : {0, 96}) {
        layer_memory memory({.type = stored, .kv_heads = 3, .head_dim = 96, .slots = 3, .places = 150, .ring = ring});
        random_source random(500);
        for (int position = 0; position < 150; ++position)
          for (const bool value : {false, true})
            memory.put(value, 1, position, random.normals(static_cast<std::size_t>(memory.row())));
        memory.upload();
        const int first = ring ? 150 - ring : 0, count = 150 - first;
        const auto numbers = static_cast<std::size_t>(count * memory.row());
        const device_numbers keys(type, numbers), values(type, numbers);
        gather_keys_values(
            memory.layer(),
            {.slot = 1, .first = first, .count = count, .keys = keys.data(), .values = values.data(), .type = type},
            nullptr);
        std::vector<float> expected[2];
        for (const bool value : {false, true})
          for (int position = first; position < 150; ++position)
            for (const float each : memory.get(value, 1, position)) expected[value].push_back(each);
        BOOST_TEST((keys.read() == expected[0]));
        BOOST_TEST((values.read() == expected[1]));
      }
}

BOOST_AUTO_TEST_CASE(what_it_cannot_take_is_refused) {
  kv_layer layer{.kv_heads = 1, .head_dim = 64};
  BOOST_CHECK_THROW(gather_keys_values(layer, {.count = 1, .type = number::f16}, nullptr), std::invalid_argument);
  BOOST_CHECK_THROW(gather_keys_values(layer, {.count = 1, .type = number::f32}, nullptr), std::invalid_argument);
  layer.head_dim = 60;
  BOOST_CHECK_THROW(gather_keys_values(layer, {.count = 1}, nullptr), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::kernels::cuda
