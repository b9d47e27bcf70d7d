#include "sampling/random_stream.hpp"

namespace cogen {
namespace {

std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
std::uint32_t high(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

constexpr std::uint64_t branch_namespace = 0x6272616E63686573;

std::uint64_t branch_of_fork(std::uint64_t parent, std::uint32_t nth) {
  const auto words =
      philox4x32_10({nth, 0, low(parent), high(parent)}, {low(branch_namespace), high(branch_namespace)});
  return std::uint64_t{words[1]} << 32 | words[0];
}

}  // namespace

random_stream::random_stream(std::uint64_t seed) : seed_(seed) {}

void random_stream::reseed(std::uint64_t seed) { *this = random_stream(seed); }

random_stream random_stream::fork() {
  random_stream child(seed_);
  child.branch_ = branch_of_fork(branch_, forks_++);
  return child;
}

}  // namespace cogen
