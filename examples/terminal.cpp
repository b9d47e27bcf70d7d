#include "terminal.hpp"

#include <clocale>
#include <cstdlib>
#include <cwchar>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace example {
namespace {

// Bytes and columns of the character that `text` begins with.
struct extent {
  std::size_t bytes;
  int columns;
};

extent first_character(std::string_view text) {
  wchar_t character = 0;
  std::mbstate_t state{};
  // NOLINTNEXTLINE(concurrency-mt-unsafe): with a state of its own
  const auto bytes = std::mbrtowc(&character, text.data(), text.size(), &state);
  if (bytes == 0 || bytes > text.size()) return {1, 1};
  const int columns = ::wcwidth(character);
  return {bytes, columns < 0 ? 0 : columns};
}

}  // namespace

bool is_terminal() {
  const char* kind = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) && kind && std::string_view(kind) != "dumb";
}

terminal_size size_of_terminal() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

int columns_of(std::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    const auto next = first_character(text);
    columns += next.columns;
    text.remove_prefix(next.bytes);
  }
  return columns;
}

std::string_view fitting(std::string_view text, int columns) {
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const auto next = first_character(text.substr(bytes));
    if (next.columns > columns) break;
    columns -= next.columns;
    bytes += next.bytes;
  }
  return text.substr(0, bytes);
}

double peak_memory_mib() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_maxrss) / 1024;
}

}  // namespace example
