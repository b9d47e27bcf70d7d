#include "copy_job.hpp"

#include <cogen/detail/cache/transfer.hpp>

#include <stdexcept>
#include <utility>

namespace cogen::cache {

struct manual_transfer::job : copy_job {};

manual_transfer::manual_transfer() = default;
manual_transfer::~manual_transfer() = default;

void manual_transfer::start(std::vector<byte_copy> copies, callback done) {
  check(copies);
  jobs_.push_back({{.copies = std::move(copies), .done = std::move(done)}});
}

std::size_t manual_transfer::waiting() const noexcept { return jobs_.size(); }

manual_transfer::job manual_transfer::take() {
  if (jobs_.empty()) throw std::logic_error("transfer: no job waits");
  job oldest = std::move(jobs_.front());
  jobs_.erase(jobs_.begin());
  return oldest;
}

void manual_transfer::finish_one() {
  const job oldest = take();
  run(oldest.copies);
  oldest.done(nullptr);
}

void manual_transfer::fail_one(std::exception_ptr error) {
  const job oldest = take();
  run(std::span(oldest.copies).first(oldest.copies.size() / 2));
  oldest.done(std::move(error));
}

}  // namespace cogen::cache
