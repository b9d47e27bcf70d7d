#pragma once

#include <cogen/model.hpp>

#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace cogen::nn {

/// A model that embeds, with a workspace for its passes. For one thread at a time, except the const members.
class text_encoder {
 public:
  text_encoder(std::shared_ptr<const model> model, workspace space)
      : model_(std::move(model)), workspace_(std::move(space)) {}

  bool generates() const noexcept { return model_->generates(); }

  /// The tokens of an input: a pair for a model that scores pairs, a text for any other. Throws std::invalid_argument
  /// for the wrong one of them, and what check_text() throws.
  encoder_text read(const encoder_input& input) const;

  /// Throws std::invalid_argument, with the reason, unless the model scores pairs or makes vectors, as asked.
  void check_purpose(bool scores) const;

  /// model::embed(), by texts.
  std::vector<std::vector<float>> vectors(std::span<const encoder_text> texts);

 private:
  std::shared_ptr<const model> model_;
  workspace workspace_;
};

}  // namespace cogen::nn
