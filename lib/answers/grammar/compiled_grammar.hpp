#pragma once

#include <cogen/guide.hpp>
#include <cogen/response_format.hpp>
#include <cogen/text/tokenizer.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace cogen::grammar {

/// A grammar, compiled for one tokenizer. Immutable and thread-safe.
class compiled_grammar {
 public:
  virtual ~compiled_grammar() = default;

  /// A guide at the beginning of the text, or behind what of it is there already, which does not count as accepted. It
  /// shares the grammar, and may outlive this. Throws std::invalid_argument where the text cannot begin so.
  virtual std::unique_ptr<guide> start(std::string_view begun = {}) const = 0;

  virtual std::size_t bytes() const noexcept = 0;

  /// The tokenizer that it was compiled for.
  virtual const text::tokenizer& tokens() const noexcept = 0;

  /// The keywords of the schema that its texts are not held to.
  std::span<const loosened_keyword> loosened() const noexcept { return loosened_; }

  /// Before it is shared.
  void set_loosened(std::vector<loosened_keyword> keywords) { loosened_ = std::move(keywords); }

 private:
  std::vector<loosened_keyword> loosened_;
};

}  // namespace cogen::grammar
