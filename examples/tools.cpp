// A function that the model calls: the call is read from what it writes, and the result goes back.
#include "model_path.hpp"
#include "rethrow.hpp"

#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json/parse.hpp>
#include <fmt/core.h>

namespace asio = boost::asio;

//[tools
const boost::json::array tools = boost::json::parse(R"([{
  "type": "function",
  "function": {
    "name": "temperature",
    "description": "The temperature in a town now, in degrees Celsius.",
    "parameters": {"type": "object", "properties": {"town": {"enum": ["Bergen", "Oslo"]}}, "required": ["town"]}
  }
}])")
                                     .as_array();

std::string temperature(const boost::json::object& arguments) {
  return "It is 21 degrees in " + std::string(arguments.at("town").as_string()) + ".";
}

asio::awaitable<void> answer(cogen::engine& engine) {
  auto messages = cogen::chat("How many degrees is it in Oslo?");
  auto asking = engine.generate(
      {.prompt = messages, .tools = tools, .tool_choice = cogen::tool_choice::call("temperature"), .max_tokens = 100});
  const auto asked = co_await asking.async_complete();
  const auto& call = asked.tool_calls.at(0);
  fmt::print("{}({})\n", call.name, call.arguments);
  const auto result = temperature(boost::json::parse(call.arguments).as_object());
  messages.push_back(cogen::assistant(asked));
  messages.push_back(cogen::tool_result(call, result));
  auto stream = engine.generate({.prompt = std::move(messages),
                                 .tools = tools,
                                 .tool_choice = {cogen::tool_choice::kind::none},
                                 .max_tokens = 40});
  while (auto piece = co_await stream.async_next()) fmt::print("{}", piece->text);
  fmt::print("\n");
}
//]

int main(int argc, char** argv) try {
  cogen::engine engine(cogen::load_model(example::model_path(argc, argv)));
  asio::io_context context;
  asio::co_spawn(context, answer(engine), example::rethrow);
  context.run();
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
