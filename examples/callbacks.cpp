// Without coroutines: a future for one answer, a callback for each piece of another.
#include "model_path.hpp"

#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>

#include <boost/asio/use_future.hpp>
#include <fmt/core.h>

#include <future>

namespace asio = boost::asio;

//[callbacks
class printer {
 public:
  explicit printer(cogen::token_stream stream) : stream_(std::move(stream)) {}

  std::future<void> start() {
    read();
    return ended_.get_future();
  }

 private:
  void read() {
    stream_.async_next([this](cogen::error_code code, std::optional<cogen::piece> piece) {
      if (code || !piece) return ended_.set_value();
      fmt::print("{}", piece->text);
      read();
    });
  }

  cogen::token_stream stream_;
  std::promise<void> ended_;
};

void both(cogen::engine& engine) {
  auto asked = engine.generate({.prompt = cogen::chat("Name three colors."), .max_tokens = 30});
  std::future<cogen::completion> answer = asked.async_complete(asio::use_future);

  printer shown(engine.generate({.prompt = "Once upon a time", .max_tokens = 30}));
  shown.start().get();
  fmt::print("\n---\n{}\n", answer.get().text);
}
//]

int main(int argc, char** argv) try {
  cogen::engine engine(cogen::load_model(example::model_path(argc, argv)));
  both(engine);
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
