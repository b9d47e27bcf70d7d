#include "formats/checkpoint/checksum.hpp"

#include <new>
#include <xxhash.h>

namespace cogen::load {
namespace {

constexpr XXH64_hash_t seed = 0;

}  // namespace

checksum::checksum() : state_(XXH64_createState()) {
  if (!state_) throw std::bad_alloc();
  XXH64_reset(state_.get(), seed);
}

void checksum::add(std::span<const std::byte> bytes) noexcept {
  XXH64_update(state_.get(), bytes.data(), bytes.size());
}

std::uint64_t checksum::value() const noexcept { return XXH64_digest(state_.get()); }

void checksum::deleter::operator()(XXH64_state_s* state) const noexcept { XXH64_freeState(state); }

std::uint64_t checksum_of(std::span<const std::byte> bytes) noexcept { return XXH64(bytes.data(), bytes.size(), seed); }

}  // namespace cogen::load
