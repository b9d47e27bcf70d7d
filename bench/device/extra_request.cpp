#include "extra_request.hpp"

#include "throughput/job.hpp"

#include <cogen/guide.hpp>
#include <cogen/sequence.hpp>
#include <cogen/token_stream.hpp>

#include <algorithm>
#include <memory>

namespace cogen::bench {

namespace {

namespace net = boost::asio;

/// Has a mask for every token, and excludes one.
class all_but_one final : public guide {
 public:
  bool allow(std::span<std::uint64_t> tokens) override {
    std::ranges::fill(tokens, ~std::uint64_t{0});
    tokens[0] -= 2;
    return true;
  }
  void accept(token) override {}
  void roll_back(int) override {}
  std::unique_ptr<guide> clone() const override { return std::make_unique<all_but_one>(); }
  bool is_complete() const override { return false; }
};

request request_of(std::string_view kind, int length, std::int64_t vocabulary) {
  const int read = kind == "prompt-logprobs" ? length - 1 : std::min(8, length - 1);
  request wanted{.prompt = throughput::prompt(2000, read, vocabulary),
                 .max_tokens = length - read,
                 .ignore_eos = true,
                 .max_buffered_tokens = length};
  if (kind == "logprobs") wanted.sampling.logprobs = 5;
  if (kind == "prompt-logprobs") wanted.prompt_logprobs = 5;
  if (kind == "mask") wanted.response_format = std::make_shared<const all_but_one>();
  if (kind == "processor") wanted.sampling.processor = [](auto, auto scores) { scores[1] = 0; };
  return wanted;
}

net::awaitable<void> read_logits(engine& running, int length) {
  auto sequence = running.open();
  for (int i = 0; i < length; ++i) co_await sequence.async_forward({5});
}

}  // namespace

net::awaitable<void> run_extra(engine& running, std::string_view kind, int length, std::int64_t vocabulary,
                               const int& streams) {
  while (streams > 0) {
    if (kind == "logits") {
      co_await read_logits(running, length);
    } else {
      auto stream = running.generate(request_of(kind, length, vocabulary));
      co_await stream.async_complete();
    }
  }
}

}  // namespace cogen::bench
