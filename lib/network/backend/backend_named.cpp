#include "network/backend/backend.hpp"
#include "network/backend/reference/reference_backend.hpp"

#ifdef COGEN_WITH_CUDA
#include "network/backend/cuda/cuda_backend.hpp"
#endif

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <stdexcept>

namespace cogen::device {

namespace {

[[noreturn]] void refuse(std::string_view name, std::string_view why) {
  throw std::invalid_argument(fmt::format("device \"{}\": {}", name, why));
}

/// N of "cuda:N", 0 of "cuda".
std::optional<int> cuda_number(std::string_view name) {
  if (name == "cuda") return 0;
  if (!name.starts_with("cuda:")) return std::nullopt;
  name.remove_prefix(5);
  int number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number < 0) return std::nullopt;
  return number;
}

}  // namespace

std::shared_ptr<const backend> backend_named(std::string_view name, [[maybe_unused]] const backend_switches& switches) {
  if (name == "reference") return make_reference_backend();
  const auto number = cuda_number(name);
  if (!number) refuse(name, "not known; known are \"cpu\", \"reference\", \"cuda\" and \"cuda:N\"");
#ifdef COGEN_WITH_CUDA
  const int found = cuda_devices();
  if (found == 0) refuse(name, "this machine has no CUDA device, or no driver for it");
  if (*number >= found) refuse(name, fmt::format("this machine has CUDA devices 0 to {}", found - 1));
  return make_cuda_backend(*number, switches);
#else
  refuse(name, "this build of cogen has no CUDA; configure with -DCOGEN_CUDA=ON");
#endif
}

}  // namespace cogen::device
