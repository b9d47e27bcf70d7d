#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace example {

/// Several texts that grow at the same time, shown side by side.
class panes {
 public:
  virtual ~panes() = default;
  virtual void add(std::size_t pane, std::string_view text) = 0;

  /// Nothing more will come for this pane; `note` says how it ended.
  virtual void close(std::size_t pane, std::string_view note) = 0;
};

/// A grid in the terminal: each pane shows its title and the last lines of its text.
class grid final : public panes {
 public:
  explicit grid(std::vector<std::string> titles);
  ~grid() override;
  void add(std::size_t pane, std::string_view text) override;
  void close(std::size_t pane, std::string_view note) override;

 private:
  struct pane {
    std::string title;
    std::vector<std::string> lines{""};
    std::string note;
  };

  void wrap(pane& target, std::string_view text) const;
  void draw(std::size_t index) const;

  std::vector<pane> panes_;
  int columns_ = 1;  // of panes
  int width_ = 80;   // of a pane, in characters
  int height_ = 2;   // of a pane, its title included
};

/// Plain lines, each marked with its pane's number, as soon as a line is whole.
class lines final : public panes {
 public:
  explicit lines(const std::vector<std::string>& titles);
  void add(std::size_t pane, std::string_view text) override;
  void close(std::size_t pane, std::string_view note) override;

 private:
  void print_whole_lines(std::size_t pane);

  std::vector<std::string> begun_;
};

}  // namespace example
