// Sequences that are cut after what they had cached has left its slot, or came from another one, over every kind of
// cache; and a stream beside them, which none of that concerns.
#include "../repetitions.hpp"
#include "kept_engines.hpp"
#include "session_files.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <optional>
#include <utility>

namespace cogen::test {
namespace {

namespace data = boost::unit_test::data;

/// How what is cached has left the slot that it was run in.
enum class left { preempted, preempted_twice, saved, saved_preempted };

std::ostream& operator<<(std::ostream& out, left state) {
  constexpr const char* names[] = {"preempted", "preempted twice", "saved and opened", "preempted, saved and opened"};
  return out << names[static_cast<int>(state)];
}

/// Steps so long that rings hold every token that fits.
engine_options with_long_steps(const kept_engine& kept) {
  auto options = kept.options();
  options.limits.max_sequence_length = std::min(*options.limits.max_sequence_length, 200);
  options.batching.max_batched_tokens = 256;
  return options;
}

net::awaitable<sequence> leave(engine& running, sequence seq, left state) {
  const session_path file;
  if (state != left::saved) co_await seq.async_suspend();
  if (state == left::preempted) co_return seq;
  if (state == left::preempted_twice) {
    const auto received = seq.tokens();
    seq.truncate(static_cast<int>(received.size()) - 1);
    co_await seq.async_forward({received.back()});
    co_await seq.async_suspend();
    co_return seq;
  }
  co_await seq.async_save(file.path);
  co_return co_await running.async_load_session(file.path);
}

/// A stream that goes on while others are cut.
class bystander {
 public:
  bystander(engine& running, const model& model, const engine_options& options)
      : running_(running),
        expected_(loop_by_hand(model, options, some_tokens(model, 10, 9), count)),
        stream_(running.generate(asked(model))) {
    stream_.async_complete(net::bind_executor(context_, [this](error_code code, const completion& whole) {
      ended_ = code;
      for (const auto& choice : whole.tokens) ids_.push_back(choice.id);
    }));
  }

  void check() {
    settle(running_, context_);
    BOOST_REQUIRE(ended_);
    BOOST_TEST(!*ended_, ended_->message());
    BOOST_TEST(ids_ == expected_, boost::test_tools::per_element());
    BOOST_TEST(!running_.error());
  }

 private:
  static constexpr int count = 30;

  static request asked(const model& model) {
    auto wanted = request{.prompt = token_ids(some_tokens(model, 10, 9)), .max_tokens = count, .ignore_eos = true};
    if (model.has_encoder()) wanted.encoder_input = source_for(model);
    return wanted;
  }

  engine& running_;
  net::io_context context_;
  std::vector<token> expected_, ids_;
  std::optional<error_code> ended_;
  token_stream stream_;
};

/// It goes on as its first `length` tokens do alone.
net::awaitable<void> check_cut(sequence& seq, const model& model, const engine_options& options, int length) {
  auto tokens = seq.tokens();
  seq.truncate(length);
  tokens.resize(static_cast<std::size_t>(length));
  const auto found = co_await seq.async_forward({7, 8});
  BOOST_TEST((as_vector(found.last()) == logits_after(model, options, joined(tokens, {7, 8}))), "cut to " << length);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuts)

BOOST_DATA_TEST_CASE(what_has_left_its_slot_goes_back_any_way,
                     data::make(thin(kept_engines(), 2)) *
                         data::make({left::preempted, left::preempted_twice, left::saved, left::saved_preempted}) *
                         data::make({true, false}),
                     each, how, long_steps) {
  const auto model = golden_model(each.golden);
  const auto options = long_steps ? with_long_steps(each) : each.options();
  engine running(model, options);
  const int count = std::min(105, *options.limits.max_sequence_length - 2);
  bystander beside(running, *model, options);
  drive(running, [&]() -> net::awaitable<void> {
    for (const int length : {count - 1, 60, 16, 1}) {
      auto seq = open(running, *model);
      co_await seq.async_forward(some_tokens(*model, count, 1));
      seq = co_await leave(running, std::move(seq), how);
      co_await check_cut(seq, *model, options, length);
    }
  });
  beside.check();
}

BOOST_DATA_TEST_CASE(a_fork_of_what_came_back_goes_back_any_way, data::make(kept_engines()), each) {
  const auto model = golden_model(each.golden);
  const auto options = with_long_steps(each);
  engine running(model, options);
  const int count = std::min(105, *options.limits.max_sequence_length - 4);
  bystander beside(running, *model, options);
  drive(running, [&]() -> net::awaitable<void> {
    auto seq = open(running, *model);
    co_await seq.async_forward(some_tokens(*model, count, 1));
    co_await seq.async_suspend();
    co_await seq.async_forward({5});
    auto child = seq.fork();
    co_await check_cut(child, *model, options, 16);
    seq.truncate(30);
    auto late = seq.fork();
    co_await check_cut(late, *model, options, 30);
    co_await check_cut(seq, *model, options, 16);
  });
  beside.check();
}

// What its forks read of it stays in its slot, and no more than that.
BOOST_DATA_TEST_CASE(a_fork_of_a_fork_begins_with_what_the_first_one_left, data::make(kept_engines()), each) {
  const auto model = golden_model(each.golden);
  auto options = with_long_steps(each);
  options.kv.prefix_caching = false;
  engine running(model, options);
  const int count = std::min(150, *options.limits.max_sequence_length - 4);
  bystander beside(running, *model, options);
  drive(running, [&]() -> net::awaitable<void> {
    for (const int length : {64, 60, 10}) {
      std::optional<sequence> parent = open(running, *model);
      co_await parent->async_forward(some_tokens(*model, count, 1));
      auto child = parent->fork();
      co_await child.async_forward({5});
      parent.reset();
      auto last = child.fork();
      co_await last.async_forward({6});
      child.truncate(std::min(length, count));
      auto grandchild = child.fork();
      co_await check_cut(grandchild, *model, options, std::min(length, count));
      co_await check_cut(child, *model, options, 5);
    }
  });
  beside.check();
}

BOOST_AUTO_TEST_CASE(a_fork_goes_back_no_further_than_what_it_was_copied_from) {
  for (const std::string golden : {"gemma3_text", "mistral_window"}) {
    const auto model = golden_model(golden);
    auto options = tiny_engine(*model);
    options.batching.max_batched_tokens = 1;
    options.kv.max_rollback_tokens = 100;
    engine running(model, options);
    bystander beside(running, *model, options);
    drive(running, [&]() -> net::awaitable<void> {
      auto seq = open(running, *model);
      co_await seq.async_forward(some_tokens(*model, *options.limits.max_sequence_length, 1));
      seq.truncate(*options.limits.max_sequence_length - 100);
      auto child = seq.fork();
      co_await child.async_forward({5});
      co_await check_cut(child, *model, options, *options.limits.max_sequence_length - 199);
    });
    beside.check();
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cogen::test
