#include "formats/checkpoint/input_file.hpp"
#include "formats/checkpoint/message.hpp"
#include "formats/checkpoint/safetensors.hpp"
#include "formats/checkpoint/sentence_modules.hpp"
#include "formats/checkpoint/tensor_table.hpp"
#include "formats/json/field.hpp"
#include "formats/json/parse.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace cogen::load {
namespace {

constexpr std::uint64_t largest_index = 32 << 20;
constexpr std::size_t max_shards = 4096;
constexpr const char* single_name = "model.safetensors";
constexpr const char* index_name = "model.safetensors.index.json";

struct shard_file {
  std::unique_ptr<const safetensors_file> file;
  std::string prefix = {};  // of its tensors' names
};

struct shard_index {
  std::map<std::string, std::string, std::less<>> shard_of;  // tensor name -> file name
  std::vector<std::string> shards;                           // sorted, each once
};

bool is_plain_file_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == name.npos && name.find('\\') == name.npos &&
         name.find('\0') == name.npos;
}

std::string checked_shard_name(std::string_view file, std::string_view tensor, const boost::json::value& value) {
  if (!value.is_string()) refuse(file, "weight_map gives tensor {} no file name", in_quotes(tensor));
  std::string name(value.get_string());
  if (!is_plain_file_name(name)) {
    refuse(file, "weight_map gives tensor {} the file {}; plain file names are allowed", in_quotes(tensor),
           in_quotes(name));
  }
  return name;
}

json::field weight_map(const json::field& index) {
  const auto map = index.member("weight_map");
  if (!map || !map->value().is_object()) refuse(index.path(), "has no object 'weight_map'");
  return *map;
}

shard_index read_index(const std::filesystem::path& path) {
  const auto file = path.string();
  const auto text = read_text(path, largest_index);
  const auto root = read_json([&] { return json::parse_with_unique_keys(text, file); });
  shard_index index;
  for (const auto& entry : weight_map(json::field(root, file)).object()) {
    const std::string tensor(entry.key());
    auto shard = checked_shard_name(file, tensor, entry.value());
    index.shards.push_back(shard);
    index.shard_of.emplace(tensor, std::move(shard));
  }
  std::ranges::sort(index.shards);
  index.shards.erase(std::unique(index.shards.begin(), index.shards.end()), index.shards.end());
  if (index.shards.size() > max_shards)
    refuse(file, "names {} files; at most {} are read", index.shards.size(), max_shards);
  return index;
}

void check_listed(const shard_index& index, const std::string& shard, const safetensors_file& file) {
  for (const auto& tensor : file.tensors()) {
    const auto listed = index.shard_of.find(tensor.name);
    if (listed == index.shard_of.end()) {
      refuse(file.path().string(), "tensor {} is not listed in {}", in_quotes(tensor.name), index_name);
    }
    if (listed->second != shard) {
      refuse(file.path().string(), "tensor {} is listed in {} as part of {}", in_quotes(tensor.name), index_name,
             in_quotes(listed->second));
    }
  }
}

void check_present(const shard_index& index, const tensor_table& tensors, const std::filesystem::path& path) {
  for (const auto& [tensor, shard] : index.shard_of) {
    if (tensors.find(tensor) == nullptr)
      refuse(path.string(), "tensor {} is not in {}", in_quotes(tensor), in_quotes(shard));
  }
}

using shard_files = std::vector<shard_file>;

shard_files open_shards(const std::filesystem::path& folder, const shard_index& index) {
  shard_files files;
  for (const auto& shard : index.shards) {
    files.push_back({std::make_unique<const safetensors_file>(folder / shard)});
    check_listed(index, shard, *files.back().file);
  }
  return files;
}

shard_files open_files(const std::filesystem::path& folder, shard_index& index) {
  if (is_there(folder / single_name)) {  // first, as in Transformers: an index beside it is older
    shard_files files;
    files.push_back({std::make_unique<const safetensors_file>(folder / single_name)});
    return files;
  }
  if (!is_there(folder / index_name)) refuse(folder.string(), "holds neither {} nor {}", single_name, index_name);
  index = read_index(folder / index_name);
  return open_shards(folder, index);
}

// Dense layers of Sentence Transformers lie in folders of their own.
shard_files with_modules(shard_files files, const std::filesystem::path& folder) {
  const auto modules = read_sentence_modules(folder);
  if (!modules) return files;
  for (const auto& dense : modules->dense)
    files.push_back({std::make_unique<const safetensors_file>(folder / dense.path / single_name), dense.path + "."});
  return files;
}

std::vector<tensor_info> all_tensors(const shard_files& files) {
  std::vector<tensor_info> tensors;
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (tensor_info tensor : files[i].file->tensors()) {
      tensor.name = files[i].prefix + tensor.name;
      tensor.file = static_cast<std::uint32_t>(i);
      tensors.push_back(std::move(tensor));
    }
  }
  return tensors;
}

}  // namespace

struct safetensors_folder::contents {
  explicit contents(std::filesystem::path folder)
      : path(std::move(folder)),
        files(with_modules(open_files(path, index), path)),
        tensors(all_tensors(files), path.string()) {
    check_present(index, tensors, path / index_name);
  }

  std::filesystem::path path;
  shard_index index;
  shard_files files;
  tensor_table tensors;
};

safetensors_folder::safetensors_folder(const std::filesystem::path& folder)
    : contents_(std::make_unique<const contents>(folder)) {}
safetensors_folder::~safetensors_folder() = default;

std::span<const tensor_info> safetensors_folder::tensors() const noexcept { return contents_->tensors.tensors(); }

const tensor_info* safetensors_folder::find(std::string_view name) const noexcept {
  return contents_->tensors.find(name);
}

void safetensors_folder::read(const tensor_info& tensor, std::uint64_t offset, std::span<std::byte> out) const {
  contents_->files.at(tensor.file).file->read(tensor, offset, out);
}

const std::filesystem::path& safetensors_folder::path() const noexcept { return contents_->path; }

}  // namespace cogen::load
