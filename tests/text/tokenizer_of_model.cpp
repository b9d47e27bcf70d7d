#include "tokenizer_of_model.hpp"

#include "cogen/load/checkpoint.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace {

using cogen::text::tokenizer;

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path.string() + " cannot be read");
  return std::move(std::ostringstream() << file.rdbuf()).str();
}

tokenizer from_gguf_file(const std::filesystem::path& path) {
  auto source = std::get<cogen::load::gguf_tokenizer>(cogen::load::checkpoint(path).tokenizer());
  return tokenizer(cogen::text::from_gguf({.model = source.model,
                                           .pre = source.pre,
                                           .tokens = source.tokens,
                                           .token_types = source.types,
                                           .merges = source.merges,
                                           .bos = source.bos,
                                           .eos = source.eos,
                                           .unknown = source.unknown,
                                           .add_bos = source.add_bos,
                                           .add_eos = source.add_eos,
                                           .chat_template = source.chat_template.value_or("")}));
}

}  // namespace

tokenizer tokenizer_of_model(const std::filesystem::path& model) {
  if (std::filesystem::is_directory(model)) return tokenizer_of_model(model / "tokenizer.json");
  if (model.extension() == ".gguf") return from_gguf_file(model);
  auto config = model.parent_path() / "tokenizer_config.json";
  auto settings = std::filesystem::exists(config) ? content_of(config) : std::string();
  return tokenizer(cogen::text::from_tokenizer_json(content_of(model), settings));
}
