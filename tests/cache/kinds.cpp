#include "kinds.hpp"

#include "concat_layer.hpp"
#include "sign_codec.hpp"

#include <algorithm>
#include <iterator>
#include <memory>

namespace cogen::cache::test {
namespace {

/// Turns the shapes that a test asks for into those of a model of another kind.
using reshape = std::function<kv_cache_spec(int index, kv_cache_spec shape)>;

kv_cache_spec as_it_is(int, kv_cache_spec shape) { return shape; }

reshape all_of(layer_kind which, int window) {
  return [=](int, kv_cache_spec shape) {
    shape.kind = which;
    shape.window = window;
    return shape;
  };
}

kv_cache_spec recurrent(int index, kv_cache_spec) { return {.kind = layer_kind::recurrent, .state = 7 + 20 * index}; }

/// Values are all but the last two numbers of keys.
kv_cache_spec latent(int, kv_cache_spec shape) {
  shape.latent_dim = shape.head_dim - 2;
  return shape;
}

kv_cache_spec sliding_latent(int index, kv_cache_spec shape) {
  return latent(index, all_of(layer_kind::sliding, 50)(index, shape));
}

kv_cache_spec alternating(int index, kv_cache_spec shape) {
  switch (index % 4) {
    case 0:
      return shape;
    case 1:
      return all_of(layer_kind::sliding, 50)(index, shape);
    case 2:
      return recurrent(index, shape);
    default:
      return all_of(layer_kind::chunked, 70)(index, shape);
  }
}

std::vector<kv_cache_spec> reshaped(std::span<const kv_cache_spec> shapes, const reshape& as) {
  std::vector<kv_cache_spec> wanted;
  for (const kv_cache_spec& shape : shapes) wanted.push_back(as(static_cast<int>(wanted.size()), shape));
  return wanted;
}

bool changes_nothing(const reshape& as) {
  const auto* function = as.target<kv_cache_spec (*)(int, kv_cache_spec)>();
  return function != nullptr && *function == as_it_is;
}

kind built_in(std::string name, options options, const reshape& as = as_it_is) {
  const bool keeps_all = changes_nothing(as) && !options.kv_quantization && !options.sinks;
  const auto make = [=](std::span<const kv_cache_spec> shapes, int slots, int max_sequence_length) mutable {
    options.slots = slots;
    options.max_sequence_length = max_sequence_length;
    options.max_step_tokens = 64;
    options.max_rollback_tokens = 16;
    options.max_recurrent_drafts = max_drafts;
    return cache(reshaped(shapes, as), options);
  };
  const bool in_place = keeps_all && !options.kv_offload;
  return {.name = std::move(name), .type = options.type, .keeps_all = keeps_all, .in_place = in_place, .make = make};
}

kind own(std::string name, scalar type, const reshape& as = as_it_is) {
  const auto make = [=](std::span<const kv_cache_spec> shapes, int slots, int max_sequence_length) {
    const auto concat = [=](int, const kv_cache_spec& shape, const slot_table& table) {
      return std::make_unique<concat_layer>(shape, type, table, max_sequence_length);
    };
    return cache(
        reshaped(shapes, as),
        {.type = type, .slots = slots, .max_sequence_length = max_sequence_length, .max_recurrent_drafts = max_drafts},
        concat);
  };
  return {.name = std::move(name), .type = type, .keeps_all = changes_nothing(as), .in_place = false, .make = make};
}

options in(cache_kind which, scalar type) { return {.kind = which, .type = type}; }

options with(scalar type, quantization scheme, int residual) {
  scheme.residual = residual;
  return {.type = type, .kv_quantization = scheme};
}

options with_sinks(scalar type, sink_window kept) { return {.type = type, .sinks = kept}; }

options behind(options options) {
  static const auto worker = std::make_shared<worker_transfer>();
  options.kv_offload = worker;
  return options;
}

quantization signs() {
  const auto codec = std::make_shared<sign_codec>();
  return {.keys = codec, .values = codec};
}

std::vector<kind> kinds_where(bool kind::*trait) {
  std::vector<kind> some;
  std::copy_if(kinds().begin(), kinds().end(), std::back_inserter(some), [&](const kind& kind) { return kind.*trait; });
  return some;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const kind& kind) { return out << kind.name; }

const std::vector<kind>& kinds() {
  using enum scalar;
  using enum cache_kind;
  static const std::vector<kind> result{
      built_in("static f32", in(static_, f32)),
      built_in("static f16", in(static_, f16)),
      built_in("static bf16", in(static_, bf16)),
      built_in("dynamic f32", in(dynamic, f32)),
      built_in("dynamic f16", in(dynamic, f16)),
      built_in("dynamic bf16", in(dynamic, bf16)),
      built_in("sliding f32", in(static_, f32), all_of(layer_kind::sliding, 50)),
      built_in("sliding of two tokens", in(static_, f32), all_of(layer_kind::sliding, 2)),
      built_in("dynamic sliding bf16", in(dynamic, bf16), all_of(layer_kind::sliding, 65)),
      built_in("chunked f32", in(static_, f32), all_of(layer_kind::chunked, 70)),
      built_in("sinks f16", with_sinks(f16, {.sinks = 4, .window = 50})),
      built_in("sinks that fill a block", with_sinks(f32, {.sinks = 64, .window = 30})),
      built_in("a window without sinks", with_sinks(f32, {.sinks = 0, .window = 60})),
      built_in("int8", with(f16, int8(), 40)),
      built_in("int8 without residual", with(f32, int8(), 0)),
      built_in("int8_int4", with(bf16, int8_int4(), 64)),
      built_in("int4", with(f32, int4(), 33)),
      built_in("kivi2", with(f16, kivi2(), 128)),
      built_in("an own codec", with(f32, signs(), 10)),
      built_in("sliding int8", with(f32, int8(), 20), all_of(layer_kind::sliding, 100)),
      built_in("chunked int4", with(f32, int4(), 20), all_of(layer_kind::chunked, 130)),
      built_in("offloaded f32", behind(in(static_, f32))),
      built_in("offloaded dynamic bf16", behind(in(dynamic, bf16))),
      built_in("offloaded int8", behind(with(f16, int8(), 40))),
      built_in("recurrent", in(static_, f32), recurrent),
      built_in("hybrid", in(static_, f32), alternating),
      built_in("hybrid int8", with(f32, int8(), 30), alternating),
      built_in("latent f32", in(static_, f32), latent),
      built_in("dynamic latent bf16", in(dynamic, bf16), latent),
      built_in("sliding latent", in(static_, f16), sliding_latent),
      built_in("latent int8", with(f16, int8(), 40), latent),
      built_in("latent with an own codec", with(f32, signs(), 10), latent),
      built_in("offloaded latent", behind(in(static_, bf16)), latent),
      built_in("offloaded latent int8", behind(with(f32, int8(), 40)), latent),
      own("own f32", f32),
      own("own f16", f16),
      own("own bf16", bf16),
      own("own latent", bf16, latent),
  };
  return result;
}

std::vector<kind> kinds_that_keep_all() { return kinds_where(&kind::keeps_all); }

std::vector<kind> kinds_in_place() { return kinds_where(&kind::in_place); }

std::span<const kv_cache_spec> mixed_shapes() {
  static const kv_cache_spec shapes[] = {{.kv_heads = 2, .head_dim = 8},
                                         {.kv_heads = 1, .head_dim = 16},
                                         {.kv_heads = 3, .head_dim = 5},
                                         {.kv_heads = 1, .head_dim = 40}};
  return shapes;
}

}  // namespace cogen::cache::test
