#include "network/kernels/instruction_set.hpp"

#include "network/kernels/kernel_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <ranges>
#include <stdexcept>

#if defined(COGEN_KERNELS_AVX2)
#include <cpuid.h>
#endif

namespace cogen::kernels {
namespace {

constexpr std::string_view variable = "COGEN_INSTRUCTION_SET";
constexpr std::string_view emulated = "emulated_";

struct named_set {
  instruction_set set;
  std::string_view name;
};

constexpr named_set all_sets[] = {
    {instruction_set::portable, "portable"},
    {instruction_set::avx2, "avx2"},
    {instruction_set::avx512, "avx512"},
    {instruction_set::avx512_vnni, "avx512_vnni"},
    {instruction_set::avx512_bf16, "avx512_bf16"},
    {instruction_set::emulated_avx2, "emulated_avx2"},
    {instruction_set::emulated_avx512, "emulated_avx512"},
    {instruction_set::emulated_avx512_vnni, "emulated_avx512_vnni"},
    {instruction_set::emulated_avx512_bf16, "emulated_avx512_bf16"},
};

bool is_emulated(const named_set& entry) { return entry.name.starts_with(emulated); }

#if defined(COGEN_KERNELS_AVX2)
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
}

bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c(); }

#if defined(COGEN_KERNELS_AVX512)
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

bool has_avx512_vnni() { return has_avx512() && __builtin_cpu_supports("avx512vnni"); }

bool has_avx512_bf16() { return has_avx512_vnni() && __builtin_cpu_supports("avx512bf16"); }

#endif

bool preferable(instruction_set set) { return set != instruction_set::avx512_bf16 || !__builtin_cpu_is("intel"); }

bool available(instruction_set set) {
  switch (set) {
    case instruction_set::portable:
      return true;
    case instruction_set::avx2:
      return has_avx2();
#if defined(COGEN_KERNELS_AVX512)
    case instruction_set::avx512:
      return has_avx512();
    case instruction_set::avx512_vnni:
      return has_avx512_vnni();
    case instruction_set::avx512_bf16:
      return has_avx512_bf16();
#endif
    default:
      return false;
  }
}
#else
bool preferable(instruction_set) { return true; }

bool available(instruction_set set) { return set == instruction_set::portable; }
#endif

const named_set* find(std::string_view name) {
  const auto found = std::ranges::find(all_sets, name, &named_set::name);
  return found == std::end(all_sets) ? nullptr : found;
}

[[noreturn]] void refuse(std::string_view name, const char* why) {
  std::vector<instruction_set> sets = available_instruction_sets();
  for (const instruction_set set : emulated_instruction_sets()) sets.push_back(set);
  const auto names = sets | std::views::transform([](auto set) { return name_of(set); });
  throw std::invalid_argument(
      fmt::format("instruction set \"{}\" is {}; there are {} here", name, why, fmt::join(names, ", ")));
}

}  // namespace

std::string_view name_of(instruction_set set) { return all_sets[static_cast<int>(set)].name; }

std::vector<instruction_set> available_instruction_sets() {
  std::vector<instruction_set> sets;
  for (const named_set& each : all_sets)
    if (available(each.set)) sets.push_back(each.set);
  return sets;
}

std::vector<instruction_set> emulated_instruction_sets() {
  std::vector<instruction_set> sets;
#if defined(COGEN_KERNELS_EMULATED)
  for (const named_set& each : all_sets)
    if (is_emulated(each)) sets.push_back(each.set);
#endif
  return sets;
}

instruction_set instruction_set_named(std::string_view name) {
  const named_set* const found = find(name);
  if (!found) refuse(name, "unknown");
  if (available(found->set)) return found->set;
  const named_set* const instead = is_emulated(*found) ? found : find(fmt::format("{}{}", emulated, name));
  if (emulated_instruction_sets().empty()) refuse(name, "not available");
  return instead->set;
}

instruction_set preferred_instruction_set() {
  const char* wanted = std::getenv(variable.data());
  if (!wanted || !*wanted) {
    const std::vector<instruction_set> here = available_instruction_sets();
    return *std::ranges::find_if(here.rbegin(), here.rend(), preferable);
  }
  try {
    return instruction_set_named(wanted);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(fmt::format("{}: {}", variable, error.what()));
  }
}

const kernel_table& kernels_of(instruction_set set) {
  switch (set) {
#if defined(COGEN_KERNELS_AVX2)
    case instruction_set::avx2:
      return avx2_kernels;
#endif
#if defined(COGEN_KERNELS_AVX512)
    case instruction_set::avx512:
    case instruction_set::avx512_vnni:
    case instruction_set::avx512_bf16:
      return avx512_kernels;
#endif
#if defined(COGEN_KERNELS_EMULATED)
    case instruction_set::emulated_avx2:
      return emulated_avx2_kernels;
    case instruction_set::emulated_avx512:
    case instruction_set::emulated_avx512_vnni:
    case instruction_set::emulated_avx512_bf16:
      return emulated_avx512_kernels;
#endif
    default:
      return portable_kernels;
  }
}

namespace {

[[maybe_unused]] int8_table with_bf16(int8_table table, void (*multiply_bf16)(const int8_job&)) {
  table.multiply_bf16 = multiply_bf16;
  return table;
}

}  // namespace

const int8_table& int8_kernels_of(instruction_set set) {
#if defined(COGEN_KERNELS_AVX512)
  static const int8_table avx512_bf16_int8 = with_bf16(avx512_vnni_int8, avx512_multiply_bf16);
#endif
#if defined(COGEN_KERNELS_EMULATED)
  static const int8_table emulated_avx512_bf16_int8 =
      with_bf16(emulated_avx512_vnni_int8, emulated_avx512_multiply_bf16);
#endif
  switch (set) {
#if defined(COGEN_KERNELS_AVX2)
    case instruction_set::avx2:
      return avx2_int8;
#endif
#if defined(COGEN_KERNELS_AVX512)
    case instruction_set::avx512:
      return avx512_int8;
    case instruction_set::avx512_vnni:
      return avx512_vnni_int8;
    case instruction_set::avx512_bf16:
      return avx512_bf16_int8;
#endif
#if defined(COGEN_KERNELS_EMULATED)
    case instruction_set::emulated_avx2:
      return emulated_avx2_int8;
    case instruction_set::emulated_avx512:
      return emulated_avx512_int8;
    case instruction_set::emulated_avx512_vnni:
      return emulated_avx512_vnni_int8;
    case instruction_set::emulated_avx512_bf16:
      return emulated_avx512_bf16_int8;
#endif
    default:
      return portable_int8;
  }
}

}  // namespace cogen::kernels
