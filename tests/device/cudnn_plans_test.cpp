// What cuDNN says of the graphs for prompts on a device that is not there. It looks for plans, and makes none.
#include "network/backend/cuda/cudnn_graph.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <memory>
#include <ostream>
#include <string_view>
#include <vector>

namespace cogen::test {

namespace {

namespace data = boost::unit_test::data;
namespace fe = cudnn_frontend;

/// An H100, in cuDNN's own words.
constexpr std::string_view hopper = R"({
  "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536,
  "multiProcessorCount": 132, "warpSize": 32, "maxSharedMemoryPerBlock": 49152,
  "maxSharedMemoryPerBlockOptin": 232448, "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536,
  "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "pciDeviceId": 0, "isTccDriver": 0,
  "supportCoopLaunch": 1, "totalGlobalMem": 85017493504, "smClockRateKHz": 1980000, "memClockRateKHz": 2619000,
  "l2CacheSize": 52428800, "cudaDeviceId": 0, "deviceVer": 900, "driverVer": 13000,
  "deviceName": "NVIDIA H100 80GB HBM3"})";

struct heads_of {
  int queries;
  int keys;
  int dim;

  friend std::ostream& operator<<(std::ostream& out, const heads_of& heads) {
    return out << heads.queries << " heads over " << heads.keys << " of " << heads.dim;
  }
};

constexpr heads_of all_heads[] = {{32, 8, 128}, {32, 4, 64}, {16, 16, 64}, {32, 32, 96}, {8, 1, 256}, {71, 1, 64}};

constexpr device::prompt_bucket all_buckets[] = {
    {1, 128, 1024}, {1, 2048, 4096}, {4, 512, 1024}, {16, 2048, 16384}, {256, 8192, 262144}};

device::prompt_plan_shape shape_of(const heads_of& heads, const device::prompt_bucket& bucket, int window) {
  const std::int64_t keys = heads.keys * heads.dim, queries = heads.queries * heads.dim;
  return {.layout = {.heads = heads.queries,
                     .kv_heads = heads.keys,
                     .head_dim = heads.dim,
                     .slots = 16,
                     .slot_tokens = 8192,
                     .token_stride = keys,
                     .query_stride = queries + 2 * keys,
                     .out_stride = queries},
          .bucket = bucket,
          .window = window,
          .scale = 0.1F};
}

/// Without the last part, which sends kernels to the device.
fe::error_t found(const device::prompt_plan_shape& shape) {
  if (const auto& why = device::load_cudnn(); !why.empty()) return {fe::error_code_t::HANDLE_ERROR, why};
  auto where = std::make_shared<fe::DeviceProperties>();
  if (auto status = where->deserialize({hopper.begin(), hopper.end()}); status.is_bad()) return status;
  const auto graph = device::make_prompt_graph(shape, 90);
  graph->set_device_properties(where);
  graph->deselect_workspace_greater_than(device::max_workspace_bytes);
  if (auto status = graph->validate(); status.is_bad()) return status;
  if (auto status = graph->build_operation_graph(); status.is_bad()) return status;
  if (auto status = graph->create_execution_plans({fe::HeurMode_t::A}); status.is_bad()) return status;
  return graph->check_support();
}

BOOST_AUTO_TEST_SUITE(cudnn_plans)

BOOST_DATA_TEST_CASE(there_is_a_plan_for_every_bucket, data::make(all_heads) * data::make({0, 1, 100, 4096}), heads,
                     window) {
  for (const auto& bucket : all_buckets)
    for (const bool is_bfloat16 : {true, false}) {
      auto shape = shape_of(heads, bucket, window);
      shape.is_bfloat16 = is_bfloat16;
      auto status = found(shape);
      BOOST_TEST(status.is_good(), bucket.prompts << " prompts of " << bucket.longest << ": " << status.get_message());
    }
}

BOOST_AUTO_TEST_CASE(what_cudnn_does_not_support_it_says) {
  auto status = found(shape_of({32, 8, 100}, all_buckets[0], 0));
  BOOST_TEST(status.is_bad());
  BOOST_TEST(!status.get_message().empty());
  BOOST_TEST(found(shape_of({32, 5, 128}, all_buckets[0], 0)).is_bad());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
