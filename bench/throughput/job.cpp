#include "job.hpp"

#include <cogen/token_stream.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

namespace throughput {
namespace {

namespace net = boost::asio;
using clock = std::chrono::steady_clock;

cogen::chat_messages question(std::int64_t number) {
  return {
      {.role = "user", .content = fmt::format("Tell me a long story about {} friends and a lost key.", number + 2)}};
}

cogen::request request_of(std::int64_t number, std::int64_t vocabulary, const job& work) {
  cogen::request request{
      .max_tokens = work.new_tokens,
      .sampling = work.sampling,
      .ignore_eos = true,
      .max_buffered_tokens = work.max_buffered_tokens < 0 ? work.new_tokens : work.max_buffered_tokens,
      .prefix_caching = work.prefix_caching};
  if (work.chats)
    request.prompt = question(number);
  else
    request.prompt = prompt(number, work.prompt_tokens, vocabulary);
  return request;
}

net::awaitable<void> read(cogen::engine& engine, cogen::request request, clock::time_point begin, seconds arrival,
                          observation& times) {
  if (arrival.count() > 0) {
    net::steady_timer timer(co_await net::this_coro::executor, begin + duration_cast<clock::duration>(arrival));
    co_await timer.async_wait(net::use_awaitable);
  }
  auto stream = engine.generate(std::move(request));
  while (auto piece = co_await stream.async_next())
    times.insert(times.end(), piece->tokens.size(), seconds(clock::now() - begin));
}

}  // namespace

std::vector<cogen::token> prompt(std::int64_t number, int length, std::int64_t vocabulary) {
  std::vector<cogen::token> ids;
  for (std::int64_t j = 0; j < length; ++j)
    ids.push_back(static_cast<cogen::token>((number * 1009 + j * 131 + 17) % (vocabulary - 64) + 32));
  return ids;
}

job together(int requests, int prompt_tokens, int new_tokens, int max_buffered_tokens) {
  return {0,
          requests,
          prompt_tokens,
          new_tokens,
          max_buffered_tokens,
          false,
          std::vector<seconds>(static_cast<std::size_t>(requests))};
}

std::vector<observation> run(cogen::engine& engine, std::int64_t vocabulary, const job& work) {
  net::io_context context;
  std::vector<observation> seen(work.arrivals.size());
  const auto begin = clock::now();
  for (std::size_t i = 0; i < seen.size(); ++i) {
    auto request = request_of(work.first + static_cast<std::int64_t>(i), vocabulary, work);
    net::co_spawn(context, read(engine, std::move(request), begin, work.arrivals[i], seen[i]),
                  [](std::exception_ptr error) {
                    if (error) std::rethrow_exception(error);
                  });
  }
  context.run();
  return seen;
}

}  // namespace throughput
