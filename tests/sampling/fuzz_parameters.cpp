// Any parameters over any logits: either the parameters are refused in a sentence, or each sample gives a possible
// token or a reason.
#include "sampling/sampler.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>

using namespace cogen;

namespace {

/// Reads plain values from the front of the input, zeros beyond its end.
class bytes {
 public:
  bytes(const std::uint8_t* data, std::size_t size) : data_(data, size) {}

  template <typename T>
  T take() {
    std::array<std::uint8_t, sizeof(T)> raw{};
    const std::size_t count = std::min(raw.size(), data_.size());
    std::memcpy(raw.data(), data_.data(), count);
    data_ = data_.subspan(count);
    T value;
    std::memcpy(&value, raw.data(), sizeof(T));
    return value;
  }

  /// Half of the time a plausible number, otherwise any at all.
  double number() { return take<std::uint8_t>() % 2 == 0 ? take<std::uint16_t>() / 4096.0 : take<double>(); }
  std::int64_t count() { return take<std::uint8_t>() % 2 == 0 ? take<std::uint8_t>() : take<std::int64_t>(); }
  bool empty() const { return data_.empty(); }

 private:
  std::span<const std::uint8_t> data_;
};

sampling_params some_sampling(bytes& input) {
  sampling_params parameters;
  const auto set = input.take<std::uint16_t>();
  if (set & 1) parameters.temperature = input.number();
  if (set & 2) parameters.top_k = input.count();
  if (set & 4) parameters.top_p = input.number();
  if (set & 8) parameters.min_p = input.number();
  if (set & 16) parameters.repetition_penalty = input.number();
  if (set & 32) parameters.presence_penalty = input.number();
  if (set & 64) parameters.frequency_penalty = input.number();
  if (set & 128) parameters.min_tokens = input.count();
  if (set & 256) parameters.logprobs = input.count();
  for (int i = 0; i < (set >> 9) % 4; ++i) parameters.logit_bias[input.take<std::int16_t>()] = input.number();
  return parameters;
}

void require(bool condition) {
  if (!condition) __builtin_trap();
}

void check(const sampler& chooses, std::vector<float> logits, token_history history, std::uint32_t position) {
  sampling_scratch scratch;
  const auto model = logits;
  const auto result = chooses.sample(logits, history, {1, 0, position, 0}, scratch);
  require(result.message.empty() == (result.status == sampling_status::ok));
  if (result.status != sampling_status::ok) return;
  require(result.id >= 0 && static_cast<std::size_t>(result.id) < logits.size());
  require(std::isfinite(logits[static_cast<std::size_t>(result.id)]));
  require(!std::isnan(result.logprob));
  logits = model;
  const auto [status, kept] = chooses.distribution(logits, history, scratch);
  double total = 0;
  for (const auto& each : kept) total += each.probability;
  require(status == sampling_status::ok && std::abs(total - 1) < 1e-9);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  bytes input(data, size);
  const auto parameters = some_sampling(input);
  const std::size_t vocabulary = 1 + input.take<std::uint8_t>();
  const auto problem = parameters.problem(static_cast<std::int64_t>(vocabulary));
  if (problem) {
    require(!problem->empty());
    return 0;
  }
  token_history history;
  for (int i = input.take<std::uint8_t>() % 16; i > 0; --i) history.append_generated(input.take<std::int16_t>());
  const bool any_float = input.take<std::uint8_t>() % 2 == 0;
  std::vector<float> logits(vocabulary);
  for (float& logit : logits) logit = any_float ? input.take<float>() : input.take<std::int8_t>();
  const std::array<token, 2> end_tokens{0, 5};
  const sampler chooses(parameters, static_cast<std::int64_t>(vocabulary), end_tokens);
  for (std::uint32_t position = 0; position < 3; ++position) check(chooses, logits, history, position);
  return 0;
}
