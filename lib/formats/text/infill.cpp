#include <cogen/text/infill.hpp>

#include <algorithm>
#include <stdexcept>
#include <string_view>

namespace cogen::text {
namespace {

constexpr std::string_view between_files = "\n\n--- snippet ---\n\n";

void append(std::vector<token>& target, const std::vector<token>& tokens) {
  target.insert(target.end(), tokens.begin(), tokens.end());
}

/// The files, each behind its name or, where the model has no token for that, behind a line that divides.
std::vector<token> encode_files(const tokenizer& tokens, const infill_text& text) {
  const auto control = infill_tokens_of(tokens);
  std::vector<token> result;
  const auto append_named = [&](token kind, const std::string& name) {
    result.push_back(kind);
    append(result, tokens.encode(name + "\n"));
  };
  if (control.repository && !text.repository.empty()) append_named(*control.repository, text.repository);
  for (const auto& file : text.files) {
    control.file ? append_named(*control.file, file.name) : append(result, tokens.encode(between_files));
    append(result, tokens.encode(file.text));
  }
  if (control.file && !text.name.empty()) append_named(*control.file, text.name);
  return result;
}

/// Leaves out what is farthest from the gap.
void cut(std::vector<token>& prefix, std::vector<token>& suffix, std::size_t most) {
  const auto beside_prefix = most - std::min(most, prefix.size());
  suffix.resize(std::min(suffix.size(), std::max(most / 4, beside_prefix)));
  const auto kept = std::min(prefix.size(), most - suffix.size());
  prefix.erase(prefix.begin(), prefix.end() - static_cast<std::ptrdiff_t>(kept));
}

infill_tokens complete_tokens_of(const tokenizer& tokens) {
  const auto control = infill_tokens_of(tokens);
  if (!control.complete())
    throw std::invalid_argument("the model has no tokens for a prefix, a suffix and a middle, and fills no gaps");
  return control;
}

/// What stands before every prompt.
std::vector<token> first_tokens(const tokenizer& tokens) {
  auto around = tokens.encode(std::string_view(), {.add_special = true});
  const bool has_bos = !around.empty() && tokens.bos() == around.front();
  around.resize(has_bos ? 1 : 0);
  return around;
}

void append_gap(std::vector<token>& target, const infill_tokens& control, const std::vector<token>& prefix,
                const std::vector<token>& suffix) {
  target.push_back(*control.prefix);
  append(target, prefix);
  target.push_back(*control.suffix);
  append(target, suffix);
  target.push_back(*control.middle);
}

std::size_t less(std::size_t total, std::size_t used) { return total - std::min(total, used); }

}  // namespace

std::vector<token> encode_infill(const tokenizer& tokens, const infill_text& infill, std::size_t most) {
  const auto control = complete_tokens_of(tokens);
  const auto begin = first_tokens(tokens);
  auto prefix = tokens.encode(infill.prefix), suffix = tokens.encode(infill.suffix);
  append(prefix, tokens.encode(infill.prompt));
  const auto room = less(most, std::size_t{3} + begin.size());
  cut(prefix, suffix, room);
  auto files = encode_files(tokens, infill);
  const auto kept = std::min(files.size(), less(room, prefix.size() + suffix.size()));

  auto result = begin;
  result.insert(result.end(), files.end() - static_cast<std::ptrdiff_t>(kept), files.end());
  append_gap(result, control, prefix, suffix);
  return result;
}

std::vector<std::vector<token>> encode_infills(const tokenizer& tokens, std::span<const std::string> prefixes,
                                               std::string_view suffix, std::size_t max_tokens) {
  const auto control = complete_tokens_of(tokens);
  const auto begin = first_tokens(tokens);
  const auto behind = tokens.encode(suffix, {.max_tokens = max_tokens});
  std::vector<std::vector<token>> prompts;
  for (const auto& each : prefixes)
    append_gap(prompts.emplace_back(begin), control, tokens.encode(each, {.max_tokens = max_tokens}), behind);
  return prompts;
}

std::vector<token> infill_ends(const tokenizer& tokens) {
  const auto control = infill_tokens_of(tokens);
  std::vector<token> ends;
  for (const auto& marker : {control.padding, control.repository, control.file})
    if (marker) ends.push_back(*marker);
  return ends;
}

}  // namespace cogen::text
