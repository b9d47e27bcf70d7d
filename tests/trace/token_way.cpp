#include "token_way.hpp"

#include "structure/include_rules.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace cogen::trace {
namespace {

void erase_each(std::string& text, std::string_view part) {
  for (auto first = text.find(part); first != std::string::npos; first = text.find(part))
    text.erase(first, part.size());
}

/// Without its parameters, what stands for namespaces that have no name, and what the compiler says of itself.
std::string short_name(std::string name) {
  for (const auto* part : {"(anonymous namespace)::", "non-virtual thunk to ", "virtual thunk to "})
    erase_each(name, part);
  return name.substr(0, name.find('('));
}

/// Constructors, destructors and assignments.
bool handles_value(const std::string& name) {
  const auto last = name.rfind("::");
  if (last == std::string::npos) return false;
  const auto member = std::string_view(name).substr(last + 2);
  const auto owner = std::string_view(name).substr(0, last);
  return member.starts_with('~') || member == "operator=" || owner == member ||
         owner.ends_with("::" + std::string(member));
}

bool is_of_room(const source_function& function) {
  return !function.path.empty() && !function.path.starts_with("tests/");
}

bool calls_up(const source_function& caller, const source_function& callee) {
  return is_of_room(caller) && is_of_room(callee) && structure::calls_up(caller.path, callee.path) &&
         !handles_value(short_name(callee.name));
}

}  // namespace

token_way::token_way(const std::vector<call>& calls, const std::filesystem::path& repository) : calls_(calls) {
  std::map<std::int32_t, source_function> described;
  for (const auto& each : calls_) {
    auto found = described.find(each.function);
    if (found == described.end())
      found = described.emplace(each.function, describe_function(each.function, repository)).first;
    functions_.push_back(found->second);
  }
}

std::vector<place> token_way::places() const {
  std::vector<place> result;
  for (const auto& function : functions_) {
    if (!is_of_room(function)) continue;
    const auto folder = structure::place_of_file(function.path);
    if (std::ranges::find(result, folder, &place::folder) == result.end())
      result.push_back({folder, short_name(function.name)});
  }
  return result;
}

std::vector<upward_call> token_way::upward_calls() const {
  std::map<std::pair<std::string, std::string>, std::set<std::string>> callees;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const auto& callee = functions_[i];
    const auto* const caller = caller_of(calls_[i]);
    if (caller && calls_up(*caller, callee))
      callees[{structure::place_of_file(caller->path), structure::place_of_file(callee.path)}].insert(
          short_name(callee.name));
  }
  std::vector<upward_call> result;
  for (auto& [folders, functions] : callees) result.push_back({folders.first, folders.second, std::move(functions)});
  return result;
}

bool token_way::passes(std::string_view function) const {
  const auto end = "::" + std::string(function);
  return std::ranges::any_of(functions_, [&](const auto& passed) { return short_name(passed.name).ends_with(end); });
}

/// Null: it was not called by code of the project.
const source_function* token_way::caller_of(const call& callee) const {
  for (auto caller = callee.caller; caller; caller = calls_[*caller].caller)
    if (!functions_[*caller].path.empty()) return &functions_[*caller];
  return nullptr;
}

}  // namespace cogen::trace
