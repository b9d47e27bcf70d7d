#include <cogen/cache/device_cache.hpp>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <boost/test/unit_test.hpp>

#include <array>
#include <vector>

namespace cogen::cache {

namespace {

const std::vector<kv_cache_spec> shapes(3, {.kv_heads = 2, .head_dim = 4});
const std::vector<kv_cache_spec> with_states{
    {.kind = layer_kind::recurrent, .state = 8}, shapes[0], {.kind = layer_kind::recurrent, .state = 5}};

device_options small(int slots = 3, int max_sequence_length = 10) {
  return {.device = at::kCPU, .type = at::kFloat, .slots = slots, .max_sequence_length = max_sequence_length};
}

device_options with_quantization() {
  auto options = small(3, 500);
  options.quantization = device_quantization{.residual = 20, .head_bytes = 48};
  options.ring = 128;
  return options;
}

device_options forgetting() {
  auto options = small(3, 500);
  options.sinks = sink_window{.sinks = 4, .window = 20};
  options.ring = 48;
  return options;
}

/// Every place of every slot gets a number of its own.
void number(device_cache& cache) {
  for (int slot = 0; slot < cache.slots(); ++slot)
    for (const auto& part : cache.parts_of(slot, cache.max_sequence_length()))
      part.copy_((at::arange(part.numel()) + 1000 * slot).view(part.sizes()));
}

step one_row(int slot, int count) { return step({{.slot = slot, .count = count}}); }

template <class Error, class Call>
void check_says(Call call, const std::string& sentence) {
  BOOST_CHECK_EXCEPTION(call(), Error, [&](const Error& error) {
    BOOST_TEST(std::string(error.what()) == sentence);
    return true;
  });
}

BOOST_AUTO_TEST_SUITE(device_caches)

BOOST_AUTO_TEST_CASE(keys_and_values_lie_where_origins_say) {
  device_cache cache(shapes, small());
  number(cache);
  for (int layer = 0; layer < 3; ++layer) {
    const auto& kept = cache.layer(layer);
    BOOST_TEST((kept.keys.sizes() == at::IntArrayRef({3, 10, 2, 4})));
    const auto* first = kept.keys.const_data_ptr<float>();
    const auto width = kept.keys.stride(1);
    for (int slot = 0; slot < 3; ++slot)
      BOOST_TEST(kept.keys.select(0, slot).const_data_ptr<float>() == first + cache.origin(slot) * width);
    BOOST_TEST(kept.values.const_data_ptr<float>() == first + 3 * 10 * width);
  }
  BOOST_TEST(device_cache::slot_bytes(shapes, small()) == 2 * 3 * 10 * 8 * 4);
}

BOOST_AUTO_TEST_CASE(a_ring_is_used_in_turns_behind_the_sinks) {
  const device_cache cache(shapes, forgetting());
  const auto& kept = cache.layer(1);
  BOOST_TEST(kept.keys.size(1) == 4 + 48);
  BOOST_TEST(kept.span.sinks == 4);
  BOOST_TEST(kept.span.window == 20);
  for (const auto& [position, place] : {std::pair(0, 0), {3, 3}, {4, 4}, {51, 51}, {52, 4}, {99, 51}, {100, 4}})
    BOOST_TEST(kept.place_of(position) == place, "position " << position);
  BOOST_TEST(device_cache::slot_bytes(shapes, forgetting()) == 2 * 3 * (4 + 48) * 8 * 4);
  BOOST_TEST(cache.parts_of(1, 30).front().size(1) == 30);
  BOOST_TEST(cache.parts_of(1, 400).front().size(1) == 4 + 48);
}

BOOST_AUTO_TEST_CASE(what_stays_far_comes_near_in_two_places) {
  auto options = small();
  options.host = at::zeros({3 * device_cache::slot_bytes(shapes, options)}, at::kByte);
  device_cache cache(shapes, options);
  BOOST_TEST(cache.on_host());
  number(cache);
  BOOST_TEST(cache.layer(0).keys.const_data_ptr() == cache.layer(2).keys.const_data_ptr());
  BOOST_TEST(cache.layer(0).keys.const_data_ptr() != cache.layer(1).keys.const_data_ptr());
  const device_cache device(shapes, small());
  for (int slot = 0; slot < 3; ++slot) device.parts_of(slot, 10).front().copy_(cache.parts_of(slot, 10).front());
  for (int layer = 0; layer < 3; ++layer)
    for (int slot = 0; slot < 3; ++slot) {
      const auto tokens = cache.moving(layer, slot, 2, 7);
      tokens.device.copy_(tokens.host);
      for (const auto part : {&device_layer::keys, &device_layer::values})
        BOOST_TEST(at::equal((cache.layer(layer).*part).select(0, slot).narrow(0, 2, 5),
                             (device.layer(layer).*part).select(0, slot).narrow(0, 2, 5)));
    }
  const auto* first = cache.layer(1).keys.const_data_ptr<float>();
  for (int slot = 0; slot < 3; ++slot)
    BOOST_TEST(cache.layer(1).keys.select(0, slot).const_data_ptr<float>() == first + cache.origin(slot) * 8);
}

BOOST_AUTO_TEST_CASE(windows_of_the_model_stay_beside_sinks) {
  auto mixed = shapes;
  mixed[1] = {.kind = layer_kind::sliding, .kv_heads = 2, .head_dim = 4, .window = 7};
  auto options = small();
  options.sinks = sink_window{.sinks = 2, .window = 5};
  const device_cache cache(mixed, options);
  BOOST_TEST(cache.layer(0).span.sinks == 2);
  BOOST_TEST(cache.layer(0).span.window == 5);
  BOOST_TEST(cache.layer(1).span.sinks == 0);
  BOOST_TEST(cache.layer(1).span.window == 7);
  BOOST_TEST(cache.layer(1).place_of(9) == 9);
}

BOOST_AUTO_TEST_CASE(states_lie_beside_keys_and_go_with_their_slot) {
  device_cache cache(with_states, small());
  number(cache);
  BOOST_TEST(device_cache::slot_bytes(with_states, small()) == 2 * 10 * 8 * 4 + 13 * 4);
  BOOST_TEST(device_cache::state_bytes(with_states) == 13 * 4);
  BOOST_TEST((cache.layer(0).states.sizes() == at::IntArrayRef({3, 8})));
  BOOST_TEST((cache.layer(2).states.sizes() == at::IntArrayRef({3, 5})));
  BOOST_TEST(cache.layer(2).states[1][4].item<float>() == 1012);
  BOOST_TEST((cache.layer(1).keys.sizes() == at::IntArrayRef({3, 10, 2, 4})));
  BOOST_TEST(cache.origin(1) == 10);
  cache.advance(one_row(0, 4));
  cache.copy(0, 1, 4);
  BOOST_TEST(cache.layer(2).states[1][4].item<float>() == 12);
  BOOST_TEST(cache.layer(2).states[2][4].item<float>() == 2012);
  BOOST_TEST(cache.parts_of(1, 4).back().numel() == 13);
  BOOST_TEST(cache.parts_of(1, 0).back().numel() == 0);
}

BOOST_AUTO_TEST_CASE(encoder_inputs_lie_beside_tokens_and_go_with_their_slot) {
  const std::vector<kv_cache_spec> reading{shapes[0],
                                           {.kind = layer_kind::cross, .kv_heads = 2, .head_dim = 4},
                                           shapes[0],
                                           {.kind = layer_kind::cross, .kv_heads = 2, .head_dim = 4}};
  auto options = small();
  options.max_encoder_length = 6;
  device_cache cache(reading, options);
  BOOST_TEST(device_cache::encoder_bytes(reading, options) == 2 * 2 * 6 * 8 * 4);
  BOOST_TEST(device_cache::slot_bytes(reading, options) == 2 * 2 * 10 * 8 * 4 + 2 * 2 * 6 * 8 * 4);
  BOOST_TEST((cache.layer(3).values.sizes() == at::IntArrayRef({3, 6, 2, 4})));
  number(cache);
  for (int slot = 0; slot < 3; ++slot) {
    const auto part = cache.encoder_part(slot, 6);
    part.copy_((at::arange(part.numel()) + 1000 * slot).view(part.sizes()));
  }
  BOOST_TEST(cache.layer(3).values[1][5][1][3].item<float>() == 1000 + 2 * 2 * 6 * 8 - 1);
  cache.set_encoder_length(0, 4);
  cache.advance(one_row(0, 5));
  cache.copy_encoder_input(0, 1);
  BOOST_TEST(cache.encoder_length(1) == 4);
  BOOST_TEST(at::equal(cache.encoder_part(1, 4), cache.encoder_part(0, 4)));
  BOOST_TEST(cache.layer(3).values[1][4][0][0].item<float>() > 1000);
  cache.truncate(0, 0);
  BOOST_TEST(cache.encoder_length(0) == 4);
  cache.clear(0);
  BOOST_TEST(cache.encoder_length(0) == 0);
  BOOST_TEST(cache.encoder_length(1) == 4);
  check_says<std::length_error>([&] { cache.set_encoder_length(2, 7); },
                                "device cache: slot 2 would hold an encoder input of 7 tokens; at most 6 fit");
}

BOOST_AUTO_TEST_CASE(a_slot_without_keys_is_all_state) {
  const std::vector<kv_cache_spec> shapes(2, {.kind = layer_kind::recurrent, .state = 6});
  const device_cache cache(shapes, small(2, 1 << 20));
  BOOST_TEST(device_cache::slot_bytes(shapes, small()) == 12 * 4);
  BOOST_TEST(cache.parts_of(1, 1000).front().numel() == 0);
  BOOST_TEST(cache.parts_of(1, 1000).back().numel() == 12);
}

BOOST_AUTO_TEST_CASE(a_state_stays_or_goes) {
  device_cache cache(with_states, small());
  cache.advance(one_row(0, 4));
  BOOST_TEST(cache.can_truncate(0, 4));
  BOOST_TEST(!cache.can_truncate(0, 3));
  check_says<std::logic_error>(
      [&] { cache.truncate(0, 3); },
      "device cache: slot 0 holds 4 tokens and cannot be cut to 3: it has states of all of them");
  check_says<std::logic_error>(
      [&] { cache.copy(0, 1, 2); },
      "device cache: slot 0 holds 4 tokens, and slot 1 cannot begin with 2: it has states of all of them");
  BOOST_TEST(cache.length(1) == 0);
  cache.truncate(0, 4);
  cache.clear(0);
  BOOST_TEST(cache.length(0) == 0);
}

BOOST_AUTO_TEST_CASE(lengths_follow_steps_and_stay_within_bounds) {
  device_cache cache(shapes, small());
  cache.advance(step({{.slot = 0, .count = 4}, {.slot = 2, .count = 10}}));
  BOOST_TEST(cache.length(0) == 4);
  BOOST_TEST(cache.length(1) == 0);
  check_says<std::length_error>(
      [&] {
        cache.advance(step({{.slot = 0, .count = 1}, {.slot = 2, .count = 1}}));
      },
      "device cache: slot 2 would hold 11 tokens; at most 10 fit");
  BOOST_TEST(cache.length(0) == 4);
  check_says<std::length_error>([&] { cache.truncate(0, 5); },
                                "device cache: slot 0 holds 4 tokens and cannot be cut to 5");
  cache.truncate(0, 3);
  cache.clear(2);
  BOOST_TEST(cache.length(0) == 3);
  BOOST_TEST(cache.length(2) == 0);
  BOOST_CHECK_THROW(cache.advance(one_row(3, 1)), std::out_of_range);
  BOOST_CHECK_THROW(cache.parts_of(3, 1), std::out_of_range);
}

BOOST_AUTO_TEST_CASE(a_copy_is_all_of_its_origin_and_changes_no_other_slot) {
  for (const auto& options : {small(), with_quantization(), forgetting()}) {
    device_cache cache(shapes, options);
    number(cache);
    const int length = options.max_sequence_length - 3;
    cache.advance(one_row(0, length));
    const auto third = cache.parts_of(2, options.max_sequence_length).front().clone();
    cache.copy(0, 1, length - 1);
    BOOST_TEST(cache.length(1) == length - 1);
    const auto copied = cache.parts_of(1, length - 1);
    const auto origin = cache.parts_of(0, length - 1);
    BOOST_TEST(copied.size() == (options.quantization ? 2u : 1u));
    for (std::size_t part = 0; part < copied.size(); ++part) BOOST_TEST(at::equal(copied[part], origin[part]));
    BOOST_TEST(at::equal(cache.parts_of(2, options.max_sequence_length).front(), third));
    BOOST_CHECK_THROW(cache.copy(0, 1, length + 1), std::length_error);
    BOOST_TEST(cache.length(1) == length - 1);
  }
}

BOOST_AUTO_TEST_CASE(only_an_empty_slot_is_filled) {
  device_cache cache(shapes, small());
  cache.fill(1, 7);
  BOOST_TEST(cache.length(1) == 7);
  check_says<std::logic_error>([&] { cache.fill(1, 2); },
                               "device cache: slot 1 holds 7 tokens, and only an empty one can be filled");
  BOOST_CHECK_THROW(cache.fill(0, 11), std::length_error);
}

BOOST_AUTO_TEST_CASE(what_a_device_cannot_keep_is_named) {
  const auto refused = [](std::vector<kv_cache_spec> shapes, const device_options& options, const char* sentence) {
    check_says<std::invalid_argument>([&] { device_cache(shapes, options); }, sentence);
  };
  refused({}, small(), "device cache: no layers, at least 1 is needed");
  refused(shapes, small(0), "device cache: slots is 0, it must be at least 1");
  refused(shapes, small(1, 0), "device cache: max_sequence_length is 0, it must be at least 1");
  auto other = shapes;
  other[1].kv_heads = 1;
  refused(
      other, with_quantization(),
      "device cache: layer 1 has 1 key/value heads of 4 where layer 0 has 2 key/value heads of 4; all must have the "
      "same if they are quantized");
  const device_cache of_other_heads(other, small());
  BOOST_TEST((of_other_heads.layer(1).keys.sizes() == at::IntArrayRef({3, 10, 1, 4})));
  BOOST_TEST((of_other_heads.layer(2).keys.sizes() == at::IntArrayRef({3, 10, 2, 4})));
  other = shapes;
  other[2] = {.kind = layer_kind::cross, .kv_heads = 2, .head_dim = 4};
  refused(other, small(), "device cache: max_encoder_length is 0, it must be at least 1");
  other[2] = {.kind = layer_kind::chunked, .kv_heads = 2, .head_dim = 4, .window = 5};
  refused(other, with_quantization(), "device cache: layer 2 attends in chunks of 5, and is not packed");
  other = shapes;
  other[0].kind = layer_kind::sliding;
  other[0].window = 5;
  refused(other, with_quantization(), "device cache: layer 0 has a window of 5, and is not packed");
  auto little = with_quantization();
  little.ring = 64;
  refused(
      shapes, little,
      "device cache: a ring of 64 places for the newest tokens; with a residual of 20 at least 85, and a multiple of "
      "64");
  auto ring = small();
  ring.ring = 16;
  refused(shapes, ring, "device cache: layer 0 has a window of 0; with a ring all must have the same");
  other[1] = other[2] = other[0];
  refused({other[0], other[1], shapes[2]}, ring,
          "device cache: layer 2 has a window of 0; with a ring all must have the same");
  ring.ring = 15;
  refused(other, ring, "device cache: a ring of 15 places; a window of 5 needs at least 16");
  auto sinks = forgetting();
  sinks.ring = 19;
  refused(shapes, sinks, "device cache: a ring of 19 places; a window of 20 needs at least 20");
  sinks.sinks->window = 0;
  refused(shapes, sinks, "device cache: 4 sinks and a window of 0; possible are 0 to 64, and windows of at least 1");
  auto host = small();
  host.host = at::zeros({100}, at::kByte);
  refused(shapes, host, "device cache: far memory of 100 bytes; 5760 are needed");
  host = with_quantization();
  host.host = at::zeros({100}, at::kByte);
  refused(shapes, host, "device cache: host-resident KV caches cannot be rings");
  host = small();
  host.host = at::zeros({100}, at::kByte);
  refused(with_states, host,
          "device cache: layers that are recurrent or read an encoder cannot have host-resident KV caches");
  auto both = with_quantization();
  both.sinks = sink_window();
  refused(shapes, both, "device cache: layer 0 has a window of 1020, and is not packed");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace cogen::cache
