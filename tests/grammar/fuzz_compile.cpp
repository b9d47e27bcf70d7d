// Whatever a format says, it is compiled or refused in a sentence, and what was compiled is followed token by token.
#include "answers/grammar/bounded_work.hpp"
#include "answers/grammar/compiled_grammar.hpp"
#include "answers/grammar/compiler.hpp"
#include "text/small_tokenizer.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace cogen;
using namespace cogen::grammar;

namespace {

const std::shared_ptr<const text::tokenizer>& tokens() {
  static const auto vocabulary =
      std::make_shared<const text::tokenizer>(small_tokenizer({{"a", "b"}, {"{", "\""}, {"\"", ":"}}, {"<end>"}));
  return vocabulary;
}

compiler& small_compiler() {
  static compiler grammars(
      tokens(), {.limits = {.text_bytes = 1 << 14, .states = 5000, .schemas = 500, .time = std::chrono::seconds(1)},
                 .cache_bytes = 0});
  return grammars;
}

response_format format_of(std::uint8_t kind, std::string text) {
  switch (kind % 4) {
    case 0:
      return json_schema(std::move(text));
    case 1:
      return json_schema(std::move(text), false);
    case 2:
      return regex(std::move(text));
    default:
      return ebnf(std::move(text));
  }
}

/// Goes on by tokens that are allowed, as the bytes choose.
void follow(guide& place, std::string_view choices) {
  const auto count = tokens()->size();
  std::vector<std::uint64_t> words((count + 63) / 64);
  for (const char choice : choices) {
    if (place.is_complete() || !place.allow(words)) return;
    auto id = static_cast<unsigned char>(choice) % count;
    std::size_t tried = 0;
    for (; tried < count && (words[id / 64] >> id % 64 & 1) == 0; ++tried) id = (id + 1) % count;
    if (tried == count) std::abort();  // what is not at its end goes on
    place.accept(static_cast<token>(id));
  }
}

}  // namespace

/// The kind, then a format, and behind a zero byte what to choose.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view given(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto end = std::min(given.find('\0'), given.size());
  try {
    const auto place = small_compiler().compile(format_of(data[0], std::string(given.substr(0, end))))->start();
    follow(*place, given.substr(std::min({end + 1, given.size()}), 64));
  } catch (const std::invalid_argument&) {
  } catch (const work_error&) {
  }
  return 0;
}
