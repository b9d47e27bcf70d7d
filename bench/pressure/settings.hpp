#pragma once

#include <optional>
#include <string>

namespace pressure {

struct settings {
  std::string model;
  int conversations;
  int room;
  int turns;
  int said;
  int answered;
  int think_ms;
  int idle_timeout_ms;
  int stream_tokens;
  int rounds;
  std::optional<int> threads;
  std::string only;   // conversations, lengths or streams; empty: all
  std::string trace;  // a file; empty: none
  bool quick;

  int length() const { return turns * (said + answered); }
  int answers() const { return conversations * turns * answered; }
};

constexpr int ahead = 16;  // tokens that a stream may be ahead of its reader

/// Nothing where help was asked for. Throws std::exception, saying what is wrong.
std::optional<settings> parse(int argc, char** argv);

}  // namespace pressure
