#include "simulation/engine/racer.hpp"

#include "simulation/engine/decoder.hpp"
#include "simulation/engine/readings.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/system/system_error.hpp>

#include <array>

namespace cogen::engine_simulation {
namespace {

using namespace net::experimental::awaitable_operators;

/// A race cannot be interfered with.
class racer : public client {
 public:
  using client::client;

  void interfere(random&) override {}
  void meet(misfortune) override {}
  void check() const override {}
  std::string status() const override { return "races"; }

 protected:
  /// Throws what ends a branch that has lost; other failures must have their reasons.
  void lose(error_code code, bool excused) const {
    if (code == net::error::operation_aborted) throw boost::system::system_error(code);
    require(stage_.is_death(code) || code == error::queue_full || excused ||
                (code == error::out_of_memory && stage_.hardware().refused_memory()),
            "a branch failed with " + code.message());
  }
};

class race_of_streams final : public racer {
 public:
  race_of_streams(world& stage, std::string name, net::any_io_executor where, random& chance)
      : racer(stage, std::move(name), std::move(where)) {
    for (auto& each : runners_) {
      each.planned.emplace(draw_reading(stage, chance));
      each.stream.emplace(stage.running()->generate(each.planned->asked));
    }
  }

 protected:
  net::awaitable<void> live() override {
    co_await turn();
    auto& [a, b, c] = runners_;
    const auto first = co_await (run(a) || run(b) || run(c));
    const auto& winner = runners_[first.index()];
    stage_.say("{}: stream {} wins", name(), first.index());
    if (winner.finished) require(winner.read == winner.planned->expected.tokens, "the winner ended before its time");
    stage_.seen().visit(feature::won_by_stream);
  }

 private:
  struct runner {
    std::optional<reading> planned;
    std::optional<token_stream> stream;
    std::vector<token> read;
    bool finished = false;
  };

  net::awaitable<void> run(runner& seq) {
    for (;;) {
      const auto heard = co_await seq.stream->async_next(net::as_tuple(net::use_awaitable));
      const auto& code = std::get<0>(heard);
      const auto& next = std::get<1>(heard);
      const auto& expected = seq.planned->expected;
      if (code) co_return lose(code, code == expected.code && seq.read == expected.tokens);
      if (!next) break;
      seq.read.push_back(next->tokens.front().id);
      require(seq.read.size() <= expected.tokens.size() && seq.read.back() == expected.tokens[seq.read.size() - 1],
              "it read what it would not have read alone");
    }
    seq.finished = true;
  }

  std::array<runner, 3> runners_;
};

class race_of_forks final : public racer {
 public:
  race_of_forks(world& stage, std::string name, net::any_io_executor where, random& chance)
      : racer(stage, std::move(name), std::move(where)),
        affiliation_(draw_affiliation(chance)),
        fed_(draw_beginning(stage, chance)) {
    const auto more = sampling_words(stage, chance, chance.between(0, 3));
    fed_.insert(fed_.end(), more.begin(), more.end());
    if (stage.renames(affiliation_.tenant, affiliation_.cache_salt)) stage.rename(fed_);
    held_.encoder_input = stage.setup().encoder_inputs ? sampling_words(stage, chance, 1) : std::vector<token>();
    root_.emplace(stage.running()->open(held_.encoder_input,
                                        {.tenant = affiliation_.tenant, .cache_salt = affiliation_.cache_salt}));
    params_ = draw_sampling(chance);
  }

 protected:
  net::awaitable<void> live() override {
    auto chance = co_await turn();
    const auto received = co_await root_->async_forward(fed_, logits_of::last, net::as_tuple(net::use_awaitable));
    if (std::get<0>(received)) co_return lose(std::get<0>(received), does_not_fit(std::get<0>(received), fed_.size()));
    held_.give(fed_);
    branch a{root_->fork(), held_.fork(), chance.between(1, 4)};
    branch b{root_->fork(), held_.fork(), chance.between(1, 4)};
    branch c{std::move(*root_), held_, chance.between(1, 4)};
    const auto first = co_await (run(a) || run(b) || run(c));
    stage_.say("{}: branch {} wins", name(), first.index());
    stage_.seen().visit(feature::won_by_fork);
    for (auto* taken : {&a, &b, &c}) co_await go_on(*taken);
  }

 private:
  struct branch {
    branch(sequence s, held_sequence h, int n) : handle(std::move(s)), held(std::move(h)), left(n) {}
    sequence handle;
    held_sequence held;
    int left;
  };

  bool does_not_fit(error_code code, std::size_t length) const {
    return code == error::does_not_fit && static_cast<int>(length) > stage_.setup().within.max_sequence_length;
  }

  net::awaitable<void> run(branch& seq) {
    for (; seq.left > 0; --seq.left) {
      const auto expected = seq.held.sampled(stage_.spoken(), {}, params_);
      const auto heard = co_await seq.handle.async_decode({}, params_, net::as_tuple(net::use_awaitable));
      const auto& code = std::get<0>(heard);
      if (code) co_return lose(code, !expected || does_not_fit(code, seq.held.tokens.size() + 1));
      take(seq, std::get<1>(heard).id, expected);
    }
  }

  void take(branch& seq, token sampled, std::optional<token> expected) const {
    require(expected && sampled == *expected,
            fmt::format("a branch sampled {}; alone it would have sampled {}", sampled, expected.value_or(-1)));
    seq.held.tokens.push_back(sampled);
    seq.held.history.append_generated(sampled);
  }

  net::awaitable<void> go_on(branch& seq) {
    require(seq.handle.tokens() == seq.held.tokens, "a branch holds other tokens than it should");
    seq.left = 1;
    co_await run(seq);
  }

  const affiliation affiliation_;
  std::vector<token> fed_;
  held_sequence held_;
  std::optional<sequence> root_;
  sampling_params params_;
};

/// Reads and decodes against turns: a turn that comes first leaves what was generated to the next wait, also where that
/// was ready.
class race_with_turns final : public racer {
 public:
  race_with_turns(world& stage, std::string name, net::any_io_executor where, random& chance)
      : racer(stage, std::move(name), std::move(where)),
        reading_(draw_reading(stage, chance)),
        stream_(stage.running()->generate(reading_.asked)),
        gathers_(chance.chance(20)) {}

 protected:
  net::awaitable<void> live() override {
    while (!over_) co_await (gathers_ ? gather() : next());
  }

 private:
  net::awaitable<void> next() {
    const auto first = co_await (stream_.async_next(net::as_tuple(net::use_awaitable)) || turn());
    if (first.index() == 1) co_return lose_to_turn();
    const auto& [code, heard] = std::get<0>(first);
    if (!is_over(code, !heard)) take(heard->tokens);
  }

  /// Where it fails, what came before can still be read.
  net::awaitable<void> gather() {
    const auto first = co_await (stream_.async_complete(net::as_tuple(net::use_awaitable)) || turn());
    if (first.index() == 1) co_return lose_to_turn();
    const auto& [code, heard] = std::get<0>(first);
    gathers_ = false;
    if (code) co_return;
    take(heard.tokens);
    is_over(code, true);
  }

  void lose_to_turn() const {
    if (stream_.usage().generated_tokens > static_cast<int>(read_.size()))
      stage_.seen().visit(feature::lost_when_ready);
  }

  void take(std::span<const sampled_token> tokens) {
    for (const auto& each : tokens) {
      const auto& expected = reading_.expected.tokens;
      require(read_.size() < expected.size() && each.id == expected[read_.size()],
              fmt::format("token {} is not what it would be alone", read_.size()));
      read_.push_back(each.id);
    }
  }

  bool is_over(error_code code, bool ended) {
    over_ = ended || code;
    const bool whole = read_ == reading_.expected.tokens;
    if (code)
      lose(code, code == reading_.expected.code && whole);
    else
      require(!ended || whole, "it ended before its time");
    return over_;
  }

  const reading reading_;
  token_stream stream_;
  bool gathers_;
  std::vector<token> read_;
  bool over_ = false;
};

}  // namespace

std::shared_ptr<client> stream_racer(world& stage, std::string name, net::any_io_executor where, random& chance) {
  return std::make_shared<race_of_streams>(stage, std::move(name), std::move(where), chance);
}

std::shared_ptr<client> fork_racer(world& stage, std::string name, net::any_io_executor where, random& chance) {
  return std::make_shared<race_of_forks>(stage, std::move(name), std::move(where), chance);
}

std::shared_ptr<client> turn_racer(world& stage, std::string name, net::any_io_executor where, random& chance) {
  return std::make_shared<race_with_turns>(stage, std::move(name), std::move(where), chance);
}

}  // namespace cogen::engine_simulation
