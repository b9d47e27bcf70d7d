// A decode step like the one before it allocates nothing.
#include "some_models.hpp"

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

namespace {

std::atomic<long> allocations{0};

void* counted(std::size_t size, std::size_t alignment) {
  ++allocations;
  if (void* memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return counted(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace cogen::test {

namespace {

void check_steady(const model& model, compute_type mode = compute_type::float32) {
  auto cache = model.make_cache({.slots = 3, .max_sequence_length = 200});
  workspace workspace(1, mode);  // a thread that joins late takes its own scratch then
  const std::vector<token> tokens{3, 4, 5};
  const std::vector<int> outputs{0, 2};
  const batch batch{.step = cache::step({{.slot = 0, .count = 1}, {.slot = 1, .count = 1}, {.slot = 2, .count = 1}}),
                    .tokens = tokens,
                    .outputs = outputs};
  for (int i = 0; i < 3; ++i) model.forward(batch, cache, workspace);
  const auto held = workspace.bytes();
  const long previous = allocations;
  for (int i = 0; i < 100; ++i) model.forward(batch, cache, workspace);
  BOOST_TEST(allocations - previous == 0);
  BOOST_TEST(workspace.bytes() == held);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(steady_step)

BOOST_AUTO_TEST_CASE(allocates_nothing) { check_steady(*tiny_model()); }

BOOST_AUTO_TEST_CASE(allocates_nothing_for_states_and_experts) {
  check_steady(*load_model(golden_folder("jamba_tiny"), {.threads = 1}));
}

BOOST_AUTO_TEST_CASE(allocates_nothing_with_int8_products) {
  const auto model = default_model();
  check_steady(*model, compute_type::int8);
  check_steady(*load_model(golden_folder("jamba_tiny"), {.threads = 1}), compute_type::int8);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
