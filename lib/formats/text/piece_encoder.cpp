#include "formats/text/piece_encoder.hpp"

#include "formats/text/overloaded.hpp"

namespace cogen::text {
namespace {

std::variant<byte_pair_encoder, unigram_encoder, word_piece_encoder> model_of(const vocabulary& words,
                                                                              const tokenizer_spec& spec) {
  switch (spec.model) {
    case encoding_model::unigram:
      return unigram_encoder(words, spec);
    case encoding_model::word_piece:
      return word_piece_encoder(spec);
    case encoding_model::byte_pair:
    case encoding_model::byte_pair_by_score:
      break;
  }
  return byte_pair_encoder(words, spec);
}

}  // namespace

piece_encoder::piece_encoder(const vocabulary& words, const tokenizer_spec& spec) : model_(model_of(words, spec)) {}

void piece_encoder::encode(std::string_view piece, encoding_workspace& workspace, text_budget& budget,
                           std::vector<token>& tokens) const {
  std::visit(overloaded{[&](const byte_pair_encoder& model) { model.encode(piece, workspace.chain, tokens); },
                        [&](const unigram_encoder& model) { model.encode(piece, workspace.paths, budget, tokens); },
                        [&](const word_piece_encoder& model) { model.encode(piece, budget, tokens); }},
             model_);
}

}  // namespace cogen::text
