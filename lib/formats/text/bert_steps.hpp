#pragma once

#include "formats/text/tokenizer_spec.hpp"

#include <vector>

namespace cogen::text {

/// BERT's normalizer.
struct bert_options {
  bool clean = true;
  bool ideographs = true;
  bool strip_accents = true;
  bool lowercase = true;
};
std::vector<normalizer_step> bert_normalizer(bert_options options);

/// Splits at white space, and punctuation from everything else.
std::vector<pre_tokenizer_step> bert_pre_tokenizer();

}  // namespace cogen::text
