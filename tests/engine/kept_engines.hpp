#pragma once

#include "dequantizing_codec.hpp"
#include "model_engines.hpp"

#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace cogen::test {

using keep = std::function<void(engine_options&)>;

/// Quantized tokens, all but the newest eight.
keep quantized(cache::quantization scheme);

/// A plain layer of the tests' own instead of the first one.
std::unique_ptr<cache::layer> own_first_layer(int index, const cache::kv_cache_spec& shape,
                                              const cache::slot_table& slots);

/// A golden model in an engine whose cache is of some kind.
struct kept_engine {
  std::string golden;
  std::string kind;
  test::keep keep;
  std::string device = "cpu";

  /// The one that the engine runs; what it should say is said by that on the CPU.
  std::shared_ptr<const cogen::model> model() const { return golden_model(golden, device); }

  engine_options options() const {
    auto wanted = tiny_engine(*golden_model(golden));
    keep(wanted);
    return wanted;
  }

  /// What the model on the CPU needs to say the same as the engine's with these.
  engine_options by_hand(engine_options wanted) const {
    if (device != "cpu" && wanted.kv.quantization) wanted.kv.quantization = dequantizing(*wanted.kv.quantization);
    return wanted;
  }
};

std::ostream& operator<<(std::ostream& out, const kept_engine& kept);

/// Every golden architecture over every kind of cache that suits it; under a sanitizer each kind with two of them.
std::vector<kept_engine> kept_engines();

/// The same, and those that caches on a device suit.
std::vector<kept_engine> kept_engines_everywhere();

/// The goldens with recurrent layers.
std::vector<std::string> all_hybrids();
/// Those that are run: under a sanitizer a sample.
std::vector<std::string> hybrids();

inline std::vector<float> as_vector(std::span<const float> row) { return {row.begin(), row.end()}; }

}  // namespace cogen::test
