#include "answers/response/call_ids.hpp"

#include <algorithm>
#include <random>
#include <string_view>
#include <utility>

namespace cogen::response {
namespace {

constexpr std::string_view letters_and_digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

bool has_form(std::string_view id, const call_id_syntax& syntax) {
  if (syntax.length == 0) return !id.empty();
  return id.size() == syntax.length && id.find_first_not_of(letters_and_digits) == std::string_view::npos;
}

std::string letters_of(std::mt19937_64& random, std::size_t length) {
  std::string text;
  for (; length > 0; --length) text += letters_and_digits[random() % letters_and_digits.size()];
  return text;
}

}  // namespace

std::string new_call_id(const call_id_syntax& syntax) {
  thread_local std::mt19937_64 random(std::random_device{}());
  constexpr std::size_t usual = 24;
  return syntax.length == 0 ? "call_" + letters_of(random, usual) : letters_of(random, syntax.length);
}

std::string call_id_of(std::string_view id, const call_id_syntax& syntax) {
  if (has_form(id, syntax)) return std::string(id);
  std::seed_seq seed(id.begin(), id.end());
  std::mt19937_64 random(seed);
  return letters_of(random, syntax.length);
}

void call_ids::settle(tool_call_delta& delta) {
  const auto index = static_cast<std::size_t>(delta.index);
  calls_.resize(std::max(calls_.size(), index + 1));
  auto& call = calls_[index];
  call.written += std::exchange(delta.id, {});
  const bool says_more = !delta.name.empty() || !delta.arguments.empty() || delta.status;
  if (!says_more || std::exchange(call.given, true)) return;
  delta.id = id_of(call.written);
}

std::string call_ids::id_of(const std::string& written) {
  auto id = has_form(written, syntax_) ? written : new_call_id(syntax_);
  while (!given_.insert(id).second) id = new_call_id(syntax_);
  return id;
}

}  // namespace cogen::response
