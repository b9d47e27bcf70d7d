#include "backend/operators.hpp"

#include <stdexcept>

namespace cogen::device {

// Not reached: nn::refuse_what_it_lacks() refuses the model.

void operators::route(const at::Tensor&, const norm&, const mixture_of_experts&, const at::Tensor&, const at::Tensor&) {
  throw std::logic_error("these operators have no experts");
}

void operators::add_experts(const at::Tensor&, const at::Tensor&, const mixture_of_experts&, const residual&,
                            const at::Tensor&) {
  throw std::logic_error("these operators have no experts");
}

void operators::read_layer_inputs(const layer_inputs&, const step_rows&, const at::Tensor&, const at::Tensor&,
                                  const at::Tensor&) {
  throw std::logic_error("these operators have no inputs of layers");
}

void operators::gate_layer_input(const at::Tensor&, const norm&, const layer_input&, const at::Tensor&,
                                 const at::Tensor&) {
  throw std::logic_error("these operators have no inputs of layers");
}

void operators::low_rank(const at::Tensor&, const norm&, const device::low_rank&, const at::Tensor&) {
  throw std::logic_error("these operators have no low-rank residuals");
}

void operators::start_streams(const streams&, const at::Tensor&, const at::Tensor&) {
  throw std::logic_error("these operators have one stream of hidden states");
}

void operators::step_streams(const stream_step&, const at::Tensor&, const at::Tensor&) {
  throw std::logic_error("these operators have one stream of hidden states");
}

void operators::join_streams(const streams&, const at::Tensor&, const at::Tensor&) {
  throw std::logic_error("these operators have one stream of hidden states");
}

void operators::linear_add_to_streams(const at::Tensor&, const projection&, const norm&, const at::Tensor&) {
  throw std::logic_error("these operators have one stream of hidden states");
}

void operators::add_rows(const at::Tensor&, const residual&, const at::Tensor&) {
  throw std::logic_error("these operators add no results together");
}

void operators::mix(const mixer_rows&, const mixer&, const step_rows&, const cache::device_layer&, const at::Tensor&) {
  throw std::logic_error("these operators have no recurrent mixers but scans");
}

void operators::attend_to_encoder_input(const at::Tensor&, const attention_shape&, const step_rows&,
                                        const cache::device_layer&, const at::Tensor&) {
  throw std::logic_error("these operators read no encoder input");
}

void operators::attend_within_rows(const at::Tensor&, const attention_shape&, const rotation&, const step_rows&,
                                   const at::Tensor&) {
  throw std::logic_error("these operators run no encoder");
}

void operators::store_encoder_input(const at::Tensor&, const attention_shape&, const step_rows&,
                                    const cache::device_layer&) {
  throw std::logic_error("these operators read no encoder input");
}

void operators::absorb(const at::Tensor&, const latent_attention&, const at::Tensor&) {
  throw std::logic_error("these operators have no latent attention");
}

void operators::expand(const at::Tensor&, const latent_attention&, const at::Tensor&) {
  throw std::logic_error("these operators have no latent attention");
}

}  // namespace cogen::device
