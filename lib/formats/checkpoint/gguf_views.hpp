#pragma once

#include "formats/checkpoint/config_fields.hpp"
#include "formats/checkpoint/gguf.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cogen::load {

/// Tensors that Transformers keeps in another form than a GGUF file does, found by the names under which models ask for
/// them:
///
/// - `blk.0.mamba.conv1d.weight`: blk.0.ssm_conv1d.weight with a dimension more, and the other tensors of a mixer
/// - `blk.0.mamba.A_log`: the logarithm of -blk.0.ssm_a
/// - `blk.0.act_fn.beta`: one number of the metadata's array xielu.beta
///
/// Thread-safe.
class gguf_views {
 public:
  /// `file` must outlive it. Throws load_error.
  gguf_views(const gguf_file& file, const config_fields& fields);

  /// What is read for that name, and the file that it is read from; nulls if it is none of the above.
  std::pair<const tensor_file*, const tensor_info*> find(std::string_view name) const;

  /// The file's name of the tensor that it is made of; the name itself if it is none of the above or not a tensor.
  static std::string stored_name(std::string_view name);

  /// Names of those that are made of metadata.
  const std::vector<std::string>& metadata_names() const noexcept { return metadata_names_; }

 private:
  struct view {
    tensor_info tensor;
    const tensor_file* file;
  };

  std::optional<view> make(std::string_view name) const;
  void add_numbers(const config_fields& fields);

  const gguf_file& file_;
  std::vector<std::string> metadata_names_;
  std::unique_ptr<const tensor_file> logarithms_;
  std::unique_ptr<const tensor_file> numbers_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, view, std::less<>> views_;  // that were asked for, and all of metadata
};

}  // namespace cogen::load
