// How often tests of random histories repeat.
#pragma once

#include "sanitizers.hpp"

#include <cstddef>
#include <initializer_list>
#include <vector>

namespace cogen::test {

/// Under a sanitizer, where a history takes ten times as long, one is enough for what only a sanitizer sees.
constexpr unsigned repetitions(unsigned usual) { return sanitized ? 1 : usual; }

/// Under a sanitizer each so many-eth of variants whose numbers differ, and hardly the code that they run; else all.
template <class Variant>
std::vector<Variant> thin(std::vector<Variant> variants, std::size_t stride) {
  if (!sanitized) return variants;
  std::vector<Variant> some;
  for (std::size_t i = 0; i < variants.size(); i += stride) some.push_back(std::move(variants[i]));
  return some;
}

template <class Variant>
std::vector<Variant> thin(std::initializer_list<Variant> variants, std::size_t stride) {
  return thin(std::vector<Variant>(variants), stride);
}

/// Under a sanitizer each second of the places where something can fail, one after the other; else all.
constexpr int failure_stride = sanitized ? 2 : 1;

}  // namespace cogen::test
