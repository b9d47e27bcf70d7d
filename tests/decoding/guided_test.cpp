// What Transformers' generate continues with classifier-free guidance on golden models.
#include "engine/model_engines.hpp"
#include "golden/golden.hpp"
#include "test_data.hpp"

#include <cogen/decoding/guidance.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/json/parse.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <fstream>
#include <iterator>

namespace cogen::test {
namespace {

BOOST_AUTO_TEST_SUITE(guided)

std::vector<token> ids_in(const boost::json::value& list) {
  std::vector<token> ids;
  for (const auto& each : list.as_array()) ids.push_back(each.to_number<token>());
  return ids;
}

void check(const boost::json::object& recorded, const std::string& device) {
  const std::string name(recorded.at("golden").as_string());
  const auto model = golden_model(name, device);
  engine running(model, tiny_engine(*model));
  const auto ids = ids_in(recorded.at("ids"));
  auto stream = running.generate({.prompt = token_ids(golden::read_folder(golden_folder(name)).prompts.front().ids),
                                  .max_tokens = static_cast<int>(ids.size()),
                                  .ignore_eos = true},
                                 cogen::guidance({.guidance_scale = recorded.at("guidance_scale").to_number<double>(),
                                                  .negative_prompt_ids = ids_in(recorded.at("negative_prompt_ids"))}));
  std::vector<token> found;
  net::io_context context;
  stream.async_complete(net::bind_executor(context, [&](error_code code, const completion& whole) {
    BOOST_TEST(!code, stream.error().message());
    for (const auto& each : whole.tokens) found.push_back(each.id);
  }));
  settle(running, context);
  BOOST_TEST(found == ids, boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE(each_golden_is_continued_as_by_transformers, boost::unit_test::data::make(devices), device) {
  std::ifstream file(test_data() / "decoding/guided.json");
  const auto document = boost::json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
  BOOST_TEST(document.as_array().size() == 24u);
  for (const auto& each : document.as_array()) check(each.as_object(), device);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
