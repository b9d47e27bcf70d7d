#include "formats/checkpoint/family_fields.hpp"
#include "formats/checkpoint/field_ranges.hpp"
#include "formats/checkpoint/folder.hpp"
#include "formats/checkpoint/gguf.hpp"
#include "formats/checkpoint/gguf_names.hpp"
#include "formats/checkpoint/gguf_parts.hpp"
#include "formats/checkpoint/gguf_views.hpp"
#include "formats/checkpoint/input_file.hpp"
#include "formats/checkpoint/message.hpp"
#include "formats/checkpoint/mxfp4_folder.hpp"
#include "formats/checkpoint/quantized_folder.hpp"
#include "formats/checkpoint/read_model_config.hpp"
#include "formats/checkpoint/safetensors.hpp"
#include "formats/checkpoint/tokenizer_source.hpp"

#include <cogen/load/checkpoint.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <system_error>
#include <utility>

namespace cogen::load {
namespace {

constexpr std::uint64_t largest_config = 4 << 20;
constexpr std::string_view listed_frequencies = "rope_freqs.weight";
constexpr std::string_view short_factors = "rope_factors_short.weight";
constexpr std::string_view long_factors = "rope_factors_long.weight";

bool is_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

bool begins_as_gguf(const std::filesystem::path& path) {
  const input_file file(path);
  std::array<char, 4> start{};
  if (file.size() >= start.size()) file.read(0, std::as_writable_bytes(std::span(start)));
  return std::string_view(start.data(), start.size()) == "GGUF";
}

// The parts of a split model count as its first.
std::vector<std::filesystem::path> gguf_models_in(const std::filesystem::path& folder) {
  try {
    auto found = list_folder(folder);
    std::erase_if(found, [](const auto& path) { return path.extension() != ".gguf" || is_later_gguf_part(path); });
    return found;
  } catch (const std::system_error& error) {
    refuse(folder.string(), "cannot be listed: {}", error.code().message());
  }
}

std::filesystem::path only_gguf_file_in(const std::filesystem::path& folder) {
  auto found = gguf_models_in(folder);
  if (found.empty()) refuse(folder.string(), "holds neither config.json nor a .gguf file, or the first part of one");
  if (found.size() > 1) refuse(folder.string(), "holds {} .gguf files; name the one to read", found.size());
  return found.front();
}

bool is_hugging_face_folder(const std::filesystem::path& path) { return is_there(path / "config.json"); }

std::filesystem::path gguf_path(const std::filesystem::path& path) {
  if (is_folder(path)) return only_gguf_file_in(path);
  if (!begins_as_gguf(path)) refuse(path.string(), "is not a GGUF file; of a Hugging Face model the folder is named");
  return path;
}

config_fields read_config_json(const std::filesystem::path& path) {
  return config_fields::from_json(read_text(path, largest_config), path.string());
}

std::vector<float> read_listed_frequencies(const gguf_file& file, const tensor_info& tensor, const rope_config& rope) {
  const auto count = rope.rotary_dim / 2;
  if (tensor.type != element_type::f32 || tensor.shape != std::vector{count}) {
    refuse(file.path().string(), "tensor '{}' is {} [{}]; f32 [{}] is allowed", tensor.name, to_string(tensor.type),
           fmt::join(tensor.shape, ", "), count);
  }
  std::vector<float> factors(static_cast<std::size_t>(count));
  file.read(tensor, 0, std::as_writable_bytes(std::span(factors)));
  for (const float factor : factors) {
    if (!(factor >= 1e-6F && factor <= 1e30F)) {
      refuse(file.path().string(), "tensor '{}' has the factor {}; 1e-6 to 1e30 is allowed", tensor.name, factor);
    }
  }
  return factors;
}

std::vector<float> read_longrope_factors(const gguf_file& file, std::string_view name, const rope_config& rope) {
  const auto* tensor = file.find(name);
  if (tensor == nullptr) refuse(file.path().string(), "tensor '{}' of its longrope is missing", name);
  return read_listed_frequencies(file, *tensor, rope);
}

void add_listed_frequencies(const gguf_file& file, rope_config& rope) {
  if (rope.kind == rope_kind::longrope) {
    rope.frequency_factors = read_longrope_factors(file, short_factors, rope);
    rope.long_factors = read_longrope_factors(file, long_factors, rope);
  }
  const auto* tensor = file.find(listed_frequencies);
  if (tensor == nullptr) return;
  rope.frequency_factors = read_listed_frequencies(file, *tensor, rope);
  if (rope.kind != rope_kind::standard) {
    refuse(file.path().string(), "has both rope.scaling and the tensor '{}'; one of them is read", listed_frequencies);
  }
  rope.kind = rope_kind::listed;
}

void add_what_tensors_tell(const gguf_file& file, model_config& config) {
  config.tie_embeddings = file.find("output.weight") == nullptr;
  if (config.rope.rotary_dim > 0) add_listed_frequencies(file, config.rope);
}

// Files of llama.cpp's tools that hold no model.
void refuse_other_kinds(const gguf_file& file) {
  const auto is = [&](std::string_view key, std::string_view text) {
    const auto* value = file.metadata(key);
    const auto* string = value ? std::get_if<std::string>(value) : nullptr;
    return string && *string == text;
  };
  if (is("general.type", "imatrix"))
    refuse(file.path().string(), "is an importance matrix, with which models are quantized, and no model");
  if (is("general.type", "mmproj") || is("general.architecture", "clip"))
    refuse(file.path().string(), "has the encoder of a model's images or sounds; that of its text is another file");
}

bool is_output_matrix(const tensor_info& tensor) {
  constexpr std::string_view endings[] = {"head.weight", "embed_out.weight", "output.weight"};
  return std::ranges::any_of(endings, [&](std::string_view ending) { return tensor.name.ends_with(ending); });
}

bool may_always_be_there(std::string_view name, bool tied) {
  return name.ends_with("rotary_emb.inv_freq") || name.ends_with(".input_scale") || name == listed_frequencies ||
         name == short_factors || name == long_factors || (tied && name == "lm_head.weight");
}

}  // namespace

struct checkpoint::contents {
  explicit contents(const std::filesystem::path& path) {
    if (is_hugging_face_folder(path)) {
      folder = path;
      fields.emplace(read_config_json(path / "config.json"));
      family = fields->family();
      tensors = std::make_unique<const safetensors_folder>(path);
      if (fields->is("quantization_config.quant_method", "mxfp4"))
        tensors = std::make_unique<const mxfp4_folder>(std::move(tensors));
      tensors = std::make_unique<const quantized_folder>(std::move(tensors), *fields);
    } else {
      auto file = std::make_unique<const gguf_file>(gguf_path(path));
      gguf = file.get();
      tensors = std::move(file);
      refuse_other_kinds(*gguf);
      fields.emplace(config_fields::from_gguf(*gguf));
      views.emplace(*gguf, *fields);
      family = fields->family();
    }
  }

  std::string stored_name(std::string_view name) const {
    return gguf ? gguf_name(gguf_views::stored_name(name)) : std::string(name);
  }

  /// The file that holds a tensor, and the tensor; null if there is none.
  std::pair<const tensor_file*, const tensor_info*> find(std::string_view name) const {
    if (views && gguf_views::stored_name(name) != name) return views->find(name);
    const auto* stored = tensors->find(stored_name(name));
    return stored == nullptr && views ? views->find(name) : std::pair(tensors.get(), stored);
  }

  std::string given_name(const tensor_info& tensor) const {
    return gguf == nullptr ? tensor.name : hugging_face_name(tensor.name);
  }

  std::int64_t key_heads(std::int64_t queries) const;
  std::int64_t interleaved_head_rows(const tensor_info& tensor, std::int64_t rows) const;

  std::unique_ptr<const tensor_file> tensors;
  const gguf_file* gguf = nullptr;        // tensors, where it is a GGUF file
  std::optional<const gguf_views> views;  // of a GGUF file
  std::filesystem::path folder;           // of a Hugging Face model
  std::optional<config_fields> fields;
  std::string family;
};

/// A list has a number for each layer, 0 for those without attention.
std::int64_t checkpoint::contents::key_heads(std::int64_t queries) const {
  constexpr auto key = "attention.head_count_kv";
  if (fields->size(key) < 2) return fields->integer(key, head_counts, queries);
  return std::max(std::ranges::max(fields->integers(key, {0, head_counts.highest})), head_counts.lowest);
}

std::int64_t checkpoint::contents::interleaved_head_rows(const tensor_info& tensor, std::int64_t rows) const {
  if (gguf == nullptr || !stores_interleaved_heads(family)) return 0;
  const auto kind = rows_of(tensor.name);
  if (kind == gguf_rows::others) return 0;
  if (kind == gguf_rows::queries_keys_values) {
    refuse(gguf->path().string(), "tensor {} has rows of queries, keys and values; of a {} model they are read apart",
           in_quotes(tensor.name), family);
  }
  const auto queries = fields->integer("attention.head_count", head_counts);
  const auto heads = kind == gguf_rows::queries ? queries : key_heads(queries);
  if (rows % (2 * heads) != 0) {
    refuse(gguf->path().string(), "tensor {} has {} rows; an even number for each of {} heads is allowed",
           in_quotes(tensor.name), rows, heads);
  }
  return rows / heads;
}

checkpoint::checkpoint(const std::filesystem::path& path) : contents_(std::make_unique<const contents>(path)) {}
checkpoint::checkpoint(checkpoint&&) noexcept = default;
checkpoint& checkpoint::operator=(checkpoint&&) noexcept = default;
checkpoint::~checkpoint() = default;

const std::filesystem::path& checkpoint::path() const noexcept { return contents_->tensors->path(); }
const std::string& checkpoint::family() const noexcept { return contents_->family; }
const config_fields& checkpoint::fields() const noexcept { return *contents_->fields; }

model_config checkpoint::config() const {
  auto config = read_model_config(fields());
  if (contents_->gguf != nullptr) {
    add_what_tensors_tell(*contents_->gguf, config);
  } else {
    if (std::ranges::none_of(contents_->tensors->tensors(), is_output_matrix)) config.tie_embeddings = true;
    const auto generation = contents_->folder / "generation_config.json";
    if (is_there(generation)) read_generation_config(read_config_json(generation), config);
  }
  return config;
}

tokenizer_source checkpoint::tokenizer() const {
  if (contents_->gguf != nullptr) return read_gguf_vocabulary(*contents_->gguf);
  return read_tokenizer_files(contents_->folder);
}

std::optional<weight> checkpoint::find(std::string_view name) const {
  const auto [file, tensor] = contents_->find(name);
  if (tensor == nullptr) return std::nullopt;
  weight found;
  found.name_ = name;
  found.file_ = file;
  found.tensor_ = tensor;
  const auto& shape = tensor->shape;
  found.columns_ = shape.size() < 2 ? 1 : shape.back();
  found.rows_ = shape.empty() ? 1 : shape.front();
  for (std::size_t i = 1; i + 1 < shape.size(); ++i) found.rows_ *= shape[i];
  const auto [elements, bytes] = layout(tensor->type);
  if (found.columns_ % elements != 0) {
    refuse(path().string(), "tensor {} is a vector in {}; matrices are read so", in_quotes(tensor->name),
           to_string(tensor->type));
  }
  found.row_bytes_ = static_cast<std::uint64_t>(found.columns_ / elements * bytes);
  found.interleaved_head_rows_ = contents_->interleaved_head_rows(*tensor, found.rows_);
  return found;
}

weight checkpoint::at(std::string_view name, std::initializer_list<std::int64_t> shape) const {
  return at(name, std::span(shape.begin(), shape.size()));
}

weight checkpoint::at(std::string_view name, std::span<const std::int64_t> shape) const {
  auto found = find(name);
  if (!found) refuse(path().string(), "tensor {} of shape [{}] is missing", in_quotes(name), fmt::join(shape, ", "));
  if (!std::ranges::equal(found->shape(), shape)) {
    refuse(path().string(), "tensor {} has shape [{}]; the configuration makes it [{}]", in_quotes(name),
           fmt::join(found->shape(), ", "), fmt::join(shape, ", "));
  }
  return std::move(*found);
}

std::vector<std::string> checkpoint::weight_names() const {
  std::vector<std::string> names;
  for (const auto& tensor : contents_->tensors->tensors()) names.push_back(contents_->given_name(tensor));
  if (contents_->views)
    for (const auto& name : contents_->views->metadata_names()) names.push_back(name);
  return names;
}

void checkpoint::refuse_others(std::span<const std::string> expected) const {
  std::set<std::string> known;
  for (const auto& name : expected) known.insert(contents_->stored_name(name));
  const bool tied = config().tie_embeddings;
  for (const auto& tensor : contents_->tensors->tensors()) {
    if (!known.contains(tensor.name) && !may_always_be_there(tensor.name, tied)) {
      refuse(path().string(), "tensor {} belongs to no part of a {} model", in_quotes(contents_->given_name(tensor)),
             family());
    }
  }
}

}  // namespace cogen::load
