#include <cogen/cache/mask.hpp>

#include <ATen/ops/empty.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace cogen::cache {
namespace {

void check_not_negative(const char* what, int value) {
  if (value < 0)
    throw std::invalid_argument(std::string("mask: ") + what + " is " + std::to_string(value) + ", below 0");
}

void check(const mask_window& window) {
  check_not_negative("q_length", window.q_length);
  check_not_negative("q_offset", window.q_offset);
  check_not_negative("kv_length", window.kv_length);
  check_not_negative("kv_offset", window.kv_offset);
}

}  // namespace

mask::mask(rule sees) : sees_(std::move(sees)) {
  if (!sees_) throw std::invalid_argument("mask: the rule is empty");
}

mask operator&(mask a, mask b) {
  return mask([a = std::move(a), b = std::move(b)](std::int64_t q, std::int64_t kv) { return a(q, kv) && b(q, kv); });
}

mask operator|(mask a, mask b) {
  return mask([a = std::move(a), b = std::move(b)](std::int64_t q, std::int64_t kv) { return a(q, kv) || b(q, kv); });
}

mask causal() {
  return mask([](std::int64_t q, std::int64_t kv) { return kv <= q; });
}

mask bidirectional() {
  return mask([](std::int64_t, std::int64_t) { return true; });
}

at::Tensor materialise(const mask& mask, const mask_window& window) {
  check(window);
  const at::Tensor seen = at::empty({window.q_length, window.kv_length}, at::kBool);
  bool* out = seen.data_ptr<bool>();
  for (std::int64_t i = 0; i < window.q_length; ++i)
    for (std::int64_t j = 0; j < window.kv_length; ++j) *out++ = mask(i + window.q_offset, j + window.kv_offset);
  return seen;
}

}  // namespace cogen::cache
