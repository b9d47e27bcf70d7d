// Configurations with keys left out, with nulls and in older spellings are read as what Transformers writes of them.
#include "../test_data.hpp"
#include "formats/checkpoint/read_model_config.hpp"
#include "network/models/families.hpp"

#include <boost/json.hpp>
#include <boost/pfr.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <concepts>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace cogen::test {
namespace {

namespace json = boost::json;

// Whether all of their members are the same. Specs have no comparison of their own.
template <class T>
bool same(const T& a, const T& b);

template <class T>
bool same(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() == b.has_value() && (!a || same(*a, *b));
}

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::ranges::equal(a, b, [](const T& x, const T& y) { return same(x, y); });
}

template <class... T>
bool same(const std::variant<T...>& a, const std::variant<T...>& b) {
  const auto same_as_b = [&]<class S>(const S& x) { return same(x, std::get<S>(b)); };
  return a.index() == b.index() && std::visit(same_as_b, a);
}

template <class T>
bool same(const T& a, const T& b) {
  if constexpr (std::equality_comparable<T>) {
    return a == b;
  } else {
    bool result = true;
    boost::pfr::for_each_field(
        a, [&](const auto& member, auto index) { result = result && same(member, boost::pfr::get<index.value>(b)); });
    return result;
  }
}

/// What a configuration is read as, or why it is not.
struct reading {
  load::model_config config;
  models::model_spec spec;
  std::string refusal;
};

reading read(const json::object& config) {
  reading result;
  try {
    const auto fields = load::config_fields::from_json(json::serialize(config), "config.json");
    result.config = load::read_model_config(fields);
    result.spec = models::family_named(fields.family())(fields, result.config);
  } catch (const load::load_error& refused) {
    result.refusal = refused.what();
  }
  return result;
}

/// Of what is read, that which counts for all families; the others' part is in their specs.
std::string difference(const reading& a, const reading& b) {
  if (a.refusal.empty() != b.refusal.empty()) return a.refusal.empty() ? b.refusal : a.refusal;
  if (!a.refusal.empty()) return "";
  const auto& [x, y] = std::pair(a.config, b.config);
  if (x.vocabulary != y.vocabulary || x.hidden != y.hidden || x.layers != y.layers) return "sizes";
  if (x.max_positions != y.max_positions) return "max_positions";
  if (x.bos != y.bos || x.pad != y.pad || x.eos != y.eos || x.decoder_start != y.decoder_start) return "special tokens";
  for (std::size_t index = 0; index < std::min(a.spec.blocks.size(), b.spec.blocks.size()); ++index)
    if (!same(a.spec.blocks[index], b.spec.blocks[index])) return "block " + std::to_string(index);
  return same(a.spec, b.spec) ? "" : "spec";
}

json::object parsed(const std::filesystem::path& path) {
  std::ifstream file(path);
  return json::parse(std::string(std::istreambuf_iterator<char>(file), {})).as_object();
}

std::filesystem::path goldens() { return test_data() / "golden"; }

const json::object& listing() {
  static const auto variants = parsed(goldens() / "config_variants.json");
  return variants;
}

/// The object that holds a key with dots, and the key in it; no object where there is none.
std::pair<json::object*, std::string> place_of(json::object& config, std::string_view path) {
  auto* place = &config;
  for (auto dot = path.find('.'); dot != path.npos; dot = path.find('.')) {
    auto* const inner = place->if_contains(path.substr(0, dot));
    if (inner == nullptr || !inner->is_object()) return {nullptr, ""};
    place = &inner->as_object();
    path.remove_prefix(dot + 1);
  }
  return {place, std::string(path)};
}

json::object replaced(json::object config, std::string_view path, const json::value& value) {
  if (const auto [place, key] = place_of(config, path); place != nullptr) (*place)[key] = value;
  return config;
}

json::object without(json::object config, std::string_view path) {
  if (const auto [place, key] = place_of(config, path); place != nullptr) place->erase(key);
  return config;
}

/// Entries by their paths, and under "" a list of those that go.
json::object patched(json::object config, const json::object& patch) {
  for (const auto& [path, value] : patch)
    if (!path.empty()) config = replaced(std::move(config), path, value);
  if (const auto* gone = patch.if_contains(""))
    for (const auto& path : gone->as_array()) config = without(std::move(config), path.as_string());
  return config;
}

json::value value_at(json::object config, std::string_view path) {
  const auto [place, key] = place_of(config, path);
  const auto* found = place == nullptr ? nullptr : place->if_contains(key);
  return found == nullptr ? json::value() : *found;
}

const json::object& member(const json::object& parent, std::string_view key) {
  static const json::object none;
  const auto* found = parent.if_contains(key);
  return found == nullptr ? none : found->as_object();
}

const json::array& list(const json::object& parent, std::string_view key) {
  static const json::array none;
  const auto* found = parent.if_contains(key);
  return found == nullptr ? none : found->as_array();
}

/// One golden's configuration beside what Transformers writes of it.
class golden_config {
 public:
  golden_config(const std::string& name, const json::object& variants)
      : name_(name),
        variants_(variants),
        config_(parsed(goldens() / name / "config.json")),
        written_(patched(config_, member(variants, "written"))),
        defaults_(member(member(listing(), "defaults"), config_.at("model_type").as_string())) {}

  void check() const {
    same("as it is", config_, written_);
    for (const auto& [key, patch] : member(variants_, "left_out"))
      same(std::string(key) + " left out", without(config_, key), patched(written_, patch.as_object()));
    for (const auto& [key, patch] : member(variants_, "null"))
      same(std::string(key) + " null", replaced(config_, key, nullptr), patched(written_, patch.as_object()));
    const auto& usual = member(variants_, "usual");
    for (const auto& entry : list(usual, "left_out")) {
      const std::string key(entry.as_string());
      same(key + " left out", without(config_, key), replaced(written_, key, value_at(defaults_, key)));
    }
    for (const auto& entry : list(usual, "null")) {
      const std::string key(entry.as_string());
      same(key + " null", replaced(config_, key, nullptr), replaced(written_, key, nullptr));
    }
    for (const auto& patch : list(variants_, "respelled"))
      same(json::serialize(patch), patched(written_, patch.as_object()), written_);
  }

 private:
  void same(const std::string& variant, const json::object& given, const json::object& meant) const {
    BOOST_CHECK_MESSAGE(difference(read(given), read(meant)).empty(),
                        name_ << ", " << variant << ": " << difference(read(given), read(meant)));
  }

  const std::string& name_;
  const json::object& variants_;
  json::object config_;
  json::object written_;
  const json::object& defaults_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(config_variants)

BOOST_AUTO_TEST_CASE(a_model_type_alone_means_its_defaults) {
  for (const auto& [type, defaults] : member(listing(), "defaults")) {
    const auto least = read({{"model_type", type}}), whole = read(defaults.as_object());
    BOOST_CHECK_MESSAGE(difference(least, whole).empty(), std::string(type) << ": " << difference(least, whole));
  }
}

BOOST_AUTO_TEST_CASE(variants_of_goldens_mean_what_transformers_writes_of_them) {
  for (const auto& [name, variants] : member(listing(), "variants")) golden_config(name, variants.as_object()).check();
}

BOOST_AUTO_TEST_CASE(biases_count_where_transformers_reads_them) {
  const std::set<std::string_view> of_mlp{"arcee",    "bamba",      "deepseek_v2", "falcon_h1",  "granite",  "llama",
                                          "minicpm3", "modernbert", "nemotron",    "nemotron_h", "seed_oss", "smollm3"};
  const std::set<std::string_view> not_of_attention{"exaone4", "gptj",    "jamba", "ministral", "ministral3",
                                                    "mistral", "mixtral", "mpt",   "phi3",      "zamba2"};
  for (const auto& [type, defaults] : member(listing(), "defaults")) {
    if (!read(defaults.as_object()).refusal.empty()) continue;
    const auto counts = [&](std::string_view key) {
      const auto* usual = defaults.as_object().if_contains(key);
      const bool other = !(usual && usual->is_bool() && usual->as_bool());
      const auto as_is = read(defaults.as_object()), changed = read(replaced(defaults.as_object(), key, other));
      return !difference(as_is, changed).empty();
    };
    BOOST_TEST(counts("mlp_bias") == of_mlp.contains(type), std::string(type));
    if (not_of_attention.contains(type)) BOOST_TEST(!counts("attention_bias"), std::string(type));
  }
}

BOOST_AUTO_TEST_CASE(scaling_of_both_rotations_of_a_modernbert) {
  const json::object scaling{{"rope_type", "linear"}, {"factor", 4.0}};
  json::object full = scaling, sliding = scaling;
  full["rope_theta"] = 160000.0;
  sliding["rope_theta"] = 10000.0;
  const auto older = read({{"model_type", "modernbert"}, {"rope_scaling", scaling}});
  const auto newer = read(
      {{"model_type", "modernbert"}, {"rope_parameters", {{"full_attention", full}, {"sliding_attention", sliding}}}});
  BOOST_TEST(difference(older, newer).empty(), difference(older, newer));
  BOOST_TEST(!difference(older, read({{"model_type", "modernbert"}})).empty());
}

BOOST_AUTO_TEST_CASE(each_golden_has_variants) {
  for (const auto& entry : std::filesystem::directory_iterator(goldens()))
    if (std::filesystem::exists(entry.path() / "config.json"))
      BOOST_TEST(member(listing(), "variants").contains(entry.path().filename().string()), entry.path());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
