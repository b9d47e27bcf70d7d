#include "formats/text/chat_roles.hpp"

#include "formats/text/utf8.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::text {
namespace {

constexpr std::string_view common_roles[] = {"system", "user", "assistant", "tool"};

bool is_common(const chat_message& message) {
  return std::ranges::find(common_roles, std::string_view(message.role)) != std::end(common_roles);
}

std::string marker_of(std::size_t message) { return "message-" + std::to_string(message) + "-in-a-role-of-its-own"; }

}  // namespace

void check_roles(std::span<const chat_message> messages, const chat_template& chat, const template_options& options) {
  if (std::ranges::all_of(messages, is_common)) return;
  std::vector<chat_message> marked(messages.begin(), messages.end());
  for (std::size_t i = 0; i < marked.size(); ++i)
    if (!is_common(marked[i])) marked[i] = {marked[i].role, marker_of(i)};
  auto whole = options;
  whole.continue_final_message = false;
  const auto text = chat.render(marked, whole);
  std::size_t last = 0;  // most templates write messages in order
  for (std::size_t i = 0; i < marked.size(); ++i) {
    if (is_common(marked[i])) continue;
    const auto marker = marker_of(i);
    const auto behind = text.find(marker, last);
    last = behind == std::string::npos ? text.find(marker) : behind;
    if (last == std::string::npos)
      throw template_error("it writes nothing of messages[" + std::to_string(i) + "], whose role is \"" +
                               repaired_utf8(marked[i].role.substr(0, 60)) + "\"",
                           0);
  }
}

}  // namespace cogen::text
