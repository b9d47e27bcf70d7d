#include "tokenizer_of_model.hpp"

#include "formats/checkpoint/gguf.hpp"
#include "formats/checkpoint/tokenizer_source.hpp"
#include "network/model/model_text.hpp"

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

std::unique_ptr<const tokenizer> of_json(const std::filesystem::path& file) {
  const auto config = file.parent_path() / "tokenizer_config.json";
  const auto settings = std::filesystem::exists(config) ? content_of(config) : std::string();
  return std::make_unique<const tokenizer>(tokenizer::from_tokenizer_json(content_of(file), settings));
}

/// Of a GGUF file without tensors: nothing otherwise.
std::unique_ptr<const tokenizer> of_vocabulary(const std::filesystem::path& file) {
  const cogen::load::gguf_file stored(file);
  if (!stored.tensors().empty()) return nullptr;
  return std::make_unique<const tokenizer>(tokenizer::from_gguf(cogen::load::read_gguf_vocabulary(stored)));
}

}  // namespace

std::unique_ptr<const tokenizer> tokenizer_of_model(const std::filesystem::path& model) {
  if (model.extension() == ".json") return of_json(model);
  if (std::filesystem::is_directory(model) && !std::filesystem::exists(model / "config.json"))
    return of_json(model / "tokenizer.json");
  if (model.extension() == ".gguf") {
    if (auto tokens = of_vocabulary(model)) return tokens;
  }
  const cogen::load::checkpoint files(model);
  auto text = cogen::nn::read_text(files, files.config(), {});
  if (!text.tokenizer) throw std::runtime_error(model.string() + " has no tokenizer");
  return std::move(text.tokenizer);
}
