// A function that the model may call: its description, a call and the result go through the model's chat template.
#include "model_path.hpp"

#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
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
    "parameters": {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]}
  }
}])")
                                     .as_array();

asio::awaitable<void> answer(cogen::engine& engine) {
  std::vector<cogen::chat_message> messages;
  messages.push_back({"user", "How many degrees is it in Oslo?"});
  messages.push_back({"assistant", "", {{"tool_calls", boost::json::parse(R"([{
    "id": "call00001", "type": "function", "function": {"name": "temperature", "arguments": {"town": "Oslo"}}}])")}}});
  messages.push_back({"tool", "It is 21 degrees in Oslo.", {{"name", "temperature"}, {"tool_call_id", "call00001"}}});
  auto stream = engine.generate({.prompt = std::move(messages),
                                 .tools = tools,
                                 .chat_template_kwargs = {{"enable_thinking", false}},
                                 .max_tokens = 40});
  while (auto piece = co_await stream.async_next()) fmt::print("{}", piece->text);
  fmt::print("\n");
}
//]

int main(int argc, char** argv) {
  cogen::engine engine(cogen::load_model(example::model_path(argc, argv)));
  asio::io_context context;
  asio::co_spawn(context, answer(engine), asio::detached);
  context.run();
}
