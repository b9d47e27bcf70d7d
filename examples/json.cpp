// A JSON answer that is valid by a schema, and one of some words.
#include "model_path.hpp"
#include "rethrow.hpp"

#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json/parse.hpp>
#include <fmt/core.h>

namespace asio = boost::asio;

//[json
const char* const person = R"({
  "type": "object",
  "properties": {
    "name": {"type": "string", "maxLength": 30},
    "age": {"type": "integer", "minimum": 0, "maximum": 120},
    "colors": {"type": "array", "items": {"enum": ["red", "green", "blue"]}, "minItems": 1, "maxItems": 2}
  },
  "required": ["name", "age", "colors"],
  "additionalProperties": false
})";

asio::awaitable<void> describe(cogen::engine& engine, std::string text) {
  const auto format = co_await engine.async_compile(cogen::json_schema(person));
  auto stream = engine.generate({.prompt = cogen::chat("Describe the person in JSON. " + std::move(text)),
                                 .max_tokens = 100,
                                 .response_format = format});
  const auto answer = co_await stream.async_complete();
  const auto read = boost::json::parse(answer.text);
  fmt::print("{} is {}\n", read.at("name").as_string().c_str(), read.at("age").as_int64());
}
//]

asio::awaitable<void> run(cogen::engine& engine) {
  co_await describe(engine, "Anna is 34 years old and likes green and blue.");
  auto stream = engine.generate(
      {.prompt = cogen::chat("Is the sky blue?"), .response_format = cogen::choice({"certainly", "certainly not"})});
  fmt::print("The sky is {} blue\n", (co_await stream.async_complete()).text);
}

int main(int argc, char** argv) try {
  cogen::engine engine(cogen::load_model(example::model_path(argc, argv)));
  asio::io_context context;
  asio::co_spawn(context, run(engine), example::rethrow);
  context.run();
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
