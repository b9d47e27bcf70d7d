#pragma once

#include "../test_data.hpp"

#include <cogen/model.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace cogen::test {

/// A model of a few layers and odd sizes; the same object each time.
std::shared_ptr<const model> tiny_model();

/// SmolLM2, the same object each time.
std::shared_ptr<const model> default_model();

/// Tokens of the model's vocabulary, the same for the same seed.
std::vector<token> random_tokens(const model& model, int count, unsigned seed);

/// Sets an environment variable for as long as it lives.
class environment_setting {
 public:
  environment_setting(std::string name, const std::string& value);
  environment_setting(const environment_setting&) = delete;
  environment_setting& operator=(const environment_setting&) = delete;
  ~environment_setting();

 private:
  std::string name_;
  std::optional<std::string> previous_;
};

}  // namespace cogen::test
