#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace curves {

/// What the command line says.
struct settings {
  std::string measurement;
  std::string model;
  std::string text;
  std::vector<std::string> kinds;
  std::string reference;
  std::vector<int> lengths;
  int context;
  int tokens;
  int chunk;
  int buckets;
  int bucket_tokens;
  int blocks;
  int steps;
  int trials;
  int depths;
  int facts;
  std::string method;
  int window;
  int stride;
  double temperature;
  std::uint64_t seed;
  std::optional<int> threads;
  bool serve;
};

/// Nothing where --help or --list-kinds was asked for and answered. Throws std::exception where the line makes no
/// sense.
std::optional<settings> parse(int argc, char** argv);

}  // namespace curves
