// Whatever a format says, it becomes a grammar that is well-formed, or one sentence.
#include "answers/grammar/ebnf_check.hpp"
#include "answers/grammar/json_schema.hpp"
#include "answers/grammar/regex_ebnf.hpp"

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

using namespace cogen::grammar;

namespace {

template <typename Read>
std::string read(Read reader) {
  try {
    return reader();
  } catch (const std::invalid_argument&) {
    return "";
  }
}

/// What we write is never malformed, though it may be too large.
void check_written(const std::string& ebnf) {
  if (ebnf.empty()) return;
  try {
    check_ebnf(ebnf, {.patterns = true});
  } catch (const std::invalid_argument& error) {
    if (std::string_view(error.what()).find("more than") == std::string_view::npos) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_written(read([&] { return ebnf_of_json_schema(text, {.schemas = 2000}).ebnf; }));
  check_written(read([&] {
    rule_list rules;
    rules.add("root", ebnf_of(parse_regex(text, regex_match::search), rules));
    return rules.text();
  }));
  read([&] {
    check_ebnf(text);
    return std::string();
  });
  return 0;
}
