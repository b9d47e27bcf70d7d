#include "kernels/instruction_set.hpp"

#include "kernels/kernel_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <ranges>
#include <stdexcept>

#if defined(COGEN_KERNELS_X86)
#include <cpuid.h>
#endif

namespace cogen::kernels {
namespace {

constexpr std::string_view variable = "COGEN_INSTRUCTION_SET";

struct named_set {
  instruction_set set;
  std::string_view name;
};

constexpr named_set all_sets[] = {
    {instruction_set::portable, "portable"},       {instruction_set::avx2, "avx2"},
    {instruction_set::avx512, "avx512"},           {instruction_set::avx512_vnni, "avx512_vnni"},
    {instruction_set::avx512_bf16, "avx512_bf16"},
};

#if defined(COGEN_KERNELS_X86)
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
}

bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c(); }

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

bool has_avx512_vnni() { return has_avx512() && __builtin_cpu_supports("avx512vnni"); }

bool has_avx512_bf16() { return has_avx512_vnni() && __builtin_cpu_supports("avx512bf16"); }

bool preferable(instruction_set set) { return set != instruction_set::avx512_bf16 || !__builtin_cpu_is("intel"); }

bool available(instruction_set set) {
  switch (set) {
    case instruction_set::portable:
      return true;
    case instruction_set::avx2:
      return has_avx2();
    case instruction_set::avx512:
      return has_avx512();
    case instruction_set::avx512_vnni:
      return has_avx512_vnni();
    case instruction_set::avx512_bf16:
      return has_avx512_bf16();
  }
  return false;
}
#else
bool preferable(instruction_set) { return true; }

bool available(instruction_set set) { return set == instruction_set::portable; }
#endif

std::string names_of(const std::vector<instruction_set>& sets) {
  return fmt::format("{}", fmt::join(sets | std::views::transform([](auto set) { return name_of(set); }), ", "));
}

}  // namespace

std::string_view name_of(instruction_set set) { return all_sets[static_cast<int>(set)].name; }

std::vector<instruction_set> available_instruction_sets() {
  std::vector<instruction_set> sets;
  for (const named_set& each : all_sets)
    if (available(each.set)) sets.push_back(each.set);
  return sets;
}

instruction_set instruction_set_named(std::string_view name) {
  const std::vector<instruction_set> here = available_instruction_sets();
  const auto found = std::ranges::find(all_sets, name, &named_set::name);
  if (found == std::end(all_sets))
    throw std::invalid_argument(
        fmt::format("unknown instruction set \"{}\"; this processor runs {}", name, names_of(here)));
  if (std::ranges::find(here, found->set) == here.end())
    throw std::invalid_argument(
        fmt::format("instruction set \"{}\" is not available here; this processor runs {}", name, names_of(here)));
  return found->set;
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
#if defined(COGEN_KERNELS_X86)
  switch (set) {
    case instruction_set::portable:
      break;
    case instruction_set::avx2:
      return avx2_kernels;
    case instruction_set::avx512:
    case instruction_set::avx512_vnni:
    case instruction_set::avx512_bf16:
      return avx512_kernels;
  }
#else
  static_cast<void>(set);
#endif
  return portable_kernels;
}

#if defined(COGEN_KERNELS_X86)
namespace {

const fast_table& avx512_bf16_fast() {
  static const fast_table both = [] {
    fast_table table = avx512_vnni_fast;
    table.multiply_bf16 = avx512_multiply_bf16;
    return table;
  }();
  return both;
}

}  // namespace
#endif

const fast_table& fast_kernels_of(instruction_set set) {
#if defined(COGEN_KERNELS_X86)
  switch (set) {
    case instruction_set::portable:
      break;
    case instruction_set::avx2:
      return avx2_fast;
    case instruction_set::avx512:
      return avx512_fast;
    case instruction_set::avx512_vnni:
      return avx512_vnni_fast;
    case instruction_set::avx512_bf16:
      return avx512_bf16_fast();
  }
#else
  static_cast<void>(set);
#endif
  return portable_fast;
}

}  // namespace cogen::kernels
