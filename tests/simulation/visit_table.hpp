#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <vector>

namespace cogen::simulation {

using names = std::span<const char* const>;

/// A pair that no history can visit.
struct impossible {
  int row;
  int column;
  const char* why;
};

/// Counts how often each pair of a state (row) and what is done to it (column) was visited.
class visit_table {
 public:
  visit_table(names rows, names columns, std::span<const impossible> excepted = {});

  void visit(int row, int column) { ++cell(row, column); }
  void add(const visit_table& other);

  /// Prints the table; true when every pair was visited but for those that cannot be, and none of those.
  bool report(std::ostream& out) const;

 private:
  std::uint64_t& cell(int row, int column) {
    return counts_[static_cast<std::size_t>(row) * columns_.size() + static_cast<std::size_t>(column)];
  }

  names rows_, columns_;
  std::vector<std::uint64_t> counts_;
  std::vector<bool> possible_;
};

/// Counts how often each of several things has happened.
class visit_list {
 public:
  explicit visit_list(names rows) : names_(rows), counts_(rows.size()) {}

  void visit(int index) { ++counts_[static_cast<std::size_t>(index)]; }
  void add(const visit_list& other);

  /// Prints the list; true when everything has happened.
  bool report(std::ostream& out) const;

 private:
  names names_;
  std::vector<std::uint64_t> counts_;
};

/// Says how the reports came out, and returns the same.
bool report_all(std::ostream& out, bool visited);

}  // namespace cogen::simulation
