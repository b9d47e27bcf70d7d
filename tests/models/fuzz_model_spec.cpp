// Any config.json is described as a model, or refused.
#include "formats/checkpoint/config_fields.hpp"
#include "formats/checkpoint/read_model_config.hpp"
#include "network/models/families.hpp"

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cogen;
  try {
    const auto fields = load::config_fields::from_json({reinterpret_cast<const char*>(data), size}, "config.json");
    const auto describe = models::family_named(fields.family());
    const auto config = load::read_model_config(fields);
    if (config.layers > 64 || config.heads > 256) return 0;  // as slow as they are large
    models::kv_cache_specs(describe(fields, config));
  } catch (const load::load_error&) {
  } catch (const std::invalid_argument&) {  // a family that is not known
  }
  return 0;
}
