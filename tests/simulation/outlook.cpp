#include "simulation/outlook.hpp"

namespace cogen::scheduler::simulate {

void outlook::planned(time now, const step& plan, bool left_behind) {
  if (lasting_ > 0) {
    elapsed_ += static_cast<double>((now - began_).count()) - elapsed_ / 64;
    tokens_ += lasting_ - tokens_ / 64;
  }
  began_ = now;
  lasting_ = 0;
  if (!left_behind) return;
  for (const auto& row : plan.rows)
    lasting_ += row.count + (row.encoder_input ? static_cast<int>(row.encoder_input->size()) : 0);
}

void outlook::ended(int samples) {
  samples_ = any_ended_ ? (15 * samples_ + samples) / 16 : samples;
  any_ended_ = true;
}

std::optional<double> outlook::pace() const {
  if (elapsed_ == 0) return std::nullopt;
  return elapsed_ / tokens_;
}

}  // namespace cogen::scheduler::simulate
