#pragma once

#include "network/backend/backend.hpp"

#include <cogen/cache/device_cache.hpp>
#include <cogen/detail/scheduler/types.hpp>
#include <cogen/extend/kv_codec.hpp>

#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace cogen::test {

using scheduler::token;

/// How a device keeps what it keeps.
struct device_kind {
  std::string name;
  int window = 0;  ///< of the model's own
  std::optional<cache::sink_window> sinks = {};
  std::optional<cache::quantization> kv_quantization = {};
  bool host = false;
  bool recurrent = false;  ///< all layers but one
  bool pages = false;      ///< with memory as tokens come
  at::ScalarType type = at::kBFloat16;
};

std::ostream& operator<<(std::ostream& out, const device_kind& kind);

const std::vector<device_kind>& device_kinds();

/// Of one slot, and how far slots can go back where something is dropped or quantized; states stay.
constexpr int max_step_tokens = 40;
constexpr int max_rollback_tokens = 16;
inline int rollback_of(const device_kind& kind) { return kind.recurrent ? 0 : max_rollback_tokens; }

/// Tokens that a step brings to one slot.
struct new_tokens {
  int slot;
  std::vector<token> tokens;
};

/// A device's cache, and what the operators make of it. Numbers of a token follow from what it is, its position and the
/// layer; positions turn by nothing.
class kept_slots {
 public:
  kept_slots(std::shared_ptr<const device::backend> where, const device_kind& kind, int slots, int max_sequence_length);
  ~kept_slots();

  /// One step. Rows of one token come before others. What each token's query gets out of each layer: [layers, tokens,
  /// heads * head_dim] float32, on the host. Scans have as many channels. Written in `single_rows`, every token is a
  /// row of one token, as in steps that replay a graph; not where there are states.
  at::Tensor run(const std::vector<new_tokens>& rows, bool single_rows = false);

  int length(int slot) const { return memory_.length(slot); }
  void truncate(int slot, int length) { memory_.truncate(slot, length); }
  void copy(int source, int target, int end);

  /// All that the slot holds goes to the host, and it is empty.
  std::vector<at::Tensor> take_away(int slot);
  void put_back(int slot, int length, const std::vector<at::Tensor>& parts);

 private:
  const std::shared_ptr<const device::backend> where_;
  const std::unique_ptr<device::operators> operators_;
  const std::unique_ptr<device::stream> queue_;
  cache::device_cache memory_;
  class steps;
  const std::unique_ptr<steps> steps_;
};

}  // namespace cogen::test
