#include "network/models/pooling.hpp"

#include "formats/checkpoint/config_fields.hpp"
#include "formats/checkpoint/sentence_modules.hpp"
#include "network/models/gguf_pooling.hpp"

#include <utility>

namespace cogen::models {

namespace {

pooling_spec::kind kind_named(const std::string& name) {
  return name == "cls" ? pooling_spec::kind::cls : name == "last" ? pooling_spec::kind::last : pooling_spec::kind::mean;
}

pooling_spec pooled_by(const load::sentence_modules& modules) {
  pooling_spec spec{.type = kind_named(modules.pooling), .normalize = modules.normalize};
  for (const auto& dense : modules.dense)
    spec.dense.push_back({.name = dense.path + ".linear",
                          .inputs = dense.inputs,
                          .outputs = dense.outputs,
                          .bias = dense.bias,
                          .activation = dense.tanh ? dense_spec::function::tanh : dense_spec::function::none});
  return spec;
}

}  // namespace

model_spec with_pooling(model_spec spec, const load::checkpoint& files) {
  if (spec.pooling && spec.pooling->scores) {
    if (!files.fields().is_gguf()) load::check_scoring_modules(files.path());
    return spec;
  }
  if (files.fields().is_gguf()) return pooled_as_gguf(std::move(spec), files);
  if (const auto modules = load::read_sentence_modules(files.path())) spec.pooling = pooled_by(*modules);
  return spec;
}

}  // namespace cogen::models
