#include "untrusted.hpp"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  use_as_steps({reinterpret_cast<const char*>(data), size});
  return 0;
}
