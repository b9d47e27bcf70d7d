#include "formats/text/bert_steps.hpp"

#include "formats/text/split_patterns.hpp"

namespace cogen::text {

std::vector<normalizer_step> bert_normalizer(bert_options options) {
  std::vector<normalizer_step> steps;
  if (options.clean) steps.emplace_back(character_filter::clean);
  if (options.ideographs) steps.emplace_back(character_filter::space_ideographs);
  if (options.strip_accents) {
    steps.emplace_back(unicode_form::nfd);
    steps.emplace_back(character_filter::remove_nonspacing_marks);
  }
  if (options.lowercase) steps.emplace_back(unicode_form::lowercase);
  return steps;
}

std::vector<pre_tokenizer_step> bert_pre_tokenizer() {
  return {split_step{R"(\s+)", true, split_behavior::removed},
          split_step{std::string(punctuation_pattern), true, split_behavior::isolated}};
}

}  // namespace cogen::text
