#include "readers.hpp"

#include "formats/checkpoint/gguf.hpp"
#include "formats/checkpoint/quantized_folder.hpp"
#include "formats/checkpoint/read_model_config.hpp"
#include "formats/checkpoint/safetensors.hpp"
#include "formats/checkpoint/sentence_modules.hpp"
#include "formats/checkpoint/sentence_text.hpp"
#include "memory_file.hpp"
#include "shards.hpp"
#include "split_model.hpp"
#include "tiny_model.hpp"

#include <cogen/load/checkpoint.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

using namespace cogen::load;

namespace {

template <class Action>
void swallowing_refusals(Action action) {
  try {
    action();
  } catch (const load_error&) {
  }
}

void read_everything(const tensor_file& file) {
  for (const auto& tensor : file.tensors()) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.bytes));
    file.read(tensor, 0, bytes);
  }
}

void read_as_floats(const checkpoint& files, const std::string& name) {
  const auto w = files.find(name);
  if (!w) return;
  std::vector<float> values(static_cast<std::size_t>(w->rows() * w->columns()));
  w->read_rows_as_float(0, w->rows(), values);
  const auto middle = w->rows() / 2;
  w->read_rows_as_float(middle, w->rows(),
                        std::span(values).first(static_cast<std::size_t>((w->rows() - middle) * w->columns())));
}

void read_gguf_model(const std::filesystem::path& path) {
  swallowing_refusals([&] { read_everything(gguf_file(path)); });
  swallowing_refusals([&] {
    const checkpoint files(path);
    swallowing_refusals([&] { files.config(); });
    swallowing_refusals([&] { files.tokenizer(); });
    for (const auto& name : files.weight_names()) swallowing_refusals([&] { read_as_floats(files, name); });
  });
}

// The parts of a model, whose names lead to files in memory.
class parts_in_memory {
 public:
  explicit parts_in_memory(const std::vector<gguf_draft>& drafts) {
    for (std::size_t i = 0; i < drafts.size(); ++i) {
      bytes_.push_back(drafts[i].bytes());
      files_.push_back(std::make_unique<memory_file>(bytes_.back()));
      std::filesystem::create_symlink(files_.back()->path(), folder_.path() / part_name(i, drafts.size()));
    }
  }

  std::size_t count() const { return files_.size(); }
  std::filesystem::path first() const { return folder_.path() / part_name(0, count()); }
  void replace(std::size_t part, std::string_view bytes) const { files_[part]->assign(bytes); }
  void restore(std::size_t part) const { replace(part, bytes_[part]); }

 private:
  temporary_folder folder_;
  std::vector<std::string> bytes_;
  std::vector<std::unique_ptr<memory_file>> files_;
};

}  // namespace

void read_as_gguf(std::string_view bytes) {
  static memory_file file;
  file.assign(bytes);
  read_gguf_model(file.path());
}

void read_as_gguf_parts(std::string_view bytes) {
  static const parts_in_memory parts(split(tiny_llama(), 2, 5));
  for (std::size_t i = 0; i < parts.count(); ++i) {
    parts.replace(i, bytes);
    read_gguf_model(parts.first());
    parts.restore(i);
  }
}

void read_as_safetensors(std::string_view bytes) {
  static memory_file file;
  file.assign(bytes);
  swallowing_refusals([] { read_everything(safetensors_file(file.path())); });
  static const auto fields = config_fields::from_json(R"({"model_type":"llama"})", "config.json");
  swallowing_refusals(
      [] { read_everything(quantized_folder(std::make_unique<const safetensors_file>(file.path()), fields)); });
}

void read_as_shard_index(std::string_view bytes) {
  static const temporary_folder folder;
  static const bool written = (write_shards(folder), true);
  if (written) folder.write(shard_index_name, bytes);
  swallowing_refusals([] { read_everything(safetensors_folder(folder.path())); });
}

void read_as_config(std::string_view bytes) {
  swallowing_refusals([&] {
    const auto fields = config_fields::from_json(bytes, "config.json");
    auto config = read_model_config(fields);
    read_generation_config(fields, config);
  });
}

void read_as_folder(std::string_view bytes) {
  constexpr const char* names[] = {"config.json",
                                   "generation_config.json",
                                   "tokenizer.json",
                                   "tokenizer_config.json",
                                   "chat_template.jinja",
                                   "modules.json",
                                   "1_Pooling/config.json",
                                   "2_Dense/config.json",
                                   "sentence_bert_config.json",
                                   "config_sentence_transformers.json"};
  static const temporary_folder folder;
  static const bool is_written = [] {
    write_shards(folder);
    std::filesystem::create_directory(folder.path() / "1_Pooling");
    return std::filesystem::create_directory(folder.path() / "2_Dense");
  }();
  if (!is_written) return;
  for (const auto* name : names) std::filesystem::remove(folder.path() / name);
  while (!bytes.empty()) {
    const auto file = bytes.substr(0, bytes.find('\0'));
    bytes.remove_prefix(std::min(file.size() + 1, bytes.size()));
    if (file.empty() || file[0] < '0' || file[0] > '9') continue;
    folder.write(names[file[0] - '0'], file.substr(1));
  }
  swallowing_refusals([] {
    const checkpoint files(folder.path());
    swallowing_refusals([&] { files.config(); });
    swallowing_refusals([&] { files.tokenizer(); });
  });
  swallowing_refusals([] { read_sentence_modules(folder.path()); });
  swallowing_refusals([] { check_scoring_modules(folder.path()); });
  swallowing_refusals([] { read_sentence_text(folder.path(), R"({"model_max_length": 9})", 8); });
  swallowing_refusals([] { read_default_prompt(folder.path()); });
}
