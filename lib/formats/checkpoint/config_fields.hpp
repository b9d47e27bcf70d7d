#pragma once

#include <cogen/load/model_config.hpp>

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

/// An inclusive range. NaN is outside every range.
struct integer_range {
  std::int64_t lowest;
  std::int64_t highest = std::numeric_limits<std::int64_t>::max();
};

/// An inclusive range. NaN is outside every range.
struct real_range {
  double lowest;
  double highest = std::numeric_limits<double>::max();
};

/// A model's configuration as its source has it, read key by key with checks. model_config is made from it, and model
/// families read their own fields from it. A null counts as absent. Every member throws load_error, naming file, key,
/// value and range, if a value has the wrong type or is out of range. Cheap to copy; immutable.
class config_fields {
 public:
  /// Where the fields come from.
  enum class source { hugging_face, gguf };

  /// Parses the text of config.json. Keys are its names; a dot reaches into an object: "rope_scaling.factor". Those in
  /// an object "text_config" come before others, but for "model_type". `name` is
  /// the file's name in messages. Refuses duplicate keys, depth over 32 and anything after the object.
  static config_fields from_json(std::string_view text, std::string name);

  /// The metadata of a GGUF file. A key "block_count" is first looked up as "llama.block_count" (with the
  /// architecture's name), then as it is: "general.architecture". `file` must outlive the fields.
  static config_fields from_gguf(const gguf_file& file);

  source origin() const noexcept;
  bool is_gguf() const noexcept { return origin() == source::gguf; }

  /// The file's name, for messages.
  const std::string& name() const noexcept;

  /// model_type, or general.architecture.
  std::string family() const;

  /// Whether the key exists with a value other than null.
  bool has(std::string_view key) const;

  /// Whether the key exists with the value null.
  bool is_null(std::string_view key) const;

  /// Whether the key's value is this string.
  bool is(std::string_view key, std::string_view text) const;

  /// The number of values of the key: the length of a list, 1 for any other value, 0 if it is absent.
  std::size_t size(std::string_view key) const;

  /// The value; `fallback` if the key is absent; load_error if there is no fallback either.
  std::int64_t integer(std::string_view key, integer_range range) const;
  std::int64_t integer(std::string_view key, integer_range range, std::int64_t fallback) const;
  double real(std::string_view key, real_range range) const;
  double real(std::string_view key, real_range range, double fallback) const;
  bool boolean(std::string_view key, bool fallback) const;
  std::string string(std::string_view key) const;
  std::string string(std::string_view key, std::string fallback) const;

  /// A list, or a single value as a list of one; empty if the key is absent.
  std::vector<std::int64_t> integers(std::string_view key, integer_range range) const;
  std::vector<double> reals(std::string_view key, real_range range) const;
  std::vector<std::string> strings(std::string_view key) const;

  /// Throws load_error for this key: "NAME: KEY is VALUE; REASON".
  [[noreturn]] void refuse(std::string_view key, std::string_view reason) const;

  struct lookup;

 private:
  explicit config_fields(std::shared_ptr<const lookup> values);
  std::shared_ptr<const lookup> values_;
};

}  // namespace cogen::load
