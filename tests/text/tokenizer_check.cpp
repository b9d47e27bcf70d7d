// tokenizer_check MODEL FILE.jsonl: compares a model's tokenizer with reference lines; see reference_lines.hpp.
#include "reference_lines.hpp"
#include "tokenizer_of_model.hpp"

#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <iostream>
#include <string>

namespace {

constexpr std::size_t shown_differences = 20;

int check(const char* model, const char* file) {
  auto tokens = tokenizer_of_model(model);
  auto lines = read_reference_lines(file);
  std::size_t token_count = 0;
  std::size_t different = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    token_count += lines[i].ids.size();
    auto found = difference(*tokens, lines[i]);
    if (found.empty() || ++different > shown_differences) continue;
    std::cout << "line " << i + 1 << ": " << boost::json::serialize(boost::json::value(lines[i].text)) << ": " << found
              << '\n';
  }
  std::cout << model << ' ' << file << " lines " << lines.size() << " tokens " << token_count << " different "
            << different << '\n';
  return different == 0 && !lines.empty() ? 0 : 1;
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
