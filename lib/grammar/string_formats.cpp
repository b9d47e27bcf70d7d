#include "grammar/string_formats.hpp"

#include <map>
#include <string>

namespace cogen::grammar {
namespace {

// February has 28 days in every year.
const std::string date = R"(\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30))"
                         R"(|02-(?:0[1-9]|1\d|2[0-8])))";
const std::string time = R"((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d))";
const std::string time_span = R"(T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S))";
const std::string date_span = R"((?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D))";
const std::string label = "[A-Za-z0-9]{1,20}(?:-[A-Za-z0-9]{1,20}){0,1}";
const std::string host = label + "(?:\\." + label + "){0,4}";
const std::string octet = R"((?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d))";
const std::string ipv4 = octet + "(?:\\." + octet + "){3}";
const std::string mailbox = "[A-Za-z0-9_%+-]{1,30}(?:\\.[A-Za-z0-9_%+-]{1,30}){0,1}";
const std::string path = R"((?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})*)";
const std::string query = R"((?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)";

std::string ipv6() {
  const std::string group = "[0-9A-Fa-f]{1,4}";
  std::string all = "(?:" + group + ":){7}" + group + "|::(?:" + group + "(?::" + group + "){0,6})?";
  for (int before = 1; before < 7; ++before)
    all += "|(?:" + group + ":){" + std::to_string(before) + "}:(?:" + group + "(?::" + group + "){0," +
           std::to_string(6 - before) + "})?";
  return all + "|(?:" + group + ":){7}:";
}

std::map<std::string, regex_node, std::less<>> read_formats() {
  const std::map<std::string, std::string> patterns = {
      {"date", date},
      {"time", time},
      {"date-time", date + "T" + time},
      {"duration", "P(?:\\d+W|" + date_span + "(?:" + time_span + ")?|" + time_span + ")"},
      {"email", mailbox + "@" + host},
      {"hostname", host},
      {"ipv4", ipv4},
      {"ipv6", ipv6()},
      {"uuid", "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"},
      {"uri", "[A-Za-z][A-Za-z0-9+.-]*://" + host + "(?::\\d{1,4})?(?:/" + path + ")*(?:\\?" + query + ")?(?:#" +
                  query + ")?"},
      {"json-pointer", "(?:/(?:[^/~]|~[01])*)*"},
  };
  std::map<std::string, regex_node, std::less<>> formats;
  for (const auto& [name, pattern] : patterns) formats.emplace(name, parse_regex(pattern, regex_match::whole));
  return formats;
}

}  // namespace

const regex_node* format_named(std::string_view name) {
  static const auto formats = read_formats();
  const auto found = formats.find(name);
  return found == formats.end() ? nullptr : &found->second;
}

}  // namespace cogen::grammar
