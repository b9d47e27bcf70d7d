// What a response_template describes is refused, or reads any text the same however it is cut.
#include "answers/response/reader.hpp"
#include "answers/response/response_template.hpp"
#include "formats/json/json_error.hpp"
#include "formats/json/parse.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

using namespace cogen::response;

namespace {

struct parts {
  std::string text, reasoning, calls;
  bool operator==(const parts&) const = default;
};

void add(parts& target, response_delta delta) {
  target.text += delta.text;
  target.reasoning += delta.reasoning;
  for (const auto& each : delta.tool_calls) target.calls += each.id.substr(0, 0) + each.name + each.arguments;
}

parts read(const response_syntax& syntax, std::string_view text, std::size_t piece) {
  const parameter_types types;
  reader input(syntax, types, {});
  parts result;
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size())))
    add(result, input.push(text.substr(0, piece)));
  add(result, input.finish());
  return result;
}

}  // namespace

/// The template, and behind a zero byte a text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view given(reinterpret_cast<const char*>(data), size);
  const auto end = std::min(given.find('\0'), size);
  const auto text = given.substr(std::min(end + 1, size));
  try {
    const auto syntax = syntax_of_response_template(cogen::json::parse(given.substr(0, end), "response_template"));
    if (!(read(syntax, text, std::max<std::size_t>(1, text.size())) == read(syntax, text, 1))) std::abort();
  } catch (const std::invalid_argument&) {
  }
  return 0;
}
