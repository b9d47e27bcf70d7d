#pragma once

#include "account.hpp"
#include "toy_runner.hpp"

#include <boost/asio/bind_executor.hpp>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

namespace cogen::test {

/// A user of an engine in which anything may fail, with an account of what came of each request. Its own memory is
/// reserved before anything fails.
struct actor {
  actor() { diagnostics_list.reserve(8); }

  account books;
  std::vector<error_code> diagnostics_list;
  bool refused_at_once = false;
  const char* wrong = nullptr;  // what was reported and is wrong

  bool pending() const { return books.received < books.begun; }
  bool failed() const { return refused_at_once || !diagnostics_list.empty(); }

  template <class Begin>
  void begin(Begin operation) {
    if (pending()) return;
    if (!start(books, operation)) refused_at_once = true;
  }

  /// Without a handler.
  template <class Verb>
  void do_at_once(Verb operation) {
    account unused;
    if (!start(unused, operation)) refused_at_once = true;
  }

  void hear(error_code code) {
    ++books.received;
    if (code && diagnostics_list.size() < diagnostics_list.capacity()) diagnostics_list.push_back(code);
  }

  void require(bool holds, const char* message) {
    if (!holds) wrong = message;
  }
};

/// Reads one stream, piece by piece or whole.
struct stream_actor : actor {
  stream_actor(std::vector<token> asked, int most) : prompt(std::move(asked)), count(most) {}

  /// `refine` says more about the request.
  template <class Refine>
  void ask(engine& running, Refine refine) {
    do_at_once([&] {
      auto wanted = request{.prompt = token_ids(prompt), .max_tokens = count};
      refine(wanted);
      stream.emplace(running.generate(std::move(wanted)));
    });
  }
  void ask(engine& running) {
    ask(running, [](request&) {});
  }

  void read(net::io_context& context) {
    if (!stream || over) return;
    begin([&] {
      stream->async_next(net::bind_executor(context, [this](error_code code, std::optional<piece> next) {
        hear(code);
        books.read(next);
        over = code || !next;
      }));
    });
  }

  void read_all(net::io_context& context) {
    if (!stream) return;
    begin([&] {
      stream->async_complete(net::bind_executor(context, [this](error_code code, completion answer) {
        hear(code);
        books.read(answer.tokens);
        over = true;
      }));
    });
  }

  int cached() const { return stream ? stream->usage().cached_tokens : 0; }

  const std::vector<token> prompt;
  const int count;
  std::optional<token_stream> stream;
  bool over = false;
};

/// A file that sequences are saved to, and what it ought to hold.
struct kept_file {
  explicit kept_file(std::filesystem::path where) : path(std::move(where)) { tokens.reserve(64); }

  const std::filesystem::path path;
  std::vector<token> tokens;
  bool there = false;
};

/// Drives one sequence step by step.
struct hand : actor {
  hand() {
    held.reserve(64);
    fed.reserve(64);
  }

  void feed(net::io_context& context, std::initializer_list<token> tokens) {
    ask(tokens, [&] {
      handle->async_forward(fed, logits_of::all,
                            net::bind_executor(context, [this](error_code code, const logits& scores) {
                              hear(code);
                              if (code) return;
                              held.insert(held.end(), fed.begin(), fed.end());
                              require(scores.rows() == static_cast<int>(fed.size()), "logits are missing");
                              for (std::size_t i = 0; i < fed.size(); ++i) check(scores[static_cast<int>(i)], i);
                            }));
    });
  }

  void decode(net::io_context& context, std::initializer_list<token> tokens) {
    if (held.empty() && tokens.size() == 0) return;
    ask(tokens, [&] {
      handle->async_decode(fed, sampling_params{},
                           net::bind_executor(context, [this](error_code code, sampled_token choice) {
                             hear(code);
                             if (code) return;
                             held.insert(held.end(), fed.begin(), fed.end());
                             require(choice.id == toy_next(held), "it sampled what it would not have sampled alone");
                             held.push_back(choice.id);
                             ++sampled;
                           }));
    });
  }

  void suspend(net::io_context& context) {
    ask({}, [&] { handle->async_suspend(net::bind_executor(context, [this](error_code code) { hear(code); })); });
  }

  void save(net::io_context& context, kept_file& file) {
    ask({}, [&] {
      handle->async_save(file.path, net::bind_executor(context, [this, &file](error_code code) {
                           hear(code);
                           if (code) return;
                           file.tokens.assign(held.begin(), held.end());
                           file.there = true;
                         }));
    });
  }

  void open(engine& running) {
    do_at_once([&] { handle.emplace(running.open()); });
  }

  void open(net::io_context& context, engine& running, const kept_file& file) {
    if (!file.there) return;
    begin([&] {
      running.async_load_session(file.path, {},
                                 net::bind_executor(context, [this, &file](error_code code, sequence opened) {
                                   hear(code);
                                   if (code) return;
                                   held.assign(file.tokens.begin(), file.tokens.end());
                                   handle.emplace(std::move(opened));
                                 }));
    });
  }

  void fork(hand& child) {
    if (!handle || pending()) return;
    child.do_at_once([&] { child.handle.emplace(handle->fork()); });
    child.held.assign(held.begin(), held.end());
  }

  void cut(int length) {
    if (!handle || pending() || static_cast<int>(held.size()) < length) return;
    do_at_once([&] {
      handle->truncate(length);
      held.resize(static_cast<std::size_t>(length));
    });
  }

  bool holds_what_it_should() const { return !handle || handle->tokens() == held; }

  std::optional<sequence> handle;
  std::vector<token> held, fed;
  int sampled = 0;

 private:
  template <class Begin>
  void ask(std::initializer_list<token> tokens, Begin operation) {
    if (!handle || pending()) return;
    fed.assign(tokens);
    begin(operation);
  }

  /// Against those after the i-th token fed.
  void check(std::span<const float> scores, std::size_t i) {
    const auto next = std::ranges::max_element(scores) - scores.begin();
    require(next == toy_next(std::span(held).first(held.size() - fed.size() + i + 1)), "its logits are not its own");
  }
};

}  // namespace cogen::test
