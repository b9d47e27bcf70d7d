#include "network/models/classifier.hpp"

#include <algorithm>
#include <utility>

namespace cogen::models {

bool classifies(const load::config_fields& fields) {
  const auto names = fields.strings("architectures");
  if (std::ranges::none_of(names, [](const auto& name) { return name.ends_with("ForSequenceClassification"); }))
    return false;
  if (!fields.has("id2label.0") || fields.has("id2label.1"))
    fields.refuse("architectures", "of classifiers, those with one label in id2label are read, which score pairs");
  return true;
}

pooling_spec scoring(pooling_spec::kind type, std::vector<dense_spec> layers) {
  return {.type = type, .dense = std::move(layers), .scores = true};
}

}  // namespace cogen::models
