#include "models/families.hpp"

#include "models/gguf_spec.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <stdexcept>
#include <utility>

namespace cogen::models {

// Each cites the model's paper or its authors.
model_spec apertus(const load::config_fields& fields, const load::model_config& config);
model_spec arcee(const load::config_fields& fields, const load::model_config& config);
model_spec bamba(const load::config_fields& fields, const load::model_config& config);
model_spec bart(const load::config_fields& fields, const load::model_config& config);
model_spec bloom(const load::config_fields& fields, const load::model_config& config);
model_spec cohere(const load::config_fields& fields, const load::model_config& config);
model_spec cohere2(const load::config_fields& fields, const load::model_config& config);
model_spec deepseek_v2(const load::config_fields& fields, const load::model_config& config);
model_spec deepseek_v3(const load::config_fields& fields, const load::model_config& config);
model_spec dots1(const load::config_fields& fields, const load::model_config& config);
model_spec ernie4_5(const load::config_fields& fields, const load::model_config& config);
model_spec exaone4(const load::config_fields& fields, const load::model_config& config);
model_spec falcon(const load::config_fields& fields, const load::model_config& config);
model_spec falcon_h1(const load::config_fields& fields, const load::model_config& config);
model_spec gemma(const load::config_fields& fields, const load::model_config& config);
model_spec gemma2(const load::config_fields& fields, const load::model_config& config);
model_spec gemma3(const load::config_fields& fields, const load::model_config& config);
model_spec gemma3n(const load::config_fields& fields, const load::model_config& config);
model_spec gemma3n_text(const load::config_fields& fields, const load::model_config& config);
model_spec gemma4(const load::config_fields& fields, const load::model_config& config);
model_spec gemma4_text(const load::config_fields& fields, const load::model_config& config);
model_spec glm(const load::config_fields& fields, const load::model_config& config);
model_spec glm4(const load::config_fields& fields, const load::model_config& config);
model_spec glm4_moe(const load::config_fields& fields, const load::model_config& config);
model_spec glm4_moe_lite(const load::config_fields& fields, const load::model_config& config);
model_spec gpt2(const load::config_fields& fields, const load::model_config& config);
model_spec gpt_neox(const load::config_fields& fields, const load::model_config& config);
model_spec gpt_oss(const load::config_fields& fields, const load::model_config& config);
model_spec gptj(const load::config_fields& fields, const load::model_config& config);
model_spec granite(const load::config_fields& fields, const load::model_config& config);
model_spec granitemoehybrid(const load::config_fields& fields, const load::model_config& config);
model_spec granitemoe(const load::config_fields& fields, const load::model_config& config);
model_spec hunyuan_v1_dense(const load::config_fields& fields, const load::model_config& config);
model_spec jamba(const load::config_fields& fields, const load::model_config& config);
model_spec kimi_k2(const load::config_fields& fields, const load::model_config& config);
model_spec lfm2(const load::config_fields& fields, const load::model_config& config);
model_spec lfm2_moe(const load::config_fields& fields, const load::model_config& config);
model_spec llama(const load::config_fields& fields, const load::model_config& config);
model_spec m2m_100(const load::config_fields& fields, const load::model_config& config);
model_spec mamba(const load::config_fields& fields, const load::model_config& config);
model_spec mamba2(const load::config_fields& fields, const load::model_config& config);
model_spec minimax_m2(const load::config_fields& fields, const load::model_config& config);
model_spec minicpm3(const load::config_fields& fields, const load::model_config& config);
model_spec ministral(const load::config_fields& fields, const load::model_config& config);
model_spec ministral3(const load::config_fields& fields, const load::model_config& config);
model_spec mistral(const load::config_fields& fields, const load::model_config& config);
model_spec mistral4(const load::config_fields& fields, const load::model_config& config);
model_spec mixtral(const load::config_fields& fields, const load::model_config& config);
model_spec mpt(const load::config_fields& fields, const load::model_config& config);
model_spec nemotron(const load::config_fields& fields, const load::model_config& config);
model_spec nemotron_h(const load::config_fields& fields, const load::model_config& config);
model_spec olmo2(const load::config_fields& fields, const load::model_config& config);
model_spec olmo3(const load::config_fields& fields, const load::model_config& config);
model_spec olmoe(const load::config_fields& fields, const load::model_config& config);
model_spec opt(const load::config_fields& fields, const load::model_config& config);
model_spec phi(const load::config_fields& fields, const load::model_config& config);
model_spec phi3(const load::config_fields& fields, const load::model_config& config);
model_spec qwen2(const load::config_fields& fields, const load::model_config& config);
model_spec qwen2_moe(const load::config_fields& fields, const load::model_config& config);
model_spec pegasus(const load::config_fields& fields, const load::model_config& config);
model_spec qwen3(const load::config_fields& fields, const load::model_config& config);
model_spec qwen3_5(const load::config_fields& fields, const load::model_config& config);
model_spec qwen3_5_text(const load::config_fields& fields, const load::model_config& config);
model_spec qwen3_5_moe(const load::config_fields& fields, const load::model_config& config);
model_spec qwen3_5_moe_text(const load::config_fields& fields, const load::model_config& config);
model_spec qwen3_moe(const load::config_fields& fields, const load::model_config& config);
model_spec qwen3_next(const load::config_fields& fields, const load::model_config& config);
model_spec seed_oss(const load::config_fields& fields, const load::model_config& config);
model_spec smollm3(const load::config_fields& fields, const load::model_config& config);
model_spec stablelm(const load::config_fields& fields, const load::model_config& config);
model_spec starcoder2(const load::config_fields& fields, const load::model_config& config);
model_spec t5(const load::config_fields& fields, const load::model_config& config);

namespace {

struct family {
  std::string_view name;   // model_type of Transformers
  std::string_view title;  // for people
  model_spec (*describe)(const load::config_fields& fields, const load::model_config& config);
};

constexpr std::array families{
    family{"apertus", "Apertus", apertus},
    family{"arcee", "Arcee (AFM)", arcee},
    family{"bamba", "Bamba", bamba},
    family{"bart", "BART", bart},
    family{"bloom", "BLOOM", bloom},
    family{"cohere", "Command R (Cohere)", cohere},
    family{"cohere2", "Command R7B (Cohere 2)", cohere2},
    family{"deepseek_v2", "DeepSeek-V2", deepseek_v2},
    family{"deepseek_v3", "DeepSeek-V3, R1", deepseek_v3},
    family{"dots1", "dots.llm1", dots1},
    family{"ernie4_5", "ERNIE 4.5", ernie4_5},
    family{"exaone4", "EXAONE 4", exaone4},
    family{"falcon", "Falcon", falcon},
    family{"falcon_h1", "Falcon-H1", falcon_h1},
    family{"gemma", "Gemma", gemma},
    family{"gemma2", "Gemma 2", gemma2},
    family{"gemma3_text", "Gemma 3 (text)", gemma3},
    family{"gemma3n", "Gemma 3n", gemma3n},
    family{"gemma3n_text", "Gemma 3n (text)", gemma3n_text},
    family{"gemma4", "Gemma 4", gemma4},
    family{"gemma4_text", "Gemma 4 (text)", gemma4_text},
    family{"glm", "GLM-4-9B", glm},
    family{"glm4", "GLM-4-0414", glm4},
    family{"glm4_moe", "GLM-4.5", glm4_moe},
    family{"glm4_moe_lite", "GLM-4.7 Flash", glm4_moe_lite},
    family{"gpt2", "GPT-2", gpt2},
    family{"gpt_neox", "GPT-NeoX (Pythia)", gpt_neox},
    family{"gpt_oss", "gpt-oss", gpt_oss},
    family{"gptj", "GPT-J", gptj},
    family{"granite", "Granite 3", granite},
    family{"granitemoehybrid", "Granite 4 hybrid", granitemoehybrid},
    family{"granitemoe", "Granite 3 with experts", granitemoe},
    family{"hunyuan_v1_dense", "Hunyuan dense", hunyuan_v1_dense},
    family{"jamba", "Jamba", jamba},
    family{"kimi_k2", "Kimi K2", kimi_k2},
    family{"lfm2", "LFM 2", lfm2},
    family{"lfm2_moe", "LFM 2 with experts", lfm2_moe},
    family{"llama", "Llama (SmolLM, Yi and others of its shape)", llama},
    family{"m2m_100", "M2M-100, NLLB (dense)", m2m_100},
    family{"mamba", "Mamba", mamba},
    family{"mamba2", "Mamba-2", mamba2},
    family{"minimax_m2", "MiniMax M2", minimax_m2},
    family{"minicpm3", "MiniCPM 3", minicpm3},
    family{"ministral", "Ministral", ministral},
    family{"ministral3", "Ministral 3", ministral3},
    family{"mistral", "Mistral", mistral},
    family{"mistral4", "Mistral 4", mistral4},
    family{"mixtral", "Mixtral", mixtral},
    family{"mpt", "MPT", mpt},
    family{"nemotron", "Nemotron", nemotron},
    family{"nemotron_h", "Nemotron-H, Nemotron 3", nemotron_h},
    family{"olmo2", "OLMo 2", olmo2},
    family{"olmo3", "OLMo 3", olmo3},
    family{"olmoe", "OLMoE", olmoe},
    family{"opt", "OPT", opt},
    family{"pegasus", "Pegasus", pegasus},
    family{"phi", "Phi-1 to Phi-2", phi},
    family{"phi3", "Phi-3, Phi-4", phi3},
    family{"qwen2", "Qwen 2, Qwen 2.5", qwen2},
    family{"qwen2_moe", "Qwen 1.5 and 2 with experts", qwen2_moe},
    family{"qwen3", "Qwen 3", qwen3},
    family{"qwen3_5", "Qwen 3.5 dense", qwen3_5},
    family{"qwen3_5_text", "Qwen 3.5 dense (text)", qwen3_5_text},
    family{"qwen3_5_moe", "Qwen 3.5 with experts", qwen3_5_moe},
    family{"qwen3_5_moe_text", "Qwen 3.5 with experts (text)", qwen3_5_moe_text},
    family{"qwen3_moe", "Qwen 3 with experts", qwen3_moe},
    family{"qwen3_next", "Qwen 3-Next", qwen3_next},
    family{"seed_oss", "Seed-OSS", seed_oss},
    family{"smollm3", "SmolLM 3", smollm3},
    family{"stablelm", "StableLM", stablelm},
    family{"starcoder2", "StarCoder 2", starcoder2},
    family{"t5", "T5, Flan-T5", t5},
};

}  // namespace

describe_model family_named(std::string_view name) {
  const auto found = std::ranges::find(families, name, &family::name);
  if (found != families.end()) {
    return [describe = found->describe](const load::config_fields& fields, const load::model_config& config) {
      auto spec = describe(fields, config);
      return fields.origin() == load::config_fields::source::gguf ? as_gguf(std::move(spec), fields) : spec;
    };
  }
  throw std::invalid_argument(
      fmt::format("model family \"{}\" is not known; known are: {}", name, fmt::join(family_names(), ", ")));
}

std::string_view family_title(std::string_view name) { return std::ranges::find(families, name, &family::name)->title; }

std::vector<std::string_view> family_names() {
  std::vector<std::string_view> names;
  for (const auto& each : families) names.push_back(each.name);
  return names;
}

}  // namespace cogen::models
