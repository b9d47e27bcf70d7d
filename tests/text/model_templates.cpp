// The chat templates of real models, compared with what Transformers makes of them, by hash.
#include "../test_data.hpp"
#include "chats.hpp"
#include "hashed_texts.hpp"

#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace {

using namespace cogen::text;

const std::filesystem::path templates = cogen::test::fetched_data() / "chat-templates";

boost::test_tools::assertion_result are_fetched(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result result(std::filesystem::exists(templates));
  if (!result) result.message() << templates << " is not there: scripts/vocabularies fetches it";
  return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(model_templates, *boost::unit_test::precondition(are_fetched))
namespace {

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  BOOST_REQUIRE_MESSAGE(file.good(), path << " cannot be read");
  return std::move(std::ostringstream() << file.rdbuf()).str();
}

/// Also what make_model_templates.py puts in place of a text that was refused.
std::string rendered_or_refused(const chat_template& model, const boost::json::array& chat,
                                const boost::json::object& setting) {
  try {
    return model.render(messages_of(chat), options_of(setting));
  } catch (const template_error&) {
    return "refused";
  }
}

std::string hash_of_all_settings(const chat_template& model, const boost::json::array& chat) {
  text_hash hash;
  for (const auto& [name, setting] : reference_chats().at("settings").as_object()) {
    hash.add(rendered_or_refused(model, chat, setting.as_object()));
  }
  return hash.hexadecimal();
}

}  // namespace

BOOST_AUTO_TEST_CASE(render_as_in_transformers_or_are_refused_as_there) {
  const auto expected =
      boost::json::parse(content_of(cogen::test::test_data() / "text/model_templates.json")).as_object();
  for (const auto& [name, hashes] : expected) {
    const chat_template model(content_of(templates / (std::string(name) + ".jinja")));
    for (const auto& [chat, messages] : reference_chats().at("chats").as_object()) {
      BOOST_TEST(hash_of_all_settings(model, messages.as_array()) == std::string_view(hashes.at(chat).as_string()),
                 name << " differs for the chat '" << chat << "'");
    }
  }
  BOOST_TEST(expected.size() == 70u);
}

BOOST_AUTO_TEST_SUITE_END()
