#include "reading.hpp"

#include <boost/test/unit_test.hpp>

#include <ostream>
#include <random>

namespace cogen {

bool operator==(const tool_call& left, const tool_call& right) {
  return left.id == right.id && left.name == right.name && left.arguments == right.arguments &&
         left.status == right.status;
}

std::ostream& operator<<(std::ostream& out, tool_call_status status) {
  constexpr const char* names[] = {"complete", "unfinished", "malformed"};
  return out << names[static_cast<std::size_t>(status)];
}

std::ostream& operator<<(std::ostream& out, const tool_call& call) {
  return out << call.id << ':' << call.name << '(' << call.arguments << ") " << call.status;
}

}  // namespace cogen

namespace cogen::response {
namespace {

void add(response_parts& parts, response_delta delta) {
  parts.text += delta.text;
  parts.reasoning += delta.reasoning;
  append(parts.tool_calls, std::move(delta.tool_calls));
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const response_parts& parts) {
  out << "text '" << parts.text << "', reasoning '" << parts.reasoning << "', calls";
  for (const auto& each : parts.tool_calls) out << ' ' << each;
  return out;
}

response_parts read(const response_syntax& syntax, const std::vector<std::string_view>& pieces, reader::options options,
                    const parameter_types& types) {
  reader input(syntax, types, options);
  response_parts parts;
  for (const auto each : pieces) add(parts, input.push(each));
  add(parts, input.finish());
  return parts;
}

response_parts read(const response_syntax& syntax, std::string_view text, reader::options options,
                    const parameter_types& types) {
  const auto whole = read(syntax, std::vector<std::string_view>{text}, options, types);
  std::vector<std::string_view> bytes;
  for (std::size_t position = 0; position < text.size(); ++position) {
    bytes.push_back(text.substr(position, 1));
    BOOST_TEST(read(syntax, {text.substr(0, position), text.substr(position)}, options, types) == whole,
               "cut at byte " << position);
  }
  BOOST_TEST(read(syntax, bytes, options, types) == whole, "cut at each byte");
  std::mt19937 random(static_cast<unsigned>(text.size()));
  for (int round = 0; round < 20; ++round) {
    std::vector<std::string_view> pieces;
    for (auto rest = text; !rest.empty(); rest.remove_prefix(pieces.back().size()))
      pieces.push_back(rest.substr(0, random() % 12));
    BOOST_TEST(read(syntax, pieces, options, types) == whole, "cut at random");
  }
  return whole;
}

tool_call called(std::string name, std::string arguments, std::string id) {
  return {std::move(id), std::move(name), std::move(arguments), tool_call_status::complete};
}

}  // namespace cogen::response
