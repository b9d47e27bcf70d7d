#pragma once

#include <cogen/load/load_error.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cogen::load {

class gguf_file;

/// Both ends are allowed. NaN is outside every range.
struct integer_range {
  std::int64_t lowest;
  std::int64_t highest = std::numeric_limits<std::int64_t>::max();
};

struct real_range {
  double lowest;
  double highest = std::numeric_limits<double>::max();
};

/// A model's configuration as its source wrote it, read key by key with checks: what model_config is made from, and
/// where a model family reads the fields that are its own. A null counts as absent. Every member throws load_error
/// where a value has the wrong type or leaves its range, naming file, key, value and range. Cheap to copy; immutable.
class config_fields {
 public:
  enum class source { hugging_face, gguf };

  /// config.json's text. Keys are its names; a dot reaches into an object: "rope_scaling.factor".
  /// `name` stands for the file in messages. Refuses duplicate keys, depth over 32 and anything after the object.
  static config_fields from_json(std::string_view text, std::string name);

  /// A GGUF file's metadata. A key "block_count" is looked up as "llama.block_count" (the architecture's own) first,
  /// then as it stands: "general.architecture". `file` must outlive the fields.
  static config_fields from_gguf(const gguf_file& file);

  source origin() const noexcept;

  /// The file, for messages.
  const std::string& name() const noexcept;

  /// model_type, or general.architecture.
  std::string family() const;

  bool has(std::string_view key) const;

  /// Whether the key is there with null for its value.
  bool is_null(std::string_view key) const;

  /// Whether the key's value is this string.
  bool is(std::string_view key, std::string_view text) const;

  /// The number of values under the key: of a list its length, of anything else 1, of an absent key 0.
  std::size_t size(std::string_view key) const;

  /// The value; where the key is absent, `fallback`; without a fallback, load_error.
  std::int64_t integer(std::string_view key, integer_range range) const;
  std::int64_t integer(std::string_view key, integer_range range, std::int64_t fallback) const;
  double real(std::string_view key, real_range range) const;
  double real(std::string_view key, real_range range, double fallback) const;
  bool boolean(std::string_view key, bool fallback) const;
  std::string string(std::string_view key) const;
  std::string string(std::string_view key, std::string fallback) const;

  /// A list, or a single value as a list of one; empty where the key is absent.
  std::vector<std::int64_t> integers(std::string_view key, integer_range range) const;
  std::vector<double> reals(std::string_view key, real_range range) const;
  std::vector<std::string> strings(std::string_view key) const;

  /// load_error for this key: "NAME: KEY is VALUE; REASON".
  [[noreturn]] void refuse(std::string_view key, std::string_view reason) const;

  struct lookup;

 private:
  explicit config_fields(std::shared_ptr<const lookup> values);
  std::shared_ptr<const lookup> values_;
};

}  // namespace cogen::load
