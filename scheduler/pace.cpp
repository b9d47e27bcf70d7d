#include "pace.hpp"

namespace cogen::scheduler {
namespace {

constexpr double kept = 63. / 64;   // weight of earlier measurements, with each step
constexpr double newest = 1. / 16;  // weight of the newest run

}  // namespace

void pace::planned(time now, std::int64_t tokens, bool busy) {
  if (measuring_ > 0) {
    elapsed_ = kept * elapsed_ + static_cast<double>((now - since_).count());
    tokens_ = kept * tokens_ + static_cast<double>(measuring_);
  }
  since_ = now;
  measuring_ = busy ? tokens : 0;
}

void pace::ended(int samples) {
  const double mean = samples_.value_or(samples);
  samples_ = mean + newest * (samples - mean);
}

std::optional<deadline_unreachable::pace_type> pace::per_token() const {
  if (elapsed_ <= 0) return std::nullopt;
  return deadline_unreachable::pace_type(elapsed_ / tokens_);
}

}  // namespace cogen::scheduler
