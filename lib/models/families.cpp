#include "models/families.hpp"

#include "models/llama.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <stdexcept>

namespace cogen::models {

namespace {

struct family {
  std::string_view name;
  make_network make;
};

/// A further family is one file and one line here.
constexpr std::array families{
    family{"llama", make_llama},
};

}  // namespace

make_network family_named(std::string_view name) {
  const auto found = std::ranges::find(families, name, &family::name);
  if (found != families.end()) return found->make;
  throw std::invalid_argument(fmt::format("model family \"{}\" is not known; known are: {}", name,
                                          fmt::join(families | std::views::transform(&family::name), ", ")));
}

}  // namespace cogen::models
