// What kinds of cache cost in accuracy: nothing, rounding, or what their bits say.
#include "cached_model.hpp"
#include "plain_layer.hpp"
#include "some_models.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <vector>

namespace cogen::test {
namespace {

namespace data = boost::unit_test::data;

const std::string latent_attention = "minicpm3_scaled";
const std::vector<std::string> with_attention{"llama_default",  "mistral_window", "gemma3_text",
                                              latent_attention, "jamba_tiny",     "bart_tiny"};

logit_rows logits_of(const std::string& golden, const std::string& kind) {
  const cached_model params{.golden = golden, .kind = kind, .options = kind_named(kind)};
  return params.alone(random_tokens(*params.loaded(), params.length(), 1));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(kind_numbers)

BOOST_DATA_TEST_CASE(what_lies_far_away_is_the_same_bits, data::make(with_attention), golden) {
  const auto plain = logits_of(golden, "static");
  const auto eight_bits = logits_of(golden, "int8");
  BOOST_TEST((logits_of(golden, "dynamic") == plain));
  BOOST_TEST((logits_of(golden, "offloaded") == plain));
  BOOST_TEST((logits_of(golden, "offloaded_int8") == eight_bits));
}

BOOST_DATA_TEST_CASE(fewer_bits_are_further_off, data::make(with_attention), golden) {
  const auto plain = logits_of(golden, "static");
  const float eight = distance(logits_of(golden, "int8"), plain);
  const float mixed = distance(logits_of(golden, "int8_int4"), plain);
  const float two = distance(logits_of(golden, "kivi2"), plain);
  BOOST_TEST_MESSAGE(golden << ": " << eight << ", " << mixed << ", " << two);
  BOOST_TEST(eight < 0.5F);
  BOOST_TEST(two < 12.0F);
  BOOST_TEST((golden == latent_attention ? eight == mixed : eight < mixed));  // the one stores keys alone
  BOOST_TEST(mixed < two);
}

BOOST_AUTO_TEST_CASE(a_ring_forgets_what_the_window_hides) {
  const cached_model ring{.golden = "mistral_window", .kind = "static", .options = kind_named("static")};
  const auto& model = *ring.loaded();
  const auto tokens = random_tokens(model, ring.length(), 1);
  auto everything = make_plain_cache(model.kv_cache_specs(), 1, cache::scalar::f32);
  BOOST_TEST(everything.layer(0).rule()(20, 12));
  BOOST_TEST(!everything.layer(0).rule()(20, 11));
  workspace workspace(1);
  const auto masked = run(model, {tokens}, everything, workspace, pieces_of(13)).front();
  BOOST_TEST(distance(ring.alone(tokens), masked) < 1e-4F);
}

BOOST_AUTO_TEST_CASE(sinks_and_a_window_see_all_until_they_are_full) {
  for (const std::string golden : {"llama_default", "jamba_tiny"}) {
    const auto plain = logits_of(golden, "static");
    const auto check_until = [&](const std::string& kind, std::size_t full) {
      auto prefix = logits_of(golden, kind), expected = plain;
      const auto after = rest_of(prefix, static_cast<int>(full));
      prefix.resize(full);
      expected.resize(full);
      BOOST_TEST(distance(prefix, expected) < 1e-4F, golden << ' ' << kind);
      BOOST_TEST(distance({after.front()}, {plain[full]}) > 1e-4F, golden << ' ' << kind);
    };
    check_until("four_sinks", 16);
    check_until("no_sinks", 12);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
