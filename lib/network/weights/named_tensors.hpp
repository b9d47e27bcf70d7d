#pragma once

#include "network/models/model_spec.hpp"
#include "network/weights/matrix_rows.hpp"

#include <cogen/load/checkpoint.hpp>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace cogen::weights {

/// The tensors of a checkpoint under the names that models use, and which of them have been read.
///
/// Members throw load::load_error if a tensor is missing or of another shape.
class named_tensors {
 public:
  /// Called after each tensor with how many bytes of the checkpoint have been read.
  using progress = std::function<void(std::uint64_t bytes)>;

  /// The checkpoint must outlive it.
  explicit named_tensors(const load::checkpoint& files, progress report = {});

  /// From now on names are those of the spec: without its base if the checkpoint leaves that out. Tensors that the spec
  /// does not read may be there.
  void expect(const models::model_spec& spec);

  /// The rows of a part: of `inputs` elements each, or without `inputs` the elements of a vector.
  matrix_rows rows(const named_rows& part, std::optional<std::int64_t> inputs) const;

  load::weight get(const std::string& name, std::initializer_list<std::int64_t> shape) const;

  bool has(const std::string& name) const;

  /// NAME + ".weight" of the first one that the checkpoint holds, or of the first. It may hold the others; of those
  /// with the same type and numbers, any list that begins with one of them gives the same name.
  std::string first_of(const std::vector<std::string>& names);

  /// Counts a tensor that has been read; false if it was counted before, for another part. Throws what the progress
  /// function throws.
  bool count(const load::weight& read);

  /// The type that most bytes of the checkpoint are stored in, whether they are read or not.
  element_type most_stored_type() const;

  /// Throws load::load_error, naming it, if the checkpoint holds a tensor that was neither read nor expected.
  void finish() const;

 private:
  std::string stored(const std::string& name) const;
  bool hold_same_numbers(const std::string& first, const std::string& second) const;

  const load::checkpoint& files_;
  progress report_;
  std::string missing_base_;
  std::set<std::string> counted_;
  std::vector<std::string> names_;
  std::uint64_t bytes_ = 0;
};

/// Bytes of all tensors of a checkpoint.
std::uint64_t stored_bytes(const load::checkpoint& files);

}  // namespace cogen::weights
