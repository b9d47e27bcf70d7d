#include "cuda_runtime.h"

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

void launch(void (*kernel)(int*), int* out, unsigned blocks, unsigned threads, std::size_t shared_bytes = 0) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  BOOST_REQUIRE((cudaLaunchKernelEx(&config, kernel, out) == cudaSuccess));
}

bool waits_for_ever(const std::logic_error& error) {
  return std::string(error.what()).starts_with("a kernel's threads wait for ever");
}

/// Runs twice, as the threads' order changes; what each launch has written.
std::array<std::vector<int>, 2> two_launches(void (*kernel)(int*), unsigned blocks, unsigned threads,
                                             std::size_t shared_bytes = 0) {
  std::array<std::vector<int>, 2> results;
  for (auto& each : results) {
    each.resize(std::size_t{blocks} * threads);
    launch(kernel, each.data(), blocks, threads, shared_bytes);
  }
  return results;
}

void write_own_place(int* out) {
  const unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
  out[index] = static_cast<int>(index);
}

void pass_to_the_next(int* out) {
  __shared__ int passed[1024];
  passed[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = passed[(threadIdx.x + 1) % blockDim.x];
}

void pass_without_waiting(int* out) {
  __shared__ int passed[1024];
  passed[threadIdx.x] = -1;
  __syncthreads();
  passed[threadIdx.x] = static_cast<int>(threadIdx.x);
  out[threadIdx.x] = passed[(threadIdx.x + 1) % blockDim.x];
}

void sum_of_warp(int* out) {
  int sum = static_cast<int>(threadIdx.x);
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffff, sum, distance);
  out[threadIdx.x] = sum;
}

void even_and_odd_lanes_apart(int* out) {
  const bool odd = threadIdx.x % 2 != 0;
  int sum = 0;
  if (odd)
    sum = __shfl_xor_sync(0xaaaaaaaa, static_cast<int>(threadIdx.x), 2);
  else
    sum = __shfl_xor_sync(0x55555555, static_cast<int>(threadIdx.x), 4);
  out[threadIdx.x] = sum;
}

void scan_and_vote(int* out) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int neighbor = __shfl_up_sync(0xffffffff, lane, 3);
  const unsigned odd = __ballot_sync(0xffffffff, lane % 2 != 0);
  out[threadIdx.x] = neighbor + (odd == 0xaaaaaaaa ? 1000 : 0) + (__any_sync(0xffffffff, lane == 40) != 0 ? 5000 : 0);
}

void some_end_early(int* out) {
  if (threadIdx.x % 3 == 0) return;
  out[threadIdx.x] = __syncthreads_or(threadIdx.x == 1 ? 1 : 0);
}

void late_copies(int* out) {
  std::byte* const place = emulated_cuda::shared_memory() + threadIdx.x * 16;
  const int source[4] = {static_cast<int>(threadIdx.x), 1, 2, 3};
  emulated_cuda::copy_later(place, source, 16);
  emulated_cuda::end_copies();
  emulated_cuda::copy_later(place, nullptr, 16);
  emulated_cuda::end_copies();
  int previous = 0, first = 0, second = 0;
  std::memcpy(&previous, place, 4);
  emulated_cuda::wait_for_copies(1);
  std::memcpy(&first, place, 4);
  emulated_cuda::wait_for_copies(0);
  std::memcpy(&second, place, 4);
  out[threadIdx.x] = previous == -1 && second == 0 ? first : -2;
}

void half_of_a_warp_waits(int* out) { out[0] = threadIdx.x < 16 ? __shfl_sync(0xffffffff, 1, 0) : 0; }

void lanes_wait_for_different_things(int*) {
  if (threadIdx.x == 0)
    __syncthreads();
  else
    __syncwarp();
}

void throws_in_one_thread(int*) {
  if (threadIdx.x == 5) throw std::invalid_argument("thread 5");
  __syncthreads();
}

BOOST_AUTO_TEST_SUITE(emulated_cuda_kernels)

BOOST_AUTO_TEST_CASE(every_thread_of_every_block_runs_once) {
  std::vector<int> expected(3 * 70);
  std::iota(expected.begin(), expected.end(), 0);
  for (const auto& each : two_launches(write_own_place, 3, 70)) BOOST_TEST(each == expected);
}

BOOST_AUTO_TEST_CASE(a_barrier_shows_what_others_have_written) {
  for (const auto& each : two_launches(pass_to_the_next, 1, 1024))
    for (int i = 0; i < 1024; ++i) BOOST_TEST_REQUIRE(each[static_cast<std::size_t>(i)] == (i + 1) % 1024);
}

BOOST_AUTO_TEST_CASE(a_missing_barrier_shows) {
  const auto both = two_launches(pass_without_waiting, 1, 64);
  BOOST_TEST(both[0] != both[1]);
}

BOOST_AUTO_TEST_CASE(lanes_exchange_within_their_warp) {
  for (const auto& each : two_launches(sum_of_warp, 1, 64))
    for (int i = 0; i < 64; ++i) BOOST_TEST(each[static_cast<std::size_t>(i)] == (i < 32 ? 496 : 496 + 1024));
  for (const auto& each : two_launches(even_and_odd_lanes_apart, 1, 32))
    for (int i = 0; i < 32; ++i) BOOST_TEST(each[static_cast<std::size_t>(i)] == (i ^ (i % 2 != 0 ? 2 : 4)));
  for (const auto& each : two_launches(scan_and_vote, 1, 32))
    for (int i = 0; i < 32; ++i) BOOST_TEST(each[static_cast<std::size_t>(i)] == 1000 + (i < 3 ? i : i - 3));
}

BOOST_AUTO_TEST_CASE(threads_that_have_ended_are_not_waited_for) {
  for (const auto& each : two_launches(some_end_early, 1, 96))
    for (int i = 0; i < 96; ++i) BOOST_TEST(each[static_cast<std::size_t>(i)] == (i % 3 == 0 ? 0 : 1));
}

BOOST_AUTO_TEST_CASE(copies_are_there_when_waited_for_and_no_sooner) {
  for (const auto& each : two_launches(late_copies, 1, 32, 512))
    for (int i = 0; i < 32; ++i) BOOST_TEST(each[static_cast<std::size_t>(i)] == i);
}

BOOST_AUTO_TEST_CASE(what_hardware_leaves_undefined_is_an_error) {
  std::vector<int> out(64);
  BOOST_CHECK_EXCEPTION(launch(half_of_a_warp_waits, out.data(), 1, 32), std::logic_error, waits_for_ever);
  BOOST_CHECK_EXCEPTION(launch(lanes_wait_for_different_things, out.data(), 1, 32), std::logic_error, waits_for_ever);
  BOOST_CHECK_THROW(launch(throws_in_one_thread, out.data(), 1, 64), std::invalid_argument);
  launch(write_own_place, out.data(), 1, 64);  // goes on
  BOOST_TEST(out[63] == 63);
}

BOOST_AUTO_TEST_CASE(a_launch_beyond_the_limits_is_refused) {
  cudaLaunchConfig_t config{};
  config.blockDim = dim3(1025);
  int* const out = nullptr;
  BOOST_TEST((cudaLaunchKernelEx(&config, write_own_place, out) == cudaErrorInvalidValue));
  config.blockDim = dim3(32);
  config.dynamicSmemBytes = emulated_cuda::max_shared_bytes + 1;
  BOOST_TEST((cudaLaunchKernelEx(&config, write_own_place, out) == cudaErrorInvalidValue));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
