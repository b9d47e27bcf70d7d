#include "answers/grammar/schema_references.hpp"

#include "answers/grammar/grammar_error.hpp"
#include "answers/grammar/schema_keywords.hpp"
#include "answers/grammar/steps.hpp"
#include "formats/json/member.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cogen::grammar {
namespace {

namespace json = boost::json;
using cogen::json::member;

int hexadecimal(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  const auto lower = static_cast<char>(digit | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::string without_percents(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape =
        text[i] == '%' && i + 2 < text.size() && hexadecimal(text[i + 1]) >= 0 && hexadecimal(text[i + 2]) >= 0;
    plain += is_escape ? static_cast<char>(hexadecimal(text[i + 1]) * 16 + hexadecimal(text[i + 2])) : text[i];
    if (is_escape) i += 2;
  }
  return plain;
}

/// How much of a URI is its scheme, with the colon.
std::size_t scheme_length(std::string_view uri) {
  if (uri.empty() || !std::isalpha(static_cast<unsigned char>(uri.front()))) return 0;
  const auto end = std::ranges::find_if_not(uri, [](char character) {
    return std::isalnum(static_cast<unsigned char>(character)) || character == '+' || character == '-' ||
           character == '.';
  });
  return end != uri.end() && *end == ':' ? static_cast<std::size_t>(end - uri.begin()) + 1 : 0;
}

std::string without_dot_segments(std::string_view path) {
  std::string kept;
  while (!path.empty()) {
    const auto end = std::min(path.size(), path.find('/', 1));
    const auto segment = path.substr(0, end);
    path.remove_prefix(end);
    if (segment == "/." || segment == "/..") {
      if (segment == "/..") kept.erase(std::min(kept.size(), kept.rfind('/')));
      if (path.empty()) kept += '/';
    } else {
      kept += segment;
    }
  }
  return kept;
}

/// RFC 3986, 5.2, for a reference without a fragment.
std::string resolved(std::string_view base, std::string_view reference) {
  if (reference.empty()) return std::string(base);
  if (scheme_length(reference) > 0) return std::string(reference);
  const auto scheme = scheme_length(base);
  auto path_start = scheme;
  if (base.substr(scheme).starts_with("//")) path_start = std::min(base.size(), base.find('/', scheme + 2));
  if (reference.starts_with("//")) return std::string(base.substr(0, scheme)) + std::string(reference);
  const auto root = std::string(base.substr(0, path_start));
  if (reference.front() == '/') return root + without_dot_segments(reference);
  const auto path = base.substr(path_start, base.find('?', path_start) - path_start);
  if (reference.front() == '?') return root + std::string(path) + std::string(reference);
  const auto folder = path.substr(0, path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/') + 1);
  const auto merged = std::string(folder.empty() && path_start > scheme ? "/" : folder) + std::string(reference);
  return root + (merged.starts_with('/') ? without_dot_segments(merged) : merged);
}

struct reference {
  std::string_view document;
  std::string fragment;
};

reference split(std::string_view text) {
  const auto end = std::min(text.size(), text.find('#'));
  return {text.substr(0, end), without_percents(text.substr(std::min(text.size(), end + 1)))};
}

class resolver {
 public:
  explicit resolver(json::value& root) : root_(root) {
    const auto* dialect = member(root, "$schema");
    is_draft_4_ = dialect && dialect->is_string() &&
                  (dialect->get_string().find("draft-04") != json::string::npos ||
                   dialect->get_string().find("draft-03") != json::string::npos);
  }

  void run() {
    resources_[""] = "";
    list(root_, "", "");
    rewrite_all();
  }

 private:
  /// A schema, and the URI of the resource around it.
  struct place {
    std::string pointer;
    std::string outer;
  };

  /// Accounts for the texts of a place: each may be as long as the whole schema.
  void count_place(std::string_view pointer, std::string_view more) {
    constexpr std::size_t max = std::size_t{64} << 20, bytes_of_step = 16;
    const auto bytes = pointer.size() + more.size();
    count_steps(1 + bytes / bytes_of_step);
    place_bytes_ += bytes;
    if (place_bytes_ > max)
      throw schema_size_error("JSON schema: the pointers to its parts take more than " + std::to_string(max) +
                              " bytes");
  }

  const json::string* text_of(const json::value& schema, const char* keyword) const {
    const auto* value = member(schema, keyword);
    return value ? value->if_string() : nullptr;
  }

  const json::string* id_of(const json::value& schema) const {
    const auto* id = text_of(schema, "$id");
    return id || (!is_draft_4_ && &schema != &root_) ? id : text_of(schema, "id");
  }

  /// The URI of the resource that a schema belongs to.
  std::string base_of(const json::value& schema, const std::string& outer) const {
    const auto* id = id_of(schema);
    return id ? resolved(outer, split(*id).document) : outer;
  }

  void list(const json::value& schema, const std::string& outer, const std::string& pointer) {
    const auto base = base_of(schema, outer);
    if (const auto* id = id_of(schema)) {
      if (!split(*id).document.empty()) resources_.emplace(base, pointer);
      if (const auto anchor = split(*id).fragment; !anchor.empty()) anchors_.emplace(base + "#" + anchor, pointer);
    }
    for (const auto* keyword : {"$anchor", "$dynamicAnchor"})
      if (const auto* anchor = text_of(schema, keyword)) {
        anchors_.emplace(base + "#" + std::string(*anchor), pointer);
        if (keyword[1] == 'd') ++dynamic_anchors_[std::string(*anchor)];
      }
    if (const auto* recursive = member(schema, "$recursiveAnchor")) recursive_anchors_ += *recursive == true;
    for_each_subschema(schema, [&](const json::value& subschema, const std::string& path, std::string_view) {
      count_place(pointer, base);
      list(subschema, base, pointer + path);
    });
  }

  /// What a reference names comes before what the schema holds.
  void rewrite_all() {
    std::vector<place> left = {{}};
    json::error_code error;
    while (!left.empty()) {
      const auto next = std::move(left.back());
      left.pop_back();
      auto* schema = root_.find_pointer(next.pointer, error);
      if (!schema || !schema->is_object() || !rewritten_.insert(next.pointer).second) continue;
      const auto more = static_cast<std::ptrdiff_t>(left.size());
      rewrite(*schema, next, left);
      std::reverse(left.begin() + more, left.end());
    }
  }

  void rewrite(json::value& schema, const place& location, std::vector<place>& next) {
    const auto base = base_of(schema, location.outer);
    rewrite_reference(schema, "$ref", base, next);
    if (const auto* name = text_of(schema, "$dynamicRef"); name && is_static(*name))
      rewrite_reference(schema, "$dynamicRef", base, next);
    if (recursive_anchors_ <= 1) rewrite_reference(schema, "$recursiveRef", base, next);
    for_each_subschema(schema, [&](const json::value&, const std::string& path, std::string_view) {
      count_place(location.pointer, path);
      next.push_back({location.pointer + path, base});
    });
  }

  /// With at most one anchor of its name, the dynamic scope has no choice.
  bool is_static(std::string_view name) const {
    const auto found = dynamic_anchors_.find(split(name).fragment);
    return found == dynamic_anchors_.end() || found->second == 1;
  }

  void rewrite_reference(json::value& schema, const char* keyword, const std::string& base, std::vector<place>& next) {
    const auto* text = text_of(schema, keyword);
    const auto found = text ? find(*text, base) : std::nullopt;
    if (!found || (std::string_view(keyword) != "$ref" && member(schema, "$ref"))) return;
    count_place(*found, base);
    if (std::string_view(keyword) != "$ref") schema.get_object().erase(keyword);
    schema.get_object()["$ref"] = "#" + *found;
    next.push_back({*found, base});
  }

  std::optional<std::string> find(std::string_view text, const std::string& base) const {
    const auto [document, fragment] = split(text);
    const auto resource = resolved(base, document);
    if (!fragment.empty() && fragment.front() != '/') {
      const auto anchor = anchors_.find(resource + "#" + fragment);
      return anchor == anchors_.end() ? std::nullopt : std::optional(anchor->second);
    }
    json::error_code error;
    if (const auto found = resources_.find(resource); found != resources_.end())
      if (root_.find_pointer(found->second + fragment, error)) return found->second + fragment;
    // Generators give an `$id` to what is not a resource of its own.
    if (document.empty() && root_.find_pointer(fragment, error)) return fragment;
    return std::nullopt;
  }

  json::value& root_;
  bool is_draft_4_ = false;
  std::map<std::string, std::string> resources_;  // pointers, by URI
  std::map<std::string, std::string> anchors_;
  std::map<std::string, int> dynamic_anchors_;
  int recursive_anchors_ = 0;
  std::set<std::string> rewritten_;
  std::size_t place_bytes_ = 0;
};

}  // namespace

void resolve_references(json::value& root) { resolver(root).run(); }

}  // namespace cogen::grammar
