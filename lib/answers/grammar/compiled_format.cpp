#include "answers/grammar/compiled_grammar.hpp"

#include <cogen/response_format.hpp>

namespace cogen {

std::unique_ptr<guide> compiled_format::start() const { return grammar_->start(); }

std::size_t compiled_format::bytes() const noexcept { return grammar_->bytes(); }

const text::tokenizer& compiled_format::tokens() const noexcept { return grammar_->tokens(); }

std::span<const loosened_keyword> compiled_format::loosened() const noexcept { return grammar_->loosened(); }

}  // namespace cogen
