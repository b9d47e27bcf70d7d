#include "reference_lines.hpp"

#include <cogen/text/tokenizer.hpp>

#include <boost/json/parse.hpp>
#include <boost/json/value_to.hpp>

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace {

using cogen::token;
using cogen::text::detokenizer;
using cogen::text::tokenizer;

reference_line parsed(const std::string& line) {
  auto json = boost::json::parse(line).as_object();
  reference_line expected;
  expected.text = json.at("text").as_string();
  expected.ids = boost::json::value_to<std::vector<token>>(json.at("ids"));
  if (auto* decoded = json.if_contains("decoded")) expected.decoded = std::string(decoded->as_string());
  if (auto* flag = json.if_contains("add_special")) expected.options.add_special = flag->as_bool();
  if (auto* flag = json.if_contains("parse_special")) expected.options.parse_special = flag->as_bool();
  return expected;
}

std::string joined_pieces(const tokenizer& tokens, const std::vector<token>& ids) {
  detokenizer incremental(tokens, false);
  std::string text;
  for (auto id : ids) text += incremental.push(id);
  return text + incremental.flush();
}

bool has_unknown(const tokenizer& tokens, const std::vector<token>& ids) {
  return tokens.unknown() && std::find(ids.begin(), ids.end(), *tokens.unknown()) != ids.end();
}

/// Whether a text that normalization has changed still stands for the same tokens.
bool encodes_alike(const tokenizer& tokens, const std::string& decoded, const reference_line& expected) {
  return tokens.encode(decoded, {.add_special = false, .parse_special = true}) == expected.ids;
}

std::string list(const std::vector<token>& ids) {
  std::string text;
  for (auto id : ids) text += (text.empty() ? "" : " ") + std::to_string(id);
  return text;
}

}  // namespace

std::vector<reference_line> read_reference_lines(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path.string() + " cannot be read");
  std::vector<reference_line> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) lines.push_back(parsed(line));
  }
  return lines;
}

std::string difference(const tokenizer& tokens, const reference_line& expected) {
  auto ids = tokens.encode(expected.text, expected.options);
  if (ids != expected.ids) return "ids " + list(ids) + " instead of " + list(expected.ids);
  auto decoded = tokens.decode(ids);
  auto pieces = joined_pieces(tokens, ids);
  if (pieces != decoded) return "pieces join to \"" + pieces + "\", but decode gives \"" + decoded + "\"";
  bool is_equal = expected.decoded ? decoded == *expected.decoded
                                   : decoded == expected.text || has_unknown(tokens, ids) ||
                                         encodes_alike(tokens, decoded, expected);
  return is_equal ? "" : "decoded to \"" + decoded + "\"";
}
