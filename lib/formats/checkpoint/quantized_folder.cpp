#include "formats/checkpoint/quantized_folder.hpp"

#include "formats/checkpoint/module_kinds.hpp"
#include "formats/checkpoint/part_checks.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

namespace cogen::load {
namespace {

constexpr std::uint32_t file_of_modules = std::numeric_limits<std::uint32_t>::max();

/// Names of parts: ones that follow the name of the weight, and ones that stand in its place in the module.
struct part_name {
  std::string_view text;
  const tensor_info* module_parts::*part;
};

constexpr part_name endings[] = {
    {"_packed", &module_parts::packed},
    {"_scale", &module_parts::scale},
    {"_scale_inv", &module_parts::scale_inv},
    {"_scale_2", &module_parts::second_scale},
    {"_global_scale", &module_parts::global_scale},
    {"_zero_point", &module_parts::zero_point},
    {"_shape", &module_parts::shape},
    {"_g_idx", &module_parts::group_index},
    {".absmax", &module_parts::maxima},
    {".quant_map", &module_parts::table},
    {".nested_absmax", &module_parts::nested_maxima},
    {".nested_quant_map", &module_parts::nested_table},
    {".quant_state.bitsandbytes__nf4", &module_parts::state},
    {".quant_state.bitsandbytes__fp4", &module_parts::state},
};

constexpr part_name module_names[] = {
    {"qweight", &module_parts::turned},           {"qzeros", &module_parts::turned_zeros},
    {"scales", &module_parts::turned_scales},     {"g_idx", &module_parts::group_index},
    {"qscale_weight", &module_parts::scale},      {"SCB", &module_parts::row_maxima},
    {"weight_format", &module_parts::row_format},
};

/// Of activations and of caches, which are computed in full.
constexpr std::string_view unread_names[] = {
    "input_scale", "activation_scale", "input_global_scale", "input_zero_point", "qscale_act",       "k_scale",
    "v_scale",     "q_scale",          "kv_scale",           "output_scale",     "prob_output_scale"};
constexpr std::string_view unread_endings[] = {"_input_scale", "_activation_scale"};  // of stacks of experts

constexpr std::string_view weight_ending = ".weight";

std::string_view last_part(std::string_view name) {
  const auto dot = name.rfind('.');
  return dot == name.npos ? name : name.substr(dot + 1);
}

bool is_code_type(element_type type) {
  return type == element_type::f8_e4m3 || type == element_type::i8 || type == element_type::u8;
}

/// The modules of a folder, by the names of their weights.
class part_collection {
 public:
  explicit part_collection(const tensor_file& stored) : stored_(stored) {
    for (const auto& tensor : stored.tensors()) add(tensor);
  }

  const std::map<std::string, module_parts, std::less<>>& modules() const { return modules_; }

  /// Whether a tensor is a part of a module.
  bool holds(const tensor_info& tensor) const { return owners_.contains(&tensor); }

  /// The module whose codes a tensor holds.
  const module_parts* module_of(const tensor_info& tensor) const {
    const auto found = owners_.find(&tensor);
    if (found == owners_.end()) return nullptr;
    const auto& parts = modules_.find(found->second)->second;
    return parts.codes() == &tensor ? &parts : nullptr;
  }

 private:
  void add(const tensor_info& tensor) {
    const std::string_view name = tensor.name;
    for (const auto& [text, part] : module_names)
      if (last_part(name) == text)
        return put(std::string(name.substr(0, name.size() - text.size())) + "weight", part, tensor);
    for (const auto& [text, part] : endings)
      if (name.ends_with(text) && is_weight(name.substr(0, name.size() - text.size())))
        return put(std::string(name.substr(0, name.size() - text.size())), part, tensor);
    if (is_code_type(tensor.type) && (name.ends_with(weight_ending) || has_scale(name)))
      put(std::string(name), &module_parts::weight, tensor);
  }

  /// Whether what is named behind it can be a part of it: of a module's weight, or of codes of another name.
  bool is_weight(std::string_view name) const {
    if (name.ends_with(weight_ending)) return true;
    const auto* codes = stored_.find(name);
    return codes != nullptr && is_code_type(codes->type);
  }

  bool has_scale(std::string_view name) const {
    const auto has = [&](std::string_view ending) { return stored_.find(std::string(name).append(ending)) != nullptr; };
    return has("_scale") || has("_scale_inv");
  }

  void put(std::string weight, const tensor_info* module_parts::*part, const tensor_info& tensor) {
    auto& parts = modules_[weight];
    parts.weight_name = weight;
    if (parts.*part != nullptr)
      refuse(stored_.path().string(), "tensors {} and {} are the same part of {}", in_quotes((parts.*part)->name),
             in_quotes(tensor.name), in_quotes(weight));
    parts.*part = &tensor;
    owners_.emplace(&tensor, std::move(weight));
  }

  const tensor_file& stored_;
  std::map<std::string, module_parts, std::less<>> modules_;
  std::map<const tensor_info*, std::string> owners_;
};

/// Some part of a module, for messages.
const tensor_info& any_part(const module_parts& parts) {
  const tensor_info* candidates[] = {parts.scale,         parts.scale_inv, parts.second_scale, parts.global_scale,
                                     parts.zero_point,    parts.shape,     parts.group_index,  parts.turned_zeros,
                                     parts.turned_scales, parts.maxima,    parts.table,        parts.nested_maxima,
                                     parts.nested_table,  parts.state,     parts.row_maxima,   parts.row_format};
  return **std::ranges::find_if(candidates, [](const auto* part) { return part != nullptr; });
}

module_pointer make_module(const tensor_file& stored, const module_parts& parts, const quantization_method& method) {
  const auto& codes = *parts.codes();
  if (element_count(codes) == 0) refuse_part(stored, codes, "codes are one at least");
  if (&codes == parts.turned) return make_transposed_module(stored, parts, method);
  if (&codes == parts.packed && codes.type == element_type::i32) return make_packed_module(stored, parts);
  if (codes.type == element_type::u8 && parts.maxima != nullptr) return make_table_module(stored, parts);
  if (codes.type == element_type::u8) return make_fp4_module(stored, parts);
  if (&codes == parts.weight && codes.type == element_type::f8_e4m3) return make_fp8_module(stored, parts, method);
  if (&codes == parts.weight && codes.type == element_type::i8) return make_int8_module(stored, parts);
  refuse_part(stored, codes, "f8_e4m3, i8 and u8 codes, and packed ones in i32 or u8 are read");
}

bool is_unread(const tensor_info& tensor) {
  const auto name = last_part(tensor.name);
  return std::ranges::find(unread_names, name) != std::end(unread_names) ||
         std::ranges::any_of(unread_endings, [&](std::string_view ending) { return name.ends_with(ending); });
}

}  // namespace

quantized_folder::quantized_folder(std::unique_ptr<const tensor_file> stored, const config_fields& fields)
    : stored_(std::move(stored)), tensors_(joined(fields), stored_->path().string()) {}

std::vector<tensor_info> quantized_folder::joined(const config_fields& fields) {
  const auto method = read_quantization_method(fields);
  const part_collection parts(*stored_);
  const bool quantized = !parts.modules().empty() || fields.has("quantization_config");
  for (const auto& [name, module] : parts.modules())
    if (module.codes() == nullptr)
      refuse(path().string(), "tensor {} belongs to codes of {}, which are missing", in_quotes(any_part(module).name),
             in_quotes(name));
  std::vector<tensor_info> tensors;
  for (const auto& tensor : stored_->tensors()) {
    if (const auto* module = parts.module_of(tensor)) {
      auto& module_made = modules_.emplace_back(make_module(*stored_, *module, method));
      tensors.push_back(module_made->weight());
      tensors.back().file = file_of_modules;
      tensors.back().begin = modules_.size() - 1;
      if (auto factors = module_made->factors()) tensors.push_back(std::move(*factors));
    } else if (!parts.holds(tensor) && !(quantized && is_unread(tensor))) {
      tensors.push_back(tensor);
    }
  }
  return tensors;
}

void quantized_folder::read(const tensor_info& tensor, std::uint64_t offset, std::span<std::byte> out) const {
  if (tensor.file == file_of_modules) return modules_.at(tensor.begin)->read(offset, out);
  stored_->read(tensor, offset, out);
}

}  // namespace cogen::load
