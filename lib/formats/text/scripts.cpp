#include "formats/text/scripts.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace cogen::text {
namespace {

// clang-format off
constexpr auto scripts = std::to_array<std::string_view>({
    "adlam", "ahom", "anatolianhieroglyphs", "arabic", "armenian", "avestan", "balinese", "bamum", "bassavah",
    "batak", "bengali", "bhaiksuki", "bopomofo", "brahmi", "braille", "buginese", "buhid", "canadianaboriginal",
    "carian", "caucasianalbanian", "chakma", "cham", "cherokee", "chorasmian", "common", "coptic", "cuneiform",
    "cypriot", "cyprominoan", "cyrillic", "deseret", "devanagari", "divesakuru", "dogra", "duployan",
    "egyptianhieroglyphs", "elbasan", "elymaic", "ethiopic", "georgian", "glagolitic", "gothic", "grantha", "greek",
    "gujarati", "gunjalagondi", "gurmukhi", "han", "hangul", "hanifirohingya", "hanunoo", "hatran", "hebrew",
    "hiragana", "imperialaramaic", "inherited", "inscriptionalpahlavi", "inscriptionalparthian", "javanese",
    "kaithi", "kannada", "katakana", "kayahli", "kharoshthi", "khitansmallscript", "khmer", "khojki", "khudawadi",
    "lao", "latin", "lepcha", "limbu", "lineara", "linearb", "lisu", "lycian", "lydian", "mahajani", "makasar",
    "malayalam", "mandaic", "manichaean", "marchen", "masaramgondi", "medefaidrin", "meeteimayek", "mendekikakui",
    "meroiticcursive", "meroitichieroglyphs", "miao", "modi", "mongolian", "mro", "multani", "myanmar", "nabataean",
    "nandinagari", "newa", "newtailue", "nko", "nushu", "nyiakengpuachuehmong", "ogham", "olchiki", "oldhungarian",
    "olditalic", "oldnortharabian", "oldpermic", "oldpersian", "oldsogdian", "oldsoutharabian", "oldturkic",
    "olduyghur", "oriya", "osage", "osmanya", "pahawhhmong", "palmyrene", "paucinhau", "phagspa", "phoenician",
    "psalterpahlavi", "rejang", "runic", "samaritan", "saurashtra", "sharada", "shavian", "siddham", "signwriting",
    "sinhala", "sogdian", "sorasompeng", "soyombo", "sundanese", "sylotinagri", "syriac", "tagalog", "tagbanwa",
    "taile", "taitham", "taiviet", "takri", "tamil", "tangsa", "tangut", "telugu", "thaana", "thai", "tibetan",
    "tifinagh", "tirhuta", "toto", "ugaritic", "unknown", "vai", "vithkuqi", "wancho", "warangciti", "yezidi", "yi",
    "zanabazarsquare"});
// clang-format on

constexpr std::string_view no_script = "[ \\p{Unknown}]";
constexpr std::string_view han = R"(\p{Han}\p{Hiragana}\p{Katakana}\x{30FC})";

bool has_own_runs(std::string_view script) {
  return script != "common" && script != "unknown" && script != "han" && script != "hiragana" && script != "katakana";
}

std::string run_of(std::string_view characters) {
  return ("[" + std::string(characters)).append("][").append(characters).append(" \\p{Unknown}]*");
}

}  // namespace

bool is_script(std::string_view name) {
  std::string plain;
  for (char c : name) {
    if (c != '_' && c != ' ') plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return std::binary_search(scripts.begin(), scripts.end(), plain);
}

std::string scripts_pattern() {
  auto source = "(?!" + std::string(no_script) + ")(?:" + run_of(han);
  for (auto script : scripts) {
    if (has_own_runs(script)) source += "|" + run_of("\\p{" + std::string(script) + "}");
  }
  return source + R"(|(?:(?!\x{30FC})[\p{Common}\p{Unknown}])+))";
}

}  // namespace cogen::text
