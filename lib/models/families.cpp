#include "models/families.hpp"

#include "models/bart.hpp"
#include "models/gemma3.hpp"
#include "models/jamba.hpp"
#include "models/llama.hpp"
#include "models/mamba.hpp"
#include "models/mistral.hpp"

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
    family{"bart", make_bart},   family{"gemma3_text", make_gemma3}, family{"jamba", make_jamba},
    family{"llama", make_llama}, family{"mamba", make_mamba},        family{"mistral", make_mistral},
};

}  // namespace

make_network family_named(std::string_view name) {
  const auto found = std::ranges::find(families, name, &family::name);
  if (found != families.end()) return found->make;
  throw std::invalid_argument(fmt::format("model family \"{}\" is not known; known are: {}", name,
                                          fmt::join(families | std::views::transform(&family::name), ", ")));
}

}  // namespace cogen::models
