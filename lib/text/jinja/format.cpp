// Python's str.format, without specifications such as {:>5}.
#include "text/jinja/callables.hpp"
#include "text/jinja/conversions.hpp"

#include <charconv>
#include <optional>

namespace cogen::text::jinja {
namespace {

/// The arguments of one call under what stands between braces.
class format_fields {
 public:
  format_fields(renderer& run, const arguments& given) : run_(run), given_(given) {}

  const value& at(std::string_view field) {
    if (field.empty()) return positional(true, next_++);
    std::size_t index = 0;
    auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), index);
    bool is_index = error == std::errc{} && end == field.data() + field.size();
    return is_index ? positional(false, index) : named(field);
  }

 private:
  const value& positional(bool is_automatic, std::size_t index) {
    if (is_automatic_.value_or(is_automatic) != is_automatic)
      run_.fail("'format' mixes fields with and without numbers");
    is_automatic_ = is_automatic;
    if (index < given_.positional.size()) return given_.positional[index];
    run_.fail("'format' has no argument for field " + std::to_string(index));
  }

  const value& named(std::string_view field) const {
    for (const auto& [name, what] : given_.named) {
      if (name == field) return what;
    }
    run_.fail("'format' has no argument for the field '" + std::string(field) + "'");
  }

  renderer& run_;
  const arguments& given_;
  std::optional<bool> is_automatic_;
  std::size_t next_ = 0;
};

}  // namespace

value format(renderer& run, const value& self, const arguments& given) {
  const auto& text = *self.text();
  std::string_view bytes = text.bytes();
  format_fields fields(run, given);
  traced_text result;
  std::size_t begin = 0;
  for (auto at = bytes.find_first_of("{}"); at != std::string_view::npos; at = bytes.find_first_of("{}", begin)) {
    result.append(text.part(begin, at));
    if (bytes.substr(at + 1).starts_with(bytes[at])) {
      result.append(text.part(at, at + 1));
      begin = at + 2;
      continue;
    }
    auto end = bytes[at] == '{' ? bytes.find('}', at) : std::string_view::npos;
    if (end == std::string_view::npos) run.fail("'format' finds a single brace");
    auto argument = as_text(run, fields.at(bytes.substr(at + 1, end - at - 1)));
    run.charge(argument.size());
    result.append(argument);
    begin = end + 1;
  }
  result.append(text.part(begin, text.size()));
  return run.make_text(std::move(result));
}

}  // namespace cogen::text::jinja
