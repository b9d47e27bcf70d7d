// What models a batch-invariant engine on a GPU runs, and what it refuses.
#include "../engine/model_engines.hpp"
#include "../test_data.hpp"
#include "device_models.hpp"
#include "network/backend/cuda/batch_invariance.hpp"
#include "network/model/wanted_spec.hpp"
#include "network/nn/device/read_device_network.hpp"
#include "plain_backend.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <optional>
#include <ostream>
#include <string_view>

namespace cogen::test {

namespace {

namespace data = boost::unit_test::data;

/// Computes everything, and says what a GPU says.
class strict_backend final : public plain_backend {
 public:
  void check_batch_invariance(std::optional<std::string_view> part) const override {
    if (part) device::refuse_batch_invariance(*part);
  }
};

/// Why an engine does not start.
std::string why_not(const std::string& name) try {
  const auto model = golden_model_on(std::make_shared<strict_backend>(), name);
  auto options = tiny_engine(*model);
  options.kv.dtype.reset();
  options.batch_invariant = true;
  options.external_stepping = false;
  engine running(model, options);
  return "";
} catch (const std::invalid_argument& error) {
  return error.what();
}

struct refused_model {
  const char* name;
  const char* part;
};

std::ostream& operator<<(std::ostream& out, const refused_model& refused) { return out << refused.name; }

constexpr refused_model refused[] = {{"gpt2_published", "layer norms"},
                                     {"gemma_published", "norms with an offset or a bias"},
                                     {"qwen3_published", "norms of queries, keys or values"},
                                     {"glm4_published", "norms of a block's result"},
                                     {"mixtral_published", "experts"},
                                     {"deepseek_v2_lite", "latent attention"},
                                     {"mamba_tiny", "recurrent layers"},
                                     {"qwen3_5_typed", "norms with an offset or a bias"},
                                     {"rwkv_published", "norms of embeddings"}};

BOOST_AUTO_TEST_SUITE(device_batch_invariant_models)

BOOST_DATA_TEST_CASE(parts_of_kernels_run,
                     data::make({"llama_default", "llama_yarn", "mistral_window", "qwen2_published"}), name) {
  BOOST_TEST(why_not(name) == "");
}

BOOST_DATA_TEST_CASE(others_are_refused_by_name, data::make(refused), what) {
  BOOST_TEST(why_not(what.name) ==
             std::string("batch_invariant is set; CUDA devices do not compute ") + what.part + " so");
}

BOOST_AUTO_TEST_CASE(a_model_is_refused_before_its_weights_are_read) {
  const load::checkpoint files(golden_folder("mixtral_published"));
  const auto config = files.config();
  bool began = false;
  load_options options{.progress = [&](const load_progress&) { return began = true; }, .batch_invariant = true};
  const auto spec = nn::wanted_spec(files, config, options);
  const auto where = std::make_shared<strict_backend>();
  BOOST_CHECK_EXCEPTION(nn::read_network_on(where, files, spec, config, options, nullptr), std::invalid_argument,
                        [](const auto& error) { return std::string_view(error.what()).ends_with("experts so"); });
  BOOST_TEST(!began);
  options.batch_invariant = false;
  nn::read_network_on(where, files, spec, config, options, nullptr);
  BOOST_TEST(began);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::test
