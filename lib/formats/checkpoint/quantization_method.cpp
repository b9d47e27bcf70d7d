#include "formats/checkpoint/quantization_method.hpp"

#include "formats/checkpoint/message.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace cogen::load {
namespace {

constexpr std::string_view key = "quantization_config";
constexpr std::string_view methods[] = {"fp8",   "fbgemm_fp8",  "compressed-tensors", "modelopt",
                                        "gptq",  "awq",         "auto-round",         "quark",
                                        "mxfp4", "bitsandbytes"};

std::string key_of(std::string_view name) { return std::string(key).append(".").append(name); }

template <std::size_t Count>
void check_text(const config_fields& fields, std::string_view name, const std::array<std::string_view, Count>& allowed,
                std::string_view reason) {
  const auto field = key_of(name);
  if (!fields.has(field)) return;
  if (std::ranges::find(allowed, fields.string(field)) == allowed.end()) fields.refuse(field, reason);
}

void check_method(const config_fields& fields) {
  const auto field = key_of("quant_method");
  if (!fields.has(field)) return;
  const auto method = fields.string(field);
  const bool known = std::ranges::find(methods, method) != std::end(methods) || method.starts_with("modelopt");
  if (!known) fields.refuse(field, fmt::format("it is not read; {} are", fmt::join(methods, ", ")));
}

void check_gptq(const config_fields& fields) {
  check_text(fields, "checkpoint_format", std::array<std::string_view, 2>{"gptq", "gptq_v2"},
             "gptq and gptq_v2 are read; GPTQModel converts to them");
  check_text(fields, "packing_format",
             std::array<std::string_view, 5>{"auto_round:auto_gptq", "auto_round:auto_awq", "auto_round:gptq",
                                             "auto_gptq", "auto_awq"},
             "auto_gptq and auto_awq are read; AutoRound exports them");
}

void check_awq(const config_fields& fields) {
  check_text(fields, "version", std::array<std::string_view, 2>{"gemm", "GEMM"},
             "gemm is read; AutoAWQ writes it with version GEMM");
  check_text(fields, "checkpoint_format", std::array<std::string_view, 1>{"gemm"}, "gemm is read");
}

// Rotations at run time, and weights of which half are zeros and left out.
void check_compressed_tensors(const config_fields& fields) {
  if (fields.has(key_of("transform_config.config_groups")))
    fields.refuse(key_of("transform_config"),
                  "weights that are transformed at run time are not read; without them are");
  check_text(fields, "sparsity_config.format", std::array<std::string_view, 1>{"dense"},
             "dense weights are read; compressed-tensors decompresses sparse ones");
  if (fields.is(key_of("format"), "marlin-24"))
    fields.refuse(key_of("format"), "pack-quantized, int-quantized, float-quantized and nvfp4-pack-quantized are read");
}

void check_bitsandbytes(const config_fields& fields) {
  check_text(fields, "bnb_4bit_quant_storage", std::array<std::string_view, 1>{"uint8"},
             "codes in bytes are read; bitsandbytes stores them so unless it is told otherwise");
}

std::vector<scale_block> read_blocks(const config_fields& fields) {
  constexpr int max_groups = 64;  // of modules that are quantized alike, by compressed-tensors
  std::vector<std::string> names{key_of("weight_block_size")};
  for (int group = 0; group < max_groups; ++group)
    names.push_back(key_of(fmt::format("config_groups.group_{}.weights.block_structure", group)));
  std::vector<scale_block> blocks;
  for (const auto& name : names) {
    const auto sizes = fields.integers(name, {1, 1 << 20});
    if (sizes.empty()) continue;
    if (sizes.size() != 2) fields.refuse(name, "[outputs, inputs] is read");
    if (std::ranges::find(blocks, scale_block{sizes[0], sizes[1]}) == blocks.end())
      blocks.push_back({sizes[0], sizes[1]});
  }
  if (blocks.empty()) blocks.push_back({128, 128});
  return blocks;
}

}  // namespace

quantization_method read_quantization_method(const config_fields& fields) {
  quantization_method method{.blocks = read_blocks(fields)};
  if (!fields.has(key)) return method;
  check_method(fields);
  const auto name = fields.string(key_of("quant_method"), "");
  if (name == "gptq" || name == "auto-round") check_gptq(fields);
  if (name == "awq") check_awq(fields);
  if (name == "bitsandbytes") check_bitsandbytes(fields);
  if (name == "compressed-tensors") check_compressed_tensors(fields);
  method.lowered_zeros = fields.string(key_of("checkpoint_format"), "gptq") != "gptq_v2";
  method.symmetric = fields.boolean(key_of("sym"), false);
  return method;
}

}  // namespace cogen::load
