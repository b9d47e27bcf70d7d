#include "some_models.hpp"

#include <cstdlib>

namespace cogen::test {

std::shared_ptr<const model> tiny_model() {
  static const auto loaded = load_model(golden_folder("llama_llama3"), {.threads = 1});
  return loaded;
}

std::shared_ptr<const model> default_model() {
  static const auto model = load_model(default_model_file());
  return model;
}

std::vector<token> random_tokens(const model& model, int count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<token> any(0, static_cast<token>(model.config().vocabulary - 1));
  std::vector<token> tokens(static_cast<std::size_t>(count));
  for (auto& id : tokens) id = any(random);
  return tokens;
}

// No thread reads the environment meanwhile.
// NOLINTBEGIN(concurrency-mt-unsafe)
environment_setting::environment_setting(std::string name, const std::string& value) : name_(std::move(name)) {
  if (const char* old = std::getenv(name_.c_str())) previous_ = old;
  setenv(name_.c_str(), value.c_str(), 1);
}

environment_setting::~environment_setting() {
  if (previous_) {
    setenv(name_.c_str(), previous_->c_str(), 1);
  } else {
    unsetenv(name_.c_str());
  }
}
// NOLINTEND(concurrency-mt-unsafe)

}  // namespace cogen::test
