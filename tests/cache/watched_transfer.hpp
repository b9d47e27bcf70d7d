#pragma once

#include <cogen/detail/cache/transfer.hpp>

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <stdexcept>
#include <utility>
#include <vector>

namespace cogen::cache::test {

/// Copies at once, and writes down what it was asked for. The job of a given number can be refused or fail.
class watched_transfer final : public transfer {
 public:
  enum class fault { none, refuse, fail };

  friend std::ostream& operator<<(std::ostream& out, fault which) {
    return out << (which == fault::refuse ? "refuse" : which == fault::fail ? "fail" : "none");
  }

  void start(std::vector<byte_copy> copies, callback done) override {
    jobs.push_back(copies);
    const bool now = jobs.size() == fault_at + 1;
    if (now && wanted != fault::none) failed = true;
    if (now && wanted == fault::refuse) throw std::runtime_error("refused");
    if (now && wanted == fault::fail) {
      run(copies, copies.size() / 2);
      return done(std::make_exception_ptr(std::runtime_error("unplugged")));
    }
    run(copies, copies.size());
    done(nullptr);
  }

  std::vector<std::vector<byte_copy>> jobs;
  fault wanted = fault::none;
  std::size_t fault_at = 0;
  bool failed = false;

 private:
  static void run(const std::vector<byte_copy>& copies, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      std::copy(copies[i].source.begin(), copies[i].source.end(), copies[i].target.begin());
  }
};

}  // namespace cogen::cache::test
