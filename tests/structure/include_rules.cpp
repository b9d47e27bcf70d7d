#include "include_rules.hpp"

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <stdexcept>
#include <string_view>

namespace cogen::structure {
namespace {

using names = std::set<std::string, std::less<>>;

// What each part may include besides itself and "values", which know of nothing. "basics" are the public headers that
// nothing stands under, "view" those headers of cache that name plain values only. "libtorch" are its headers, for the
// files of devices alone.
const std::map<std::string, names, std::less<>> may_include = {
    {"values", {}},
    {"scheduler", {}},
    {"cache", {"view"}},
    {"view", {"view"}},
    {"basics", {"boost"}},
    {"network/kernels", {"view", "basics"}},
    {"network/parallel", {"mpi"}},
    {"network/models",
     {"network/parallel", "network/kernels", "formats/checkpoint", "formats/json", "view", "basics", "boost"}},
    {"network/weights", {"network/models", "network/kernels", "formats/checkpoint", "view", "basics"}},
    {"network/backend",
     {"network/parallel", "network/weights", "network/models", "network/kernels", "sampling", "formats/checkpoint",
      "cache", "view", "basics"}},
    {"network/nn",
     {"network/parallel", "network/backend", "network/weights", "network/models", "network/kernels", "formats/text",
      "formats/checkpoint", "view", "cache", "basics", "boost"}},
    {"network/model",
     {"network/parallel", "network/nn", "network/backend", "network/weights", "network/models", "network/kernels",
      "formats/text", "formats/checkpoint", "view", "cache", "basics", "boost"}},
    {"formats/json", {"boost"}},
    {"formats/text", {"formats/json", "basics", "boost", "pcre2", "utf8proc"}},
    {"answers/response", {"formats/json", "formats/text", "basics", "boost"}},
    {"answers/grammar", {"answers/response", "formats/json", "formats/text", "basics", "boost", "xgrammar"}},
    {"formats/checkpoint", {"formats/json", "basics", "boost", "xxhash"}},
    {"sampling", {"scheduler", "basics"}},
    {"engine/async", {"basics", "boost"}},
    {"engine/stream", {"answers/response", "formats/text", "sampling", "engine face", "basics", "boost"}},
    {"engine/metrics", {"engine face", "formats/text", "formats/checkpoint", "scheduler", "basics", "boost"}},
    {"engine/snapshot",
     {"engine face", "network/backend", "formats/checkpoint", "view", "cache", "scheduler", "basics"}},
    {"engine/runner",
     {"network/parallel", "engine/snapshot", "network/model", "network/nn", "network/backend", "network/kernels",
      "sampling", "engine face", "view", "cache", "scheduler", "basics", "boost"}},
    {"engine/parts",
     {"engine/runner", "network/parallel", "engine/snapshot", "network/model", "network/nn", "network/backend",
      "formats/checkpoint", "engine face", "view", "cache", "scheduler", "basics", "boost"}},
    {"engine",
     {"engine/parts",
      "engine/runner",
      "engine/snapshot",
      "engine/metrics",
      "engine/stream",
      "answers/grammar",
      "network/model",
      "network/nn",
      "network/backend",
      "network/kernels",
      "answers/response",
      "formats/text",
      "formats/checkpoint",
      "sampling",
      "engine/async",
      "view",
      "cache",
      "scheduler",
      "basics",
      "boost"}},
    {"decoding", {"engine face", "engine/async", "sampling", "formats/text", "basics", "boost"}},
    {"engine face",
     {"formats/json", "formats/text", "formats/checkpoint", "network/nn", "sampling", "engine/async", "scheduler",
      "view", "basics", "boost"}},
};

const names folders = {"network/parallel", "network/kernels",  "network/backend", "network/models",
                       "network/weights",  "network/nn",       "network/model",   "formats/json",
                       "formats/text",     "answers/response", "answers/grammar", "formats/checkpoint",
                       "sampling",         "engine/async",     "engine/stream",   "engine/metrics",
                       "engine/snapshot",  "engine/runner",    "engine/parts",    "engine",
                       "decoding"};
const names basic_headers = {
    "token.hpp",           "sampling_params.hpp", "error.hpp", "load_model.hpp",      "fwd.hpp",
    "gguf_vocabulary.hpp", "clock.hpp",           "guide.hpp", "response_format.hpp", "tool_call.hpp",
    "byte_stream.hpp"};
const names shared_values = {"slot_footprint.hpp", "slot_fork.hpp",  "element_type.hpp", "half.hpp",
                             "matrix.hpp",         "code_books.hpp", "integer_block.hpp"};
const std::map<std::string, std::string, std::less<>> faces = {
    {"model.hpp", "network/nn"},        {"policy.hpp", "scheduler"},        {"indirect.hpp", "formats/json"},
    {"sampling_batch.hpp", "sampling"}, {"completion.hpp", "engine/async"}, {"engine_executor.hpp", "engine/async"},
    {"operation.hpp", "engine/async"},  {"extend/kv_layer.hpp", "cache"},   {"extend/tensors.hpp", "cache"}};

// Folders of public headers, and the part that each belongs to.
const std::map<std::string, std::string, std::less<>> public_folders = {
    {"text", "formats/text"}, {"load", "formats/checkpoint"}, {"decoding", "decoding"}};

std::string first_part(std::string_view path) { return std::string(path.substr(0, path.find('/'))); }

bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](auto beginning) { return name.starts_with(beginning); });
}

std::string_view without_detail(std::string_view name) {
  constexpr std::string_view folder = "detail/";
  return name.starts_with(folder) ? name.substr(folder.size()) : name;
}

bool is_plain_header_of_cache(std::string_view name) {
  constexpr std::string_view headers[] = {
      "extend/kv_codec.hpp",   "cache/layer_factory.hpp", "cache/kv_cache_spec.hpp", "cache/attention_span.hpp",
      "cache/sink_window.hpp", "cache/transfer.hpp",      "cache/view.hpp"};
  return std::find(std::begin(headers), std::end(headers), name) != std::end(headers);
}

// The part a public header belongs to; `name` is what follows cogen/.
std::string part_of_public_header(std::string_view name) {
  name = without_detail(name);
  const auto first = first_part(name);
  if (shared_values.contains(name)) return "values";
  if (is_plain_header_of_cache(name)) return "view";
  if (first == "cache" || first == "scheduler") return first;
  if (basic_headers.contains(name)) return "basics";
  if (const auto folder = public_folders.find(first); folder != public_folders.end()) return folder->second;
  if (const auto face = faces.find(name); face != faces.end()) return face->second;
  return basic_headers.contains(name) ? "basics" : "engine face";
}

// Of a path in lib: its room, with the folder in it that has rules of its own.
std::string folder_of(std::string_view path) {
  const auto room = first_part(path);
  const auto folder = room + "/" + first_part(path.substr(std::min(path.size(), room.size() + 1)));
  return folders.contains(folder) ? folder : room;
}

std::string part_of_file(std::string_view path) {
  for (const std::string_view root :
       {"lib/include/cogen/", "lib/values/include/cogen/", "cache/include/cogen/", "scheduler/include/cogen/"})
    if (path.starts_with(root)) return part_of_public_header(path.substr(root.size()));
  if (path.starts_with("lib/")) return folder_of(path.substr(4));
  return first_part(path);
}

// Empty for the standard library, the operating system and headers named without a folder, which lie beside the file.
std::string part_of_include(std::string_view name) {
  if (name.starts_with("cogen/")) return part_of_public_header(name.substr(6));
  if (starts_with_any(name, {"ATen/", "c10/", "torch/"})) return "libtorch";
  if (name.starts_with("boost/")) return "boost";
  if (starts_with_any(name, {"xgrammar/", "dlpack/"})) return "xgrammar";
  if (name == "pcre2.h") return "pcre2";
  if (name == "utf8proc.h") return "utf8proc";
  if (name == "xxhash.h") return "xxhash";
  if (name == "mpi.h") return "mpi";
  const auto folder = folder_of(name);
  return folders.contains(folder) && folder != name ? folder : "";
}

// What is compiled into cogen::torch, where tensors are.
bool is_of_devices(std::string_view path) {
  if (path.starts_with("lib/network/backend/")) return !path.starts_with("lib/network/backend/cpu/");
  if (path.starts_with("lib/network/nn/device/")) return true;
  const auto name = std::filesystem::path(path).filename().string();
  if (path.starts_with("cache/"))
    return starts_with_any(name, {"device_cache.", "slot_pages.", "tensors.", "virtual_memory."});
  return path.starts_with("lib/engine/") && starts_with_any(name, {"device_", "runner_memory.", "sampling_block."});
}

bool allowed(const std::string& path, std::string_view source, std::string_view target) {
  if (target == "libtorch") return is_of_devices(path);
  if (target.empty() || source == target || target == "values") return true;
  // What a folder of lib implements, it may include: the engine its face, above all.
  if (source == "engine" && target == "engine face") return true;
  const auto rule = may_include.find(source);
  return rule != may_include.end() && rule->second.contains(target);
}

/// What a part may include, and what that may include in its turn.
names parts_below(std::string_view part) {
  names below, unread{std::string(part)};
  if (part == "engine") unread.insert("engine face");
  while (!unread.empty()) {
    const auto next = unread.extract(unread.begin()).value();
    if (next != part) below.insert(next);
    const auto rule = may_include.find(next);
    if (rule == may_include.end()) continue;
    for (const auto& each : rule->second)
      if (each != part && !below.contains(each)) unread.insert(each);
  }
  below.insert("values");
  return below;
}

std::string folder_of_part(const std::string& part) {
  if (part == "engine face" || part == "basics") return "lib/include";
  if (part == "view") return "cache";
  if (part == "scheduler" || part == "cache") return part;
  return "lib/" + part;
}

bool is_public_header(std::string_view path) { return path.find("/include/cogen/") != std::string_view::npos; }

// What the cache shows other rooms alone is not (cmake/PublicHeaders.cmake).
bool is_installed(std::string_view path) {
  const auto header = path.find("include/cogen/");
  if (header == std::string_view::npos) return false;
  const auto name = path.substr(header + std::string_view("include/cogen/").size());
  return !name.starts_with("cache/") || name == "cache/cache.hpp";
}

// Whether an include line names a header of some kind.
using header_kind = std::function<bool(const std::string& include)>;

bool is_libtorch(const std::string& include) { return part_of_include(include) == "libtorch"; }

// Of Boost.JSON, its forward declarations are plain.
bool is_weight_for_callers(const std::string& include) {
  return is_libtorch(include) || part_of_include(include) == "scheduler" ||
         (include.starts_with("boost/json/") && include != "boost/json/fwd.hpp");
}

// What include lines call a file: what follows include/ or lib/, or its name alone.
std::string included_as(std::string_view path) {
  for (const std::string_view root : {"/include/", "lib/"})
    if (const auto place = path.find(root); place != std::string_view::npos)
      return std::string(path.substr(place + root.size()));
  return std::filesystem::path(path).filename().string();
}

class include_graph {
 public:
  explicit include_graph(const std::vector<source_file>& files) {
    for (const auto& file : files) headers_[included_as(file.path)] = &file;
  }

  // Says which header below `file`, itself included, includes one that is `unwanted`; empty when none does.
  std::string search(const source_file& file, const header_kind& unwanted) const {
    names visited;
    return search(file, unwanted, visited);
  }

 private:
  std::string search(const source_file& file, const header_kind& unwanted, names& visited) const {
    if (!visited.insert(file.path).second) return "";
    for (const auto& include : file.includes) {
      if (unwanted(include)) return file.path + " includes " + include;
      const auto next = headers_.find(include);
      if (next == headers_.end()) continue;
      if (auto found = search(*next->second, unwanted, visited); !found.empty()) return found;
    }
    return "";
  }

  std::map<std::string, const source_file*, std::less<>> headers_;
};

// What the engine shows is its own, and so are the plain headers of the cache.
std::string room_of(std::string_view part) {
  if (part == "engine face") return "engine";
  if (part == "view") return "cache";
  return first_part(part);
}

class room_tower {
 public:
  explicit room_tower(const std::vector<source_file>& files) {
    for (const auto& file : files) {
      const auto source = room_of(part_of_file(file.path));
      auto& below = below_[source];
      for (const auto& include : file.includes)
        if (const auto target = room_of(part_of_include(include)); target != source && is_room(target))
          below.insert(target);
    }
  }

  std::map<std::string, int> floors() {
    std::map<std::string, int> result;
    for (const auto& [room, below] : below_) result[room] = floor_of(room);
    return result;
  }

 private:
  static bool is_room(const std::string& name) {
    return !name.empty() &&
           !names{"boost", "libtorch", "xgrammar", "pcre2", "utf8proc", "xxhash", "mpi"}.contains(name);
  }

  int floor_of(const std::string& room) {
    if (!entered_.insert(room).second) throw std::logic_error("rooms include each other: " + room + " itself");
    int floor = 0;
    for (const auto& each : below_[room]) floor = std::max(floor, floor_of(each) + 1);
    entered_.erase(room);
    return floor;
  }

  std::map<std::string, names> below_;
  names entered_;
};

std::string read_text(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

std::vector<std::string> include_names(const std::string& text) {
  static const std::regex line(R"((?:^|\n)[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"])");
  std::vector<std::string> result;
  for (std::sregex_iterator match(text.begin(), text.end(), line), end; match != end; ++match)
    result.push_back((*match)[1]);
  return result;
}

std::vector<source_file> read_rooms(const std::filesystem::path& root) {
  std::vector<source_file> files;
  for (const auto* room : {"scheduler", "cache", "lib"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / room)) {
      const auto& path = entry.path();
      if (names{".hpp", ".cpp", ".cuh", ".cu"}.contains(path.extension().string()))
        files.push_back({path.lexically_relative(root).generic_string(), include_names(read_text(path))});
    }
  std::ranges::sort(files, {}, &source_file::path);
  return files;
}

std::vector<std::string> wrong_includes(const std::vector<source_file>& files) {
  std::vector<std::string> result;
  for (const auto& file : files)
    for (const auto& include : file.includes) {
      const auto source = part_of_file(file.path);
      const auto target = part_of_include(include);
      if (!allowed(file.path, source, target))
        result.push_back(file.path + ": " + source + " may not include " + target + " (" + include + ")");
      if (include == "torch/torch.h" || include == "ATen/ATen.h")
        result.push_back(file.path + " includes the umbrella header " + include);
    }
  return result;
}

std::string place_of_file(std::string_view path) {
  if (is_public_header(path)) return folder_of_part(part_of_file(path));
  return std::filesystem::path(path).parent_path().generic_string();
}

bool calls_up(std::string_view caller, std::string_view callee) {
  const auto source = part_of_file(caller), target = part_of_file(callee);
  return source != target && parts_below(target).contains(source);
}

std::map<std::string, int> floors_of_rooms(const std::vector<source_file>& files) { return room_tower(files).floors(); }

std::vector<std::string> files_reaching_libtorch(const std::vector<source_file>& files) {
  include_graph graph(files);
  std::vector<std::string> result;
  for (const auto& file : files) {
    if (is_of_devices(file.path)) continue;
    if (const auto found = graph.search(file, is_libtorch); !found.empty())
      result.push_back(file.path + " reaches LibTorch: " + found);
  }
  return result;
}

std::string weight_of_engine_header(const std::vector<source_file>& files) {
  const auto header = std::ranges::find(files, "lib/include/cogen/engine.hpp", &source_file::path);
  return header == files.end() ? "" : include_graph(files).search(*header, is_weight_for_callers);
}

std::vector<std::string> uninstalled_headers(const std::vector<source_file>& files) {
  std::vector<std::string> result;
  for (const auto& file : files) {
    if (!is_installed(file.path)) continue;
    for (const auto& include : file.includes)
      if (include.starts_with("cogen/") && !is_installed("include/" + include))
        result.push_back(file.path + " includes " + include + ", which is not installed");
  }
  return result;
}

}  // namespace cogen::structure
