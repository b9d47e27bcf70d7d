#include "simulation/visit_table.hpp"

#include <algorithm>
#include <cstring>
#include <iomanip>

namespace cogen::simulation {
namespace {

int widest(names rows) {
  std::size_t width = 0;
  for (const auto* each : rows) width = std::max(width, std::strlen(each));
  return static_cast<int>(width);
}

}  // namespace

visit_table::visit_table(names rows, names columns, std::span<const impossible> excepted)
    : rows_(rows), columns_(columns), counts_(rows.size() * columns.size()), possible_(counts_.size(), true) {
  for (const auto& each : excepted)
    possible_[static_cast<std::size_t>(each.row) * columns.size() + static_cast<std::size_t>(each.column)] = false;
}

void visit_table::add(const visit_table& other) {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
}

bool visit_table::report(std::ostream& out) const {
  bool well = true;
  const int first = widest(rows_), width = std::max(9, widest(columns_)) + 1;
  out << std::setw(first) << "";
  for (const auto* each : columns_) out << std::setw(width) << each;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (i % columns_.size() == 0)
      out << '\n' << std::left << std::setw(first) << rows_[i / columns_.size()] << std::right;
    if (!possible_[i] && counts_[i] == 0)
      out << std::setw(width) << "-";
    else
      out << std::setw(width) << counts_[i];
    well &= possible_[i] == (counts_[i] > 0);
  }
  out << '\n';
  return well;
}

void visit_list::add(const visit_list& other) {
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
}

bool visit_list::report(std::ostream& out) const {
  out << "what else happened:\n";
  for (std::size_t i = 0; i < names_.size(); ++i)
    out << "  " << names_[i] << ' ' << counts_[i] << (i % 6 == 5 || i + 1 == names_.size() ? "\n" : ",");
  return std::ranges::all_of(counts_, [](std::uint64_t count) { return count > 0; });
}

bool report_all(std::ostream& out, bool visited) {
  out << (visited ? "\nevery pair and feature was visited\n"
                  : "\nUNVISITED, or visited though impossible: see above\n");
  return visited;
}

}  // namespace cogen::simulation
