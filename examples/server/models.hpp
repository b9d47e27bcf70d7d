#pragma once

#include "draft_source.hpp"
#include "kept_slots.hpp"
#include "metrics/meter.hpp"

#include <cogen/engine.hpp>
#include <cogen/fwd.hpp>
#include <cogen/load/model_config.hpp>
#include <cogen/text/tokenizer.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace server {

class running_answer;

/// A model that is loaded, and its engine.
struct served_model {
  std::string name;
  std::vector<std::string> aliases = {};
  std::string path;
  std::int64_t created = 0;  ///< in seconds of Unix time
  int slots = 0;
  std::shared_ptr<const cogen::model> model;
  cogen::load::generation_defaults generation = {};  ///< for requests that do not say
  cogen::load::score_activation shown_scores = cogen::load::score_activation::sigmoid;
  std::unique_ptr<draft_source> drafts = {};  ///< null: none
  std::unique_ptr<cogen::engine> engine;
  std::shared_ptr<metrics::meter> meter;
  int max_length = 0;               ///< tokens of a sequence
  std::int64_t sequence_bytes = 0;  ///< that the cache of the longest sequence takes
  std::int64_t cache_capacity = 0;  ///< bytes that its caches may take
  std::vector<const running_answer*> running = {};
  server::kept_slots kept_slots = {};  ///< for /slots/{id}

  bool is_called(std::string_view other) const;  ///< by its name or an alias
  const cogen::text::tokenizer* tokenizer_or_null() const;
  const cogen::text::tokenizer& tokenizer() const;  ///< throws api::error if there is none
};

/// An answer that is generated, while it lives, as /slots shows it.
class running_answer {
 public:
  running_answer(served_model& model, std::string id, const cogen::stream_group& streams, std::uint64_t tenant);
  running_answer(const running_answer&) = delete;
  running_answer& operator=(const running_answer&) = delete;
  ~running_answer();

  const std::string& id() const noexcept { return id_; }
  std::uint64_t tenant() const noexcept { return tenant_; }
  /// Its stream that is this sequence of the engine; null if it has none.
  const cogen::token_stream* stream_of(std::uint64_t sequence) const;

 private:
  served_model& model_;
  std::string id_;
  const cogen::stream_group& streams_;
  std::uint64_t tenant_;
};

/// The models of the server. For one thread.
class model_table {
 public:
  void add(std::shared_ptr<served_model> model) { models_.push_back(std::move(model)); }
  void set_ready() { ready_ = true; }             ///< nothing is added from then on, and all threads may look models up
  void require_ready() const;                     ///< throws api::error, with status 503, while models are loaded
  bool ready() const noexcept { return ready_; }  ///< whether all are loaded

  /// The model of this name; the first one if none is named, and if there is no other. Throws api::error: 503 while
  /// models are loaded, 404 for an unknown name.
  std::shared_ptr<served_model> named(const std::optional<std::string>& name) const;

  const std::vector<std::shared_ptr<served_model>>& entries() const noexcept { return models_; }

 private:
  std::vector<std::shared_ptr<served_model>> models_;
  bool ready_ = false;
};

}  // namespace server
