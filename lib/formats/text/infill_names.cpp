// Source: the keys and names that llama.cpp knows, src/llama-vocab.cpp.
#include <cogen/text/infill.hpp>

#include <array>
#include <span>
#include <string_view>

namespace cogen::text {
namespace {

// Qwen and CodeGemma, StarCoder and Granite, DeepSeek, CodeLlama, GLM.
constexpr std::array<std::string_view, 9> prefixes{"tokenizer.ggml.fim_pre_token_id",
                                                   "tokenizer.ggml.prefix_token_id",
                                                   "<|fim_prefix|>",
                                                   "<fim-prefix>",
                                                   "<fim_prefix>",
                                                   "<\uFF5Cfim\u2581begin\uFF5C>",
                                                   "<PRE>",
                                                   "\u2581<PRE>",
                                                   "<|code_prefix|>"};
constexpr std::array<std::string_view, 9> suffixes{"tokenizer.ggml.fim_suf_token_id",
                                                   "tokenizer.ggml.suffix_token_id",
                                                   "<|fim_suffix|>",
                                                   "<fim-suffix>",
                                                   "<fim_suffix>",
                                                   "<\uFF5Cfim\u2581hole\uFF5C>",
                                                   "<SUF>",
                                                   "\u2581<SUF>",
                                                   "<|code_suffix|>"};
constexpr std::array<std::string_view, 9> middles{"tokenizer.ggml.fim_mid_token_id",
                                                  "tokenizer.ggml.middle_token_id",
                                                  "<|fim_middle|>",
                                                  "<fim-middle>",
                                                  "<fim_middle>",
                                                  "<\uFF5Cfim\u2581end\uFF5C>",
                                                  "<MID>",
                                                  "\u2581<MID>",
                                                  "<|code_middle|>"};
constexpr std::array<std::string_view, 6> repositories{
    "tokenizer.ggml.fim_rep_token_id", "<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"};
constexpr std::array<std::string_view, 2> files{"tokenizer.ggml.fim_sep_token_id", "<|file_sep|>"};
constexpr std::array<std::string_view, 4> paddings{"tokenizer.ggml.fim_pad_token_id", "<|fim_pad|>", "<fim-pad>",
                                                   "<fim_pad>"};

}  // namespace

infill_tokens infill_tokens_of(const tokenizer& tokens) {
  const auto find = [&](std::span<const std::string_view> names) {
    std::optional<token> found;
    for (auto name = names.begin(); !found && name != names.end(); ++name) found = tokens.find(*name);
    return found;
  };
  return {.prefix = find(prefixes),
          .suffix = find(suffixes),
          .middle = find(middles),
          .repository = find(repositories),
          .file = find(files),
          .padding = find(paddings)};
}

}  // namespace cogen::text
