#include "models/families.hpp"

#include "models/bart.hpp"
#include "models/device_llama.hpp"
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
  make_device_network make_on_device = nullptr;  // null: supported on the CPU only
};

/// To add a family, add one file and one line here.
constexpr std::array families{
    family{"bart", make_bart},   family{"gemma3_text", make_gemma3},
    family{"jamba", make_jamba}, family{"llama", make_llama, make_device_llama},
    family{"mamba", make_mamba}, family{"mistral", make_mistral, make_device_mistral},
};

const family& find(std::string_view name) {
  const auto found = std::ranges::find(families, name, &family::name);
  if (found != families.end()) return *found;
  throw std::invalid_argument(fmt::format("model family \"{}\" is not known; known are: {}", name,
                                          fmt::join(families | std::views::transform(&family::name), ", ")));
}

bool known_on_devices(const family& each) { return each.make_on_device != nullptr; }

}  // namespace

make_network family_named(std::string_view name) { return find(name).make; }

make_device_network device_family_named(std::string_view name) {
  const auto& found = find(name);
  if (known_on_devices(found)) return found.make_on_device;
  auto known = families | std::views::filter(known_on_devices) | std::views::transform(&family::name);
  throw std::invalid_argument(fmt::format("model family \"{}\" is known on the cpu alone; on devices are known: {}",
                                          name, fmt::join(known.begin(), known.end(), ", ")));
}

}  // namespace cogen::models
