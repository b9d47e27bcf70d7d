// What modules.json of Sentence Transformers lists.
#include "formats/checkpoint/sentence_modules.hpp"

#include "../load/temporary_folder.hpp"

#include <cogen/load/model_config.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace cogen::load {
namespace {

/// A folder whose modules are of these classes, each with its settings: {"Pooling", "{…}"}.
class model_folder {
 public:
  explicit model_folder(const std::vector<std::pair<std::string, std::string>>& modules) {
    std::string listed;
    for (const auto& [type, settings] : modules) {
      const auto path = std::to_string(count_++) + "_" + type;
      std::filesystem::create_directory(folder_.path() / path);
      if (!settings.empty()) (void)folder_.write(path + "/config.json", settings);
      listed += (listed.empty() ? "" : ", ") + ("{\"type\": \"sentence_transformers.models." + type) +
                "\", \"path\": \"" + path + "\"}";
    }
    (void)folder_.write("modules.json", "[" + listed + "]");
  }

  sentence_modules read() const { return read_sentence_modules(folder_.path()).value(); }

  void check_refused(const std::string& part) const {
    BOOST_CHECK_EXCEPTION(read(), load_error, [&](const load_error& error) {
      return std::string(error.what()).find(part) != std::string::npos;
    });
  }

 private:
  temporary_folder folder_;
  int count_ = 0;
};

BOOST_AUTO_TEST_SUITE(modules)

BOOST_AUTO_TEST_CASE(a_folder_may_have_none) {
  const temporary_folder folder;
  BOOST_TEST(!read_sentence_modules(folder.path()).has_value());
}

BOOST_AUTO_TEST_CASE(pooling_is_spelled_in_two_ways) {
  const auto pooling = [](const std::string& settings) { return model_folder({{"Pooling", settings}}).read().pooling; };
  BOOST_TEST(pooling(R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})") == "cls");
  BOOST_TEST(pooling(R"({"pooling_mode_lasttoken": true})") == "last");
  BOOST_TEST(pooling(R"({"pooling_mode": "mean"})") == "mean");
  BOOST_TEST(pooling(R"({"pooling_mode": "lasttoken"})") == "last");
}

BOOST_AUTO_TEST_CASE(dense_layers_and_a_normalization_follow) {
  const auto found = model_folder({{"Transformer", ""},
                                   {"Pooling", R"({"pooling_mode_mean_tokens": true})"},
                                   {"Dense", R"({"in_features": 8, "out_features": 12, "bias": false,
                                  "activation_function": "torch.nn.modules.linear.Identity"})"},
                                   {"Dense", R"({"in_features": 12, "out_features": 4})"},
                                   {"Normalize", ""}})
                         .read();
  BOOST_TEST(found.normalize);
  BOOST_REQUIRE(found.dense.size() == 2u);
  BOOST_TEST(found.dense[0].path == "2_Dense");
  BOOST_TEST((found.dense[0].inputs == 8 && found.dense[0].outputs == 12));
  BOOST_TEST((!found.dense[0].bias && !found.dense[0].tanh));
  BOOST_TEST((found.dense[1].bias && found.dense[1].tanh));
}

BOOST_AUTO_TEST_CASE(what_is_not_known_is_named) {
  model_folder({{"Pooling", R"({"pooling_mode_max_tokens": true})"}}).check_refused("pooling_mode_max_tokens");
  model_folder({{"Pooling", R"({"pooling_mode_cls_token": false, "pooling_mode_mean_tokens": false})"}})
      .check_refused("none is given");
  model_folder({{"Pooling", R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true})"}})
      .check_refused("one way");
  model_folder({{"WeightedLayerPooling", "{}"}}).check_refused("a module 'WeightedLayerPooling'");
  model_folder({{"Normalize", ""}, {"Pooling", "{}"}}).check_refused("normalization");
  model_folder({{"Dense", R"({"in_features": 8, "out_features": 12, "activation_function": "torch.nn.ReLU"})"}})
      .check_refused("activation_function");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::load
