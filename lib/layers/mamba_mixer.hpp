#pragma once

#include "layers/forward_context.hpp"
#include "layers/norm.hpp"
#include "layers/projection.hpp"
#include "layers/weight_reader.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cogen::layers {

struct mamba_shape {
  std::int64_t hidden = 0;
  std::int64_t channels = 0;
  std::int64_t states = 0;  // of the scan, in each channel
  std::int64_t taps = 0;    // of the convolution: tokens it reads, its own included
  std::int64_t rank = 0;    // width of the time step before its projection
  bool bias = false;        // of the projections into and out of the mixer
  bool convolution_bias = true;
  std::optional<double> norm_epsilon;  // if time step, B and C have an RMS norm each, as in Jamba

  /// Numbers that a slot's state takes: the convolution's [taps - 1, channels], then the scan's [states, channels].
  std::int64_t state() const { return channels * (taps - 1 + states); }
};

/// A selective state-space mixer: Gu and Dao, arXiv:2312.00752, section 3; with norms inside, Lieber et al.,
/// arXiv:2403.19887. Its state does not grow with the sequence. Immutable.
class mamba_mixer {
 public:
  /// Reads PREFIX + "in_proj", "conv1d", "x_proj", "dt_proj", "A_log", "D" and "out_proj"; with norms also
  /// "dt_layernorm", "b_layernorm" and "c_layernorm".
  mamba_mixer(weight_reader& weights, const std::string& prefix, const mamba_shape& shape);

  /// out += mixer(x), from and to the states of cache layer `layer`. x and out [step.tokens(), hidden]; they do not
  /// overlap. Throws std::logic_error for a layer that keeps no states.
  void add(const forward_context& context, int layer, const activations& x, const activations& out) const;

  std::int64_t bytes() const;

 private:
  struct norms {
    rms_norm step;
    rms_norm b;
    rms_norm c;
  };

  void convolve(const forward_context& context, const activations& x, const activations& out) const;
  void scan(const forward_context& context, const activations& x, const activations& gate,
            const activations& out) const;

  mamba_shape shape_;
  projection in_;                   // to x | gate
  std::vector<float> tap_weights_;  // [taps, channels]
  std::vector<float> tap_biases_;   // [channels], or none
  projection selection_;            // to time step | B | C
  std::optional<norms> norms_;
  projection step_;
  std::vector<float> decay_;  // [states, channels]
  std::vector<float> skip_;   // [channels]
  projection output_;
};

}  // namespace cogen::layers
