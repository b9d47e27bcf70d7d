#include "network/weights/named_tensors.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

namespace cogen::weights {

namespace {

constexpr std::string_view suffix = ".weight";  // that a tensor without a module of its own lacks

}  // namespace

named_tensors::named_tensors(const load::checkpoint& files, progress report)
    : files_(files), report_(std::move(report)) {}

void named_tensors::expect(const models::model_spec& spec) {
  const auto has_base = [&](const std::string& name) { return name.starts_with(spec.base); };
  missing_base_ = std::ranges::any_of(files_.weight_names(), has_base) ? "" : spec.base;
  for (const auto& name : spec.unread) {
    if (!name.ends_with('*')) {
      names_.push_back(stored(name));
      continue;
    }
    const auto is_one = [&](const auto& candidate) { return candidate.starts_with(name.substr(0, name.size() - 1)); };
    std::ranges::copy_if(files_.weight_names(), std::back_inserter(names_), is_one);
  }
}

matrix_rows named_tensors::rows(const named_rows& part, std::optional<std::int64_t> inputs) const {
  auto in_file = part;
  in_file.name = stored(part.name);
  return {files_, in_file, inputs};
}

load::weight named_tensors::get(const std::string& name, std::initializer_list<std::int64_t> shape) const {
  return files_.at(stored(name), shape);
}

bool named_tensors::has(const std::string& name) const { return files_.find(stored(name)).has_value(); }

std::string named_tensors::first_of(const std::vector<std::string>& names) {
  std::vector<std::string> held;
  for (const auto& name : names) {
    auto complete = name + std::string(suffix);
    names_.push_back(stored(complete));
    if (has(complete)) held.push_back(std::move(complete));
  }
  if (held.empty()) return names.front() + std::string(suffix);
  const auto first = held.front();
  std::erase_if(held, [&](const auto& other) { return other != first && !hold_same_numbers(first, other); });
  return std::ranges::min(held);
}

bool named_tensors::hold_same_numbers(const std::string& first, const std::string& second) const {
  const auto left = files_.find(stored(first)), right = files_.find(stored(second));
  if (left->type() != right->type() || left->shape() != right->shape()) return false;
  constexpr std::int64_t rows_at_once = 1024;
  std::vector<std::byte> left_rows, right_rows;
  for (std::int64_t row = 0; row < left->rows(); row += rows_at_once) {
    const auto end = std::min(left->rows(), row + rows_at_once);
    for (auto* rows : {&left_rows, &right_rows})
      rows->resize(static_cast<std::size_t>(end - row) * static_cast<std::size_t>(left->row_bytes()));
    left->read_rows(row, end, left_rows);
    right->read_rows(row, end, right_rows);
    if (left_rows != right_rows) return false;
  }
  return true;
}

bool named_tensors::count(const load::weight& read) {
  if (!counted_.insert(read.name()).second) return false;
  names_.push_back(read.name());
  bytes_ += read.bytes();
  if (report_) report_(bytes_);
  return true;
}

element_type named_tensors::most_stored_type() const {
  std::map<element_type, std::uint64_t> bytes;
  for (const auto& name : files_.weight_names()) {
    const auto weight = files_.find(name);
    bytes[weight->type()] += weight->bytes();
  }
  return std::ranges::max_element(bytes, {}, [](const auto& entry) { return entry.second; })->first;
}

void named_tensors::finish() const { files_.refuse_others(names_); }

std::uint64_t stored_bytes(const load::checkpoint& files) {
  std::uint64_t bytes = 0;
  for (const auto& name : files.weight_names()) bytes += files.find(name)->bytes();
  return bytes;
}

std::string named_tensors::stored(const std::string& name) const {
  auto in_file = !missing_base_.empty() && name.starts_with(missing_base_) ? name.substr(missing_base_.size()) : name;
  if (in_file.ends_with(suffix) && !files_.find(in_file)) {
    auto bare = in_file.substr(0, in_file.size() - suffix.size());
    if (files_.find(bare)) return bare;
  }
  return in_file;
}

}  // namespace cogen::weights
