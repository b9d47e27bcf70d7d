#pragma once

#include <cogen/model.hpp>

#include <span>
#include <utility>
#include <vector>

namespace cogen::nn {

/// A part of a batch in which no row is longer than rings have room for.
struct batch_part {
  cache::step step;
  std::vector<token> tokens;
  std::vector<int> outputs;  // indices into tokens
  std::vector<int> places;   // [outputs], indices into the whole batch's outputs
};

/// Cuts a batch into parts that run one after the other, each row's tokens `longest` at a time.
std::vector<batch_part> parts_of(const batch& whole, int longest);

/// The lengths to which a cache's slots return unless all parts have run.
class return_points {
 public:
  /// Throws like cache::take_checkpoint.
  return_points(cache::cache& cache, const cache::step& step);
  ~return_points();
  return_points(const return_points&) = delete;
  return_points& operator=(const return_points&) = delete;

  /// All parts have run: the slots keep their lengths.
  void keep() noexcept { kept_ = true; }

 private:
  explicit return_points(cache::cache& cache) : cache_(cache) {}

  struct point {
    int slot;
    int length;
    bool taken_here = false;
  };

  void go_back(const point& saved) noexcept;

  cache::cache& cache_;
  std::vector<point> points_;
  bool kept_ = false;
};

}  // namespace cogen::nn
