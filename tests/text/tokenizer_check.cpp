// tokenizer_check MODEL FILE.jsonl: compares a model's tokenizer with reference lines {"text": ..., "ids": [...]}.
// A line may also say "decoded", "add_special" and "parse_special" (true unless told).
#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_to.hpp>
#include <fstream>
#include <iostream>
#include <string>

#include "cogen/text/detokenizer.hpp"
#include "tokenizer_of_model.hpp"

namespace {

using cogen::token;
using cogen::text::detokenizer;
using cogen::text::tokenizer;

struct reference {
  std::string text;
  std::vector<token> ids;
  std::optional<std::string> decoded;
  cogen::text::encode_options options{.add_special = false, .parse_special = true};
};

reference reference_of(const std::string& line) {
  auto json = boost::json::parse(line).as_object();
  reference expected{std::string(json.at("text").as_string()),
                     boost::json::value_to<std::vector<token>>(json.at("ids")),
                     std::nullopt,
                     {.add_special = false, .parse_special = true}};
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

std::string list(const std::vector<token>& ids) {
  std::string text;
  for (auto id : ids) text += (text.empty() ? "" : " ") + std::to_string(id);
  return text;
}

/// The first difference in words; empty if there is none.
std::string difference(const tokenizer& tokens, const reference& expected) {
  auto ids = tokens.encode(expected.text, expected.options);
  if (ids != expected.ids) return "ids " + list(ids) + " instead of " + list(expected.ids);
  auto decoded = tokens.decode(ids);
  auto pieces = joined_pieces(tokens, ids);
  if (pieces != decoded) return "pieces join to \"" + pieces + "\", but decode gives \"" + decoded + "\"";
  if (expected.decoded) return decoded == *expected.decoded ? "" : "decoded to \"" + decoded + "\"";
  bool must_return = !expected.options.add_special && !has_unknown(tokens, ids);
  return decoded == expected.text || !must_return ? "" : "decoded to \"" + decoded + "\"";
}

struct tally {
  std::size_t lines = 0;
  std::size_t tokens = 0;
  std::size_t different = 0;
};

void check_line(const tokenizer& tokens, const std::string& line, tally& sum) {
  constexpr std::size_t shown = 20;
  auto expected = reference_of(line);
  ++sum.lines;
  sum.tokens += expected.ids.size();
  auto found = difference(tokens, expected);
  if (found.empty()) return;
  if (++sum.different <= shown) {
    std::cout << "line " << sum.lines << ": " << boost::json::serialize(boost::json::value(expected.text)) << ": "
              << found << '\n';
  }
}

int check(const char* model, const char* file) {
  auto tokens = tokenizer_of_model(model);
  std::ifstream lines(file);
  if (!lines) throw std::runtime_error(std::string(file) + " cannot be read");
  tally sum;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) check_line(tokens, line, sum);
  }
  std::cout << model << ' ' << file << " lines " << sum.lines << " tokens " << sum.tokens << " different "
            << sum.different << '\n';
  return sum.different == 0 && sum.lines > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: tokenizer_check MODEL FILE.jsonl\n";
    return 2;
  }
  try {
    return check(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::cerr << "tokenizer_check: " << error.what() << '\n';
    return 2;
  }
}
