#pragma once

#include "cogen/guide.hpp"
#include "cogen/text/tokenizer.hpp"

#include <cstddef>
#include <memory>

namespace cogen::grammar {

/// A grammar, compiled for one tokenizer. Immutable and thread-safe.
class compiled_grammar {
 public:
  virtual ~compiled_grammar() = default;

  /// A guide at the beginning of the text. It shares the grammar, and may outlive this.
  virtual std::unique_ptr<guide> start() const = 0;

  virtual std::size_t bytes() const noexcept = 0;

  /// The tokenizer that it was compiled for.
  virtual const text::tokenizer& tokens() const noexcept = 0;
};

}  // namespace cogen::grammar
