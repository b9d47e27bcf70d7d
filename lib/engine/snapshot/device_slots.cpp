#include "engine/snapshot/device_slots.hpp"

#include <cogen/extend/tensors.hpp>

#include <new>
#include <utility>

namespace cogen::detail {

namespace {

host_memory_pool::allocator pinned_memory_of(std::shared_ptr<const device::backend> place) {
  return [place = std::move(place)](std::size_t bytes) {
    const auto held = std::make_shared<at::Tensor>(place->make_host(static_cast<std::int64_t>(bytes)));
    return host_bytes(held, reinterpret_cast<std::byte*>(held->mutable_data_ptr<std::uint8_t>()));
  };
}

}  // namespace

cache::exported_run run_of(std::int64_t bytes, at::ScalarType type, int head_dim) {
  for (const auto each : {cache::scalar::f32, cache::scalar::f16, cache::scalar::bf16})
    if (cache::tensor_type(each) == type) return {.bytes = bytes, .type = each, .dims = head_dim};
  return {.bytes = bytes};
}

device_slots::device_slots(std::shared_ptr<const device::backend> place, std::span<const cache::kv_cache_spec> shapes,
                           const cache::device_options& options, std::int64_t swap_bytes)
    : where(std::move(place)),
      kv(shapes, with_wait(options)),
      work(where->make_stream()),
      memory_(pinned_memory_of(where), swap_bytes),
      copies_(where->make_stream()) {}

/// Steps and copies use the cache.
cache::device_options device_slots::with_wait(cache::device_options options) const {
  if (options.pages)
    options.pages->wait = [this] {
      work->wait();
      copies_->wait();
    };
  return options;
}

void device_slots::fork(const slot_fork& fork) {
  if (kv.on_host()) work->wait();  // the host copies
  try {
    kv.copy(fork.source, fork.slot, fork.end);
  } catch (const std::bad_alloc&) {
    kv.lose(fork.slot, fork.end);
  }
  kv.copy_encoder_input(fork.source, fork.slot);
}

/// Those of its tokens, and its encoder input.
std::vector<at::Tensor> device_slots::parts_of(int slot, int length) const {
  auto parts = kv.parts_of(slot, length);
  if (const int input = encoder_input(slot); input > 0) parts.push_back(kv.encoder_part(slot, input));
  return parts;
}

/// States, encoder inputs, and tokens that are quantized or will be, are opaque bytes.
std::vector<cache::exported_run> device_slots::runs(int slot, int length) const {
  std::vector<cache::exported_run> runs;
  for (const auto& part : parts_of(slot, length)) {
    const auto bytes = static_cast<std::int64_t>(part.nbytes());
    const bool has_numbers = kv.is_exact(part) && bytes > 0;
    cache::append(runs,
                  has_numbers ? run_of(bytes, part.scalar_type(), kv.head_dim()) : cache::exported_run{.bytes = bytes});
  }
  return runs;
}

void device_slots::copy_out(int slot, int length, std::span<std::byte> target, cache::transfer& transfer,
                            cache::transfer::callback done) {
  if (kv.held(slot) < length) throw std::bad_alloc();
  const auto parts = parts_of(slot, length);
  const auto views = cache::tensors_of(parts, target);
  copies_->after(*work);
  for (std::size_t part = 0; part < parts.size(); ++part) copies_->copy_rows(views[part], parts[part]);
  end_with(transfer, std::move(done));
}

void device_slots::copy_in(int slot, int length, std::span<const std::byte> source, int encoder_input,
                           cache::transfer& transfer, cache::transfer::callback done) {
  kv.fill(slot, length);
  kv.set_encoder_length(slot, encoder_input);
  const auto parts = parts_of(slot, length);
  const auto views = cache::tensors_of(parts, source);
  copies_->after(*work);
  for (std::size_t part = 0; part < parts.size(); ++part) copies_->copy_rows(parts[part], views[part]);
  end_with(transfer, std::move(done));
}

void device_slots::end_with(cache::transfer& transfer, cache::transfer::callback done) {
  copies_->then([&transfer, done = std::move(done)](const std::exception_ptr& error) {
    if (error) return done(error);
    try {
      transfer.start({}, done);
    } catch (...) {
      done(std::current_exception());
    }
  });
}

}  // namespace cogen::detail
