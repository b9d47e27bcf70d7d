#include "engine/parts/device_engine.hpp"

namespace cogen::detail {

namespace {

constinit device_engines registered{};

}  // namespace

void register_device_engines(const device_engines& engines) noexcept { registered = engines; }

const device_engines& registered_device_engines() noexcept { return registered; }

}  // namespace cogen::detail
