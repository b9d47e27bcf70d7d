#include "cogen/text/infill.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>

namespace cogen::text {
namespace {

constexpr std::string_view between_files = "\n\n--- snippet ---\n\n";

void append(std::vector<token>& to, const std::vector<token>& tokens) {
  to.insert(to.end(), tokens.begin(), tokens.end());
}

/// The files, each behind its name or, where the model has no token for that, behind a line that divides.
std::vector<token> encode_files(const tokenizer& tokens, const infill_text& what) {
  const auto control = infill_tokens_of(tokens);
  std::vector<token> all;
  const auto append_named = [&](token kind, const std::string& name) {
    all.push_back(kind);
    append(all, tokens.encode(name + "\n"));
  };
  if (control.repository && !what.repository.empty()) append_named(*control.repository, what.repository);
  for (const auto& file : what.files) {
    control.file ? append_named(*control.file, file.name) : append(all, tokens.encode(between_files));
    append(all, tokens.encode(file.text));
  }
  if (control.file && !what.name.empty()) append_named(*control.file, what.name);
  return all;
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

void append_gap(std::vector<token>& all, const infill_tokens& control, const std::vector<token>& prefix,
                const std::vector<token>& suffix) {
  all.push_back(*control.prefix);
  append(all, prefix);
  all.push_back(*control.suffix);
  append(all, suffix);
  all.push_back(*control.middle);
}

std::size_t less(std::size_t of, std::size_t by) { return of - std::min(of, by); }

}  // namespace

std::vector<token> encode_infill(const tokenizer& tokens, const infill_text& what, std::size_t most) {
  const auto control = complete_tokens_of(tokens);
  const auto begin = first_tokens(tokens);
  auto prefix = tokens.encode(what.prefix), suffix = tokens.encode(what.suffix);
  append(prefix, tokens.encode(what.prompt));
  const auto room = less(most, std::size_t{3} + begin.size());
  cut(prefix, suffix, room);
  auto files = encode_files(tokens, what);
  const auto kept = std::min(files.size(), less(room, prefix.size() + suffix.size()));

  auto all = begin;
  all.insert(all.end(), files.end() - static_cast<std::ptrdiff_t>(kept), files.end());
  append_gap(all, control, prefix, suffix);
  return all;
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
  for (const auto& each : {control.padding, control.repository, control.file})
    if (each) ends.push_back(*each);
  return ends;
}

}  // namespace cogen::text
