// A response is read the same however it is cut, whatever it holds and whichever family wrote it.
#include "answers/response/families.hpp"
#include "answers/response/reader.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

using namespace cogen::response;

namespace {

struct response_parts {
  std::string text;
  std::string reasoning;
  std::vector<cogen::tool_call> calls;
};

void add(response_parts& parts, response_delta delta) {
  parts.text += delta.text;
  parts.reasoning += delta.reasoning;
  append(parts.calls, std::move(delta.tool_calls));
}

response_parts read(const response_syntax& syntax, std::string_view text, std::size_t piece) {
  const parameter_types types;
  reader input(syntax, types, {});
  response_parts parts;
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) add(parts, input.push(text.substr(0, piece)));
  add(parts, input.finish());
  return parts;
}

bool same_call(const cogen::tool_call& left, const cogen::tool_call& right) {
  return left.id == right.id && left.name == right.name && left.arguments == right.arguments &&
         left.status == right.status;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static constexpr const char* templates[] = {"</think><tool_call>",
                                              "</think><tool_call><function=<parameter=",
                                              "<|channel|>functions.<|channel|>analysis",
                                              "<arg_key>",
                                              "[CALL_ID][ARGS][THINK]",
                                              "[TOOL_CALLS]",
                                              "<minimax:tool_call>",
                                              "\"parameters\": dictionary of argument name"};
  if (size < 2) return 0;
  const auto syntax = syntax_of_template(templates[data[0] % std::size(templates)]);
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto whole = read(syntax, text, std::max<std::size_t>(1, text.size()));
  const auto cut = read(syntax, text, 1 + data[1] % 16);
  if (whole.text != cut.text || whole.reasoning != cut.reasoning ||
      !std::ranges::equal(whole.calls, cut.calls, same_call))
    std::abort();
  return 0;
}
