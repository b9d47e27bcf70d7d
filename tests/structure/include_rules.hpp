#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::structure {

/// One source file of a room: its path from the repository's root, and what its include lines name, in order.
struct source_file {
  std::string path;
  std::vector<std::string> includes;
};

/// The names in the include lines of a text, without brackets or quotes.
std::vector<std::string> include_names(const std::string& text);

/// Every source and header, those of CUDA too, of scheduler, cache and lib below `root`, sorted by path.
std::vector<source_file> read_rooms(const std::filesystem::path& root);

/// One sentence for each include that goes against the order of rooms and folders; empty when all is well.
std::vector<std::string> wrong_includes(const std::vector<source_file>& files);

/// The floor of each room: 0 for one that includes no other, and one more than the highest of those that it includes.
/// Throws std::logic_error, naming them, if rooms include each other.
std::map<std::string, int> floors_of_rooms(const std::vector<source_file>& files);

/// The folder of a file of a room, from the repository's root. A public header stands for the folder whose face it is;
/// those of the engine, and those that nothing stands under, for lib/include.
std::string place_of_file(std::string_view path);

/// Whether code in the file `caller` that calls code in `callee` calls up: the caller's part may be included by the
/// callee's, at first hand or through others.
bool calls_up(std::string_view caller, std::string_view callee);

/// One message for each file that is compiled without LibTorch and reaches its headers through any chain of headers of
/// the project.
std::vector<std::string> files_reaching_libtorch(const std::vector<source_file>& files);

/// How cogen/engine.hpp reaches LibTorch, the scheduler's types or the headers of Boost.JSON; empty when it does not.
std::string weight_of_engine_header(const std::vector<source_file>& files);

/// One message for each installed header that includes one of the project's that is not installed.
std::vector<std::string> uninstalled_headers(const std::vector<source_file>& files);

}  // namespace cogen::structure
