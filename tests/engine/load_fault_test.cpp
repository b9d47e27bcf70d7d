// Loading models and their tokenizers, while memory is refused at one allocation after the other.
#include "../test_data.hpp"
#include "failing_memory.hpp"

#include <cogen/load_model.hpp>
#include <cogen/model.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <typeinfo>

namespace cogen::test {
namespace {

constexpr long never = 1'000'000'000;

/// Allocations of this thread while it loads that model.
long allocations_of_loading(const std::filesystem::path& path) {
  const auto previous = failing_memory::allocations();
  load_model(path, {.threads = 1});
  return failing_memory::allocations() - previous;
}

/// Returns whether the n-th allocation was met. What is thrown has to be std::bad_alloc.
bool load_with_memory_refused(const std::filesystem::path& path, long n) {
  failing_memory::refuse(n);
  try {
    load_model(path, {.threads = 1});
    return failing_memory::relent();
  } catch (const std::bad_alloc&) {
    return failing_memory::relent();
  } catch (const std::exception& error) {
    const bool met = failing_memory::relent();
    BOOST_TEST(false, "allocation " << n << " ends in " << typeid(error).name() << ": " << error.what());
    return met;
  }
}

/// Blocks of memory that are still held after loading; fewer than none where some are given back.
long blocks_held_after(const std::filesystem::path& path, long n) {
  const auto previous = failing_memory::blocks();
  load_with_memory_refused(path, n);
  return failing_memory::blocks() - previous;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(load_faults)

BOOST_AUTO_TEST_CASE(any_allocation_of_loading_may_fail_and_nothing_leaks) {
  constexpr long trials = 400;  // for each model, evenly spread
  long failed = 0;
  for (const auto* golden : {"llama_default", "llama_gguf", "gpt_oss_mxfp4", "gpt2_published", "bart_tiny"}) {
    const auto path = golden_folder(golden);
    allocations_of_loading(path);  // what is made once in a process has been made
    const auto allocations = allocations_of_loading(path), stride = std::max(allocations / trials, 1L);
    for (long n = 0; n < allocations; n += stride) {
      // glibc loads what unwinds the stack when an exception first passes through pthread_once().
      const bool held = blocks_held_after(path, n) != 0 && blocks_held_after(path, n) != 0;
      BOOST_TEST(!held, golden << ", allocation " << n << " of " << allocations);
      ++failed;
    }
    BOOST_TEST(!load_with_memory_refused(path, never));
  }
  BOOST_TEST(failed > trials);
  BOOST_TEST_MESSAGE(failed << " allocations of loading failed in turn");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
