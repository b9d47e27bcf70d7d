#include "answers/grammar/string_formats.hpp"

#include "answers/grammar/bounded_work.hpp"

#include <map>
#include <string>

namespace cogen::grammar {
namespace {

// RFC 3339. There is no year 0 in calendars of other programs.
const std::string year = R"((?:[1-9]\d{3}|0(?:[1-9]\d\d|0(?:[1-9]\d|0[1-9]))))";
const std::string leap_year =
    R"((?:(?:[1-9]\d|0[1-9])(?:0[48]|[2468][048]|[13579][26])|00(?:0[48]|[2468][048]|[13579][26])|)"
    R"((?:[2468][048]|[13579][26]|0[48])00))";
const std::string date = "(?:" + year +
                         R"(-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30))" +
                         R"(|02-(?:0[1-9]|1\d|2[0-8]))|)" + leap_year + "-02-29)";
const std::string time = R"((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d))";
const std::string time_span = R"(T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S))";
const std::string date_span = R"((?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D))";

// A label has up to 63 characters, a name of labels up to 253, also where letters beyond ASCII are encoded in it.
const std::string label = "[A-Za-z0-9]{1,14}(?:-[A-Za-z0-9]{1,10}){0,3}";
const std::string host = label + "(?:\\." + label + "){0,4}";
const std::string letters = "[a-z0-9à-öø-ÿα-ωа-я一-龥가-힣]";
const std::string wide_label = "(?:" + label + "|" + letters + "{1,10}|" + letters + "{1,5}-" + letters + "{1,4})";
const std::string wide_host = wide_label + "(?:\\." + wide_label + "){0,3}";

const std::string octet = R"((?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d))";
const std::string ipv4 = octet + "(?:\\." + octet + "){3}";

// RFC 5321, RFC 6531.
std::string mailbox(const std::string& more) {
  const auto atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~" + more + "-]{1,20}";
  return atom + "(?:\\." + atom + "){0,2}";
}

/// RFC 3986, and RFC 3987 with characters beyond ASCII.
struct uri_syntax {
  explicit uri_syntax(const std::string& more)
      : characters("A-Za-z0-9._~!$&'()*+,;=" + more),
        path(repeated(characters + ":@/-")),
        query(repeated(characters + ":@/?-")),
        authority("(?:" + repeated(characters + ":-") + "@)?" + repeated(characters + "-") + "(?::\\d*)?"),
        behind("(?:\\?" + query + ")?(?:#" + query + ")?") {}

  static std::string repeated(const std::string& set) { return "(?:[" + set + "]|%[0-9A-Fa-f]{2})*"; }
  std::string single(const std::string& set) const { return "(?:[" + characters + set + "]|%[0-9A-Fa-f]{2})"; }

  std::string absolute() const {
    return "[A-Za-z][A-Za-z0-9+.-]*:(?://" + authority + "(?:/" + path + ")?|/(?:" + single(":@-") + path +
           ")?|(?:" + single(":@-") + path + ")?)" + behind;
  }

  std::string relative() const {
    return "(?://" + authority + "(?:/" + path + ")?|/(?:" + single(":@-") + path + ")?|(?:" + single("@-") + "+(?:/" +
           path + ")?)?)" + behind;
  }

  std::string characters, path, query, authority, behind;
};

const std::string beyond_ascii =
    R"(\u{A0}-\u{D7FF}\u{F900}-\u{FDCF}\u{FDF0}-\u{FFEF}\u{10000}-\u{1FFFD}\u{20000}-\u{2FFFD}\u{30000}-\u{3FFFD})";

std::string ipv6() {
  const std::string group = "[0-9A-Fa-f]{1,4}";
  std::string pattern = "(?:" + group + ":){7}" + group + "|::(?:" + group + "(?::" + group + "){0,6})?";
  for (int groups = 1; groups < 7; ++groups)
    pattern += "|(?:" + group + ":){" + std::to_string(groups) + "}:(?:" + group + "(?::" + group + "){0," +
               std::to_string(6 - groups) + "})?";
  return pattern + "|(?:" + group + ":){7}:|::(?:[Ff]{4}:)?" + ipv4 + "|(?:" + group + ":){6}" + ipv4;
}

// RFC 6570.
std::string uri_template() {
  const std::string escape = "%[0-9A-Fa-f]{2}";
  const std::string name = "(?:[A-Za-z0-9_]|" + escape + ")+";
  const auto variable = name + "(?:\\." + name + ")*(?:\\*|:[1-9]\\d{0,3})?";
  return R"((?:[!#-$&\(-;=?-\[\]_a-z~)" + beyond_ascii + "]|" + escape + R"(|\{[+#./;?&]?)" + variable + "(?:," +
         variable + R"()*\})*)";
}

/// Some patterns of ECMAScript: groups are not nested.
std::string regex() {
  const std::string atom =
      R"((?:[A-Za-z0-9 _,:;=@%&"'~<>#!/-]|\\[dDwWsStnrfv.*+?\(\)\[\]\{\}|^$\\/]|\.|)"
      R"(\[\^?(?:[A-Za-z0-9 _,:;=@%&"'~<>#!/.*+?$]|\\[dDwWsStnrfv.*+?\(\)\[\]\{\}|^$\\/-]|a-z|A-Z|0-9)+\]))";
  const std::string times = R"((?:[*+?]\??|\{\d{1,3},?\})?)";
  const auto atoms = "(?:" + atom + times + ")*";
  const auto sequence =
      "\\^?(?:" + atom + times + R"(|\((?:\?:)?)" + atoms + "(?:\\|" + atoms + ")*\\)" + times + R"()*\$?)";
  return sequence + "(?:\\|" + sequence + ")*";
}

std::map<std::string, regex_node, std::less<>> read_formats() {
  const uri_syntax uri(""), iri(beyond_ascii);
  const std::string pointer = "(?:/(?:[^/~]|~[01])*)*";
  const std::map<std::string, std::string> patterns = {
      {"date", date},
      {"time", time},
      {"date-time", date + "[Tt]" + time},
      {"duration", "P(?:\\d+W|" + date_span + "(?:" + time_span + ")?|" + time_span + ")"},
      {"email", mailbox("") + "@" + host},
      {"idn-email", mailbox(beyond_ascii) + "@" + wide_host},
      {"hostname", host},
      {"idn-hostname", wide_host},
      {"ipv4", ipv4},
      {"ipv6", ipv6()},
      {"uuid", "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"},
      {"uri", uri.absolute()},
      {"uri-reference", uri.absolute() + "|" + uri.relative()},
      {"iri", iri.absolute()},
      {"iri-reference", iri.absolute() + "|" + iri.relative()},
      {"uri-template", uri_template()},
      {"json-pointer", pointer},
      {"relative-json-pointer", "(?:0|[1-9]\\d*)(?:#|" + pointer + ")"},
      {"regex", regex()},
  };
  std::map<std::string, regex_node, std::less<>> formats;
  for (const auto& [name, pattern] : patterns) formats.emplace(name, parse_regex(pattern, regex_match::whole));
  return formats;
}

}  // namespace

const regex_node* format_named(std::string_view name) {
  static const auto formats = made_once(read_formats);
  const auto found = formats.find(name);
  return found == formats.end() ? nullptr : &found->second;
}

}  // namespace cogen::grammar
