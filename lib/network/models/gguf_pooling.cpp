#include "network/models/gguf_pooling.hpp"

#include "network/models/classifier.hpp"
#include "network/models/like_llama.hpp"

#include <string>
#include <utility>
#include <vector>

namespace cogen::models {

namespace {

// Values of pooling_type.
constexpr std::int64_t none = 0, mean = 1, cls = 2, last = 3, rank = 4;

pooling_spec::kind kind_of(std::int64_t type) {
  return type == cls ? pooling_spec::kind::cls : type == last ? pooling_spec::kind::last : pooling_spec::kind::mean;
}

/// Of a checkpoint's layers behind the pooling, the next one, which reads that many numbers.
dense_spec dense_layer(const load::checkpoint& files, std::string name, std::int64_t inputs) {
  const auto weight = files.find(name + ".weight");
  const auto bias = files.find(name + ".bias");
  return {
      .name = std::move(name), .inputs = inputs, .outputs = weight ? weight->rows() : inputs, .bias = bias.has_value()};
}

/// RoBERTa's head has a tanh, ModernBERT's a GELU and a norm. The one of BERT is missing in all files.
pooling_spec classifier_of(const load::checkpoint& files) {
  const auto config = files.config();
  auto head = dense_layer(files, "cls", config.hidden);
  auto type = cls;
  head.activation = dense_spec::function::tanh;
  if (files.find("cls.norm.weight")) {
    head.activation = dense_spec::function::gelu;
    head.norm = layer_norm(config, "cls.norm", false);
    type = files.fields().integer("classifier.pooling_type", {mean, cls}, mean);
  }
  auto output = dense_layer(files, "cls.output", head.outputs);
  output.outputs = 1;
  return scoring(kind_of(type), {std::move(head), std::move(output)});
}

/// EmbeddingGemma's, if its converter was asked for them.
std::vector<dense_spec> dense_modules(const load::checkpoint& files) {
  std::vector<dense_spec> modules;
  for (const auto* name : {"dense_2", "dense_3"})
    if (files.find(std::string(name) + ".weight"))
      modules.push_back(dense_layer(files, name, modules.empty() ? files.config().hidden : modules.back().outputs));
  return modules;
}

}  // namespace

model_spec pooled_as_gguf(model_spec spec, const load::checkpoint& files) {
  const bool encodes = spec.pooling.has_value();
  const auto& fields = files.fields();
  const auto type = fields.integer("pooling_type", {none, rank}, none);
  const bool scores = type == rank || files.find("cls.output.weight");
  if (scores && !encodes) fields.refuse("pooling_type", "decoders that score pairs are not read");
  if (!encodes && !fields.boolean("attention.causal", true))
    fields.refuse("attention.causal", "decoders of this architecture are read as causal ones");
  if (scores)
    spec.pooling = classifier_of(files);
  else if (encodes || type != none)
    spec.pooling = pooling_spec{.type = kind_of(type), .dense = dense_modules(files), .normalize = true};
  return spec;
}

}  // namespace cogen::models
