#include "panes.hpp"

#include "terminal.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

namespace example {
namespace {

constexpr int narrowest = 36;
constexpr std::size_t max_line = 96;

int rows_of(int panes, int columns) { return (panes + columns - 1) / columns; }

}  // namespace

grid::grid(std::vector<std::string> titles) {
  for (auto& each : titles) panes_.emplace_back().title = std::move(each);
  const auto screen = size_of_terminal();
  const int count = std::max(1, static_cast<int>(panes_.size()));
  columns_ = std::clamp(screen.columns / narrowest, 1, count);
  width_ = screen.columns / columns_;
  height_ = std::max(2, (screen.rows - 2) / rows_of(count, columns_));
  fmt::print("\x1b[?25l\x1b[2J");
  for (std::size_t i = 0; i < panes_.size(); ++i) draw(i);
}

grid::~grid() {
  fmt::print("\x1b[{};1H\x1b[?25h\n", rows_of(static_cast<int>(panes_.size()), columns_) * height_);
  std::fflush(stdout);
}

void grid::add(std::size_t index, std::string_view text) {
  wrap(panes_[index], text);
  draw(index);
}

void grid::close(std::size_t index, std::string_view note) {
  panes_[index].note = note;
  draw(index);
}

void grid::wrap(pane& target, std::string_view text) const {
  const int width = width_ - 2;
  for (const char each : text) {
    if (each == '\n') {
      if (!target.lines.back().empty()) target.lines.emplace_back();
      continue;
    }
    auto& line = target.lines.back();
    line += each;
    if (columns_of(line) <= width) continue;
    const auto space = line.rfind(' ');
    const auto cut = space == std::string::npos ? fitting(line, width).size() : space;
    auto rest = line.substr(space == std::string::npos ? cut : cut + 1);
    line.resize(cut);
    target.lines.push_back(std::move(rest));
  }
}

void grid::draw(std::size_t index) const {
  const auto& shown = panes_[index];
  const int top = static_cast<int>(index) / columns_ * height_ + 1;
  const int left = static_cast<int>(index) % columns_ * width_ + 1;
  const auto put = [&](int row, std::string_view style, std::string_view text) {
    const auto cut = fitting(text, width_ - 2);
    fmt::print("\x1b[{};{}H{}{}{:{}}\x1b[0m", top + row, left, style, cut, "", width_ - 1 - columns_of(cut));
  };
  put(0, shown.note.empty() ? "\x1b[1m" : "\x1b[2m",
      shown.note.empty() ? shown.title : shown.title + " · " + shown.note);
  const auto last = shown.lines.size();
  const auto first = last - std::min(last, static_cast<std::size_t>(height_ - 1));
  for (auto i = first; i < last; ++i) put(static_cast<int>(i - first) + 1, "", shown.lines[i]);
  std::fflush(stdout);
}

lines::lines(const std::vector<std::string>& titles) : begun_(titles.size()) {
  for (std::size_t i = 0; i < titles.size(); ++i) fmt::print("{:>3} ? {}\n", i + 1, titles[i]);
}

void lines::add(std::size_t pane, std::string_view text) {
  begun_[pane] += text;
  print_whole_lines(pane);
}

void lines::close(std::size_t pane, std::string_view note) {
  begun_[pane] += '\n';
  print_whole_lines(pane);
  fmt::print("{:>3} . {}\n", pane + 1, note);
  std::fflush(stdout);
}

void lines::print_whole_lines(std::size_t pane) {
  auto& text = begun_[pane];
  for (;;) {
    auto end = text.find('\n');
    if (end == std::string::npos || end > max_line) end = text.size() > max_line ? text.rfind(' ', max_line) : end;
    if (end == std::string::npos) return;
    if (end > 0) fmt::print("{:>3} | {}\n", pane + 1, text.substr(0, end));
    text.erase(0, end + 1);
    std::fflush(stdout);
  }
}

}  // namespace example
