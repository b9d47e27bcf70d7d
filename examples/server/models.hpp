#pragma once

#include <cogen/engine.hpp>
#include <cogen/model.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace server {

/// A model that is loaded, and its engine.
struct served_model {
  std::string name;
  std::string path;
  std::int64_t created = 0;  ///< in seconds of Unix time
  int slots = 0;
  std::shared_ptr<const cogen::model> model;
  std::unique_ptr<cogen::engine> engine;

  const cogen::text::tokenizer* tokenizer_or_null() const;
  const cogen::text::tokenizer& tokenizer() const;  ///< throws api::error if there is none
};

/// The models of the server. For one thread.
class model_table {
 public:
  void add(std::shared_ptr<served_model> one) { models_.push_back(std::move(one)); }
  void set_ready() { ready_ = true; }
  bool ready() const noexcept { return ready_; }  ///< whether all are loaded

  /// The model of this name; the first one if none is named, and if there is no other. Throws api::error: 503 while
  /// models are loaded, 404 for an unknown name.
  std::shared_ptr<served_model> named(const std::optional<std::string>& name) const;

  const std::vector<std::shared_ptr<served_model>>& all() const noexcept { return models_; }

 private:
  std::vector<std::shared_ptr<served_model>> models_;
  bool ready_ = false;
};

}  // namespace server
