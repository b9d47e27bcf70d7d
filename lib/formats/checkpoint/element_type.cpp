#include <cogen/load/checkpoint.hpp>

namespace cogen::load {

std::string_view to_string(element_type type) noexcept {
  switch (type) {
    case element_type::f32:
      return "f32";
    case element_type::f16:
      return "f16";
    case element_type::bf16:
      return "bf16";
    case element_type::f64:
      return "f64";
    case element_type::i8:
      return "i8";
    case element_type::i16:
      return "i16";
    case element_type::i32:
      return "i32";
    case element_type::i64:
      return "i64";
    case element_type::u8:
      return "u8";
    case element_type::u16:
      return "u16";
    case element_type::u32:
      return "u32";
    case element_type::u64:
      return "u64";
    case element_type::boolean:
      return "boolean";
    case element_type::q4_0:
      return "q4_0";
    case element_type::q4_1:
      return "q4_1";
    case element_type::q5_0:
      return "q5_0";
    case element_type::q5_1:
      return "q5_1";
    case element_type::q8_0:
      return "q8_0";
    case element_type::q4_k:
      return "q4_k";
    case element_type::q5_k:
      return "q5_k";
    case element_type::q6_k:
      return "q6_k";
    case element_type::q2_k:
      return "q2_k";
    case element_type::q3_k:
      return "q3_k";
    case element_type::iq4_nl:
      return "iq4_nl";
    case element_type::iq4_xs:
      return "iq4_xs";
    case element_type::mxfp4:
      return "mxfp4";
  }
  return "unknown";
}

}  // namespace cogen::load
