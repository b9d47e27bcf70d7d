#include "chats.hpp"

#include "../test_data.hpp"

#include <boost/json/parse.hpp>

#include <chrono>
#include <fstream>
#include <sstream>

using namespace cogen::text;
using namespace std::chrono_literals;

namespace {

constexpr auto reference_time = std::chrono::sys_days(std::chrono::year(2024) / 2 / 9) + 13h + 5min + 7s;

chat_message message_of(boost::json::object fields) {
  chat_message message;
  message.role = fields.at("role").as_string();
  if (auto* text = fields.at("content").if_string()) {
    message.content = *text;
    fields.erase("content");
  }
  fields.erase("role");
  message.extra = std::move(fields);
  return message;
}

}  // namespace

const boost::json::object& reference_chats() {
  static const auto content = [] {
    std::ifstream file(test::test_data() / "text/chats.json");
    return boost::json::parse((std::ostringstream() << file.rdbuf()).str()).as_object();
  }();
  return content;
}

std::vector<chat_message> messages_of(const boost::json::array& chat) {
  std::vector<chat_message> messages;
  for (const auto& message : chat) messages.push_back(message_of(message.as_object()));
  return messages;
}

template_options options_of(boost::json::object setting) {
  template_options options{.bos = "<s>", .eos = "</s>", .extra = {}, .now = reference_time};
  if (auto* flag = setting.if_contains("add_generation_prompt")) options.add_generation_prompt = flag->as_bool();
  setting.erase("add_generation_prompt");
  options.extra = std::move(setting);
  return options;
}
