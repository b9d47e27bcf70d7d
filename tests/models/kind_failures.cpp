// A forward that fails, also in a later one of its parts, leaves the cache as it was.
#include "cached_model.hpp"
#include "plain_layer.hpp"
#include "some_models.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <climits>
#include <memory>
#include <stdexcept>
#include <vector>

namespace cogen::test {
namespace {

namespace data = boost::unit_test::data;

enum class place { reserve, append, advance, snapshot };

/// Where a layer fails, and from how many tokens of a slot on.
struct fault {
  place where = place::reserve;
  int beyond = 1 << 20;

  void meet(place here, const cache::step& step, const cache::slot_table& slots) const {
    for (const auto& row : step.rows())
      if (here == where && slots.length(row.slot) + row.count > beyond) throw std::runtime_error("the layer is full");
  }
};

class failing_layer final : public cache::layer {
 public:
  failing_layer(const cache::kv_cache_spec& shape, const cache::slot_table& slots, std::shared_ptr<const fault> fault)
      : layer(shape, cache::scalar::f32, slots), kept_(shape, cache::scalar::f32, slots), fault_(std::move(fault)) {}

  void reserve(const cache::step& step) override { fault_->meet(place::reserve, step, slots()); }
  void append(const cache::step& step, const cache::head_rows& k, const cache::head_rows& v) override {
    fault_->meet(place::append, step, slots());
    kept_.append(step, k, v);
    appended_ = step;
  }
  void take_checkpoint(int slot) override {
    if (fault_->where == place::snapshot && slot == 1) throw std::runtime_error("there is no room for a snapshot");
  }
  void settle() override { fault_->meet(place::advance, appended_, slots()); }
  cache::keys_values to_dense(int slot, int length) const override { return kept_.to_dense(slot, length); }
  void truncate(int slot, int length) override { kept_.truncate(slot, length); }
  void clear(int slot) override { kept_.clear(slot); }

 private:
  plain_layer kept_;
  std::shared_ptr<const fault> fault_;
  cache::step appended_;
};

/// The cache's last layer of attention over its own tokens is one that may fail.
cache::layer_factory failing_at_last(const model& model, const std::shared_ptr<const fault>& fault) {
  const auto& shapes = model.kv_cache_specs();
  const auto own = [](const cache::kv_cache_spec& shape) {
    return shape.kind == cache::layer_kind::full || shape.kind == cache::layer_kind::sliding;
  };
  const auto last = static_cast<int>(shapes.rend() - std::ranges::find_if(shapes.rbegin(), shapes.rend(), own)) - 1;
  return [=](int index, const cache::kv_cache_spec& shape, const cache::slot_table& slots) {
    return index == last ? std::make_unique<failing_layer>(shape, slots, fault) : nullptr;
  };
}

/// Two sequences, the second one shorter, run until `first` tokens of each, and from there in one forward.
struct two_sequences {
  explicit two_sequences(const cached_model& params)
      : tokens{random_tokens(*params.loaded(), params.length(), 1),
               random_tokens(*params.loaded(), params.length() - 20, 2)} {}

  std::vector<std::vector<token>> part(int begin, int end) const {
    std::vector<std::vector<token>> parts;
    for (const auto& sequence : tokens)
      parts.push_back(rest_of(first_of(sequence, std::min(end, static_cast<int>(sequence.size()))), begin));
    return parts;
  }

  std::vector<std::vector<token>> tokens;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(kind_failures)

BOOST_DATA_TEST_CASE(the_cache_is_left_as_it_was, data::make(cached_models()), each) {
  const auto& model = *each.loaded();
  if (each.golden == "mamba_tiny") return;  // no layer of attention to fail
  const two_sequences two(each);
  for (const auto where : {place::reserve, place::append, place::advance}) {
    const auto planned = std::make_shared<fault>();
    auto cache = each.make_cache(2, failing_at_last(model, planned));
    auto twin = each.make_cache(2, failing_at_last(model, std::make_shared<fault>()));
    workspace workspace(2);
    run(model, two.part(0, 41), cache, workspace, whole());
    run(model, two.part(0, 41), twin, workspace, whole());
    const auto bytes = cache.committed_bytes();
    *planned = {.where = where, .beyond = each.length() - 10};
    BOOST_CHECK_THROW(run(model, two.part(41, 200), cache, workspace, whole()), std::runtime_error);
    BOOST_TEST(cache.length(0) == 41);
    BOOST_TEST(cache.length(1) == 41);
    *planned = {};
    if (!each.options.kv_offload) BOOST_TEST(cache.committed_bytes() == bytes);
    const auto after = run(model, two.part(41, 200), cache, workspace, whole());
    BOOST_TEST((after == run(model, two.part(41, 200), twin, workspace, whole())), static_cast<int>(where));
  }
}

BOOST_DATA_TEST_CASE(what_could_be_cut_before_still_can, data::make(cached_models()), each) {
  const auto& model = *each.loaded();
  if (each.golden == "mamba_tiny") return;
  const two_sequences two(each);
  const auto planned = std::make_shared<fault>();
  auto cache = each.make_cache(2, failing_at_last(model, planned));
  workspace workspace(2);
  run(model, two.part(0, 41), cache, workspace, whole());
  cache.take_checkpoint(1);
  run(model, two.part(41, 50), cache, workspace, whole());
  planned->beyond = each.length() - 10;
  BOOST_CHECK_THROW(run(model, two.part(50, 200), cache, workspace, whole()), std::runtime_error);
  if (cache.max_rollback_tokens() > 0) BOOST_TEST(cache.can_truncate(0, 50 - small_rollback));
  cache.truncate(1, 41);
  *planned = {};
  const auto after = run(model, {{}, two.part(41, 200)[1]}, cache, workspace, whole())[1];
  auto twin = each.make_cache(2, failing_at_last(model, planned));
  BOOST_TEST((after == rest_of(run(model, two.tokens, twin, workspace, whole())[1], 41)));
}

BOOST_DATA_TEST_CASE(a_snapshot_that_cannot_be_taken_leaves_no_other_one, data::make(cached_models()), each) {
  const auto& model = *each.loaded();
  if (each.golden == "mamba_tiny") return;
  const two_sequences two(each);
  const auto planned = std::make_shared<fault>();
  auto cache = each.make_cache(2, failing_at_last(model, planned));
  workspace workspace(2);
  run(model, two.part(0, 41), cache, workspace, whole());
  if (cache.max_step_tokens() == INT_MAX) return;  // one step holds it all
  const auto bytes = cache.committed_bytes();
  planned->where = place::snapshot;
  BOOST_CHECK_THROW(run(model, two.part(41, 200), cache, workspace, whole()), std::runtime_error);
  BOOST_TEST(cache.committed_bytes() == bytes);
  BOOST_TEST(cache.take_checkpoint(0));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
