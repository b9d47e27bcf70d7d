#include "layers/embedding.hpp"

#include "kernels/embed.hpp"
#include "kernels/linear.hpp"

#include <array>

namespace cogen::layers {

embedding::embedding(weight_reader& weights, const std::string& name, std::int64_t vocabulary, std::int64_t hidden)
    : table_(weights.matrix(std::array{named_rows{name, vocabulary}}, hidden)) {}

void embedding::operator()(const pass& pass, std::span<const token> tokens, const activations& out) const {
  kernels::embed(pass.run, *table_, tokens, out.data, out.stride);
}

head::head(weight_reader& weights, const std::string& name, std::int64_t vocabulary, std::int64_t hidden)
    : weights_(weights.matrix(std::array{named_rows{name, vocabulary}}, hidden)) {}

void head::operator()(const pass& pass, const activations& x, const activations& logits) const {
  kernels::linear(pass.run, *weights_,
                  {.x = x.data, .x_stride = x.stride, .y = logits.data, .y_stride = logits.stride, .rows = x.rows});
}

}  // namespace cogen::layers
