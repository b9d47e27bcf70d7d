// Memory that is refused to those whose text a guide constrains.
#include "account.hpp"
#include "failing_memory.hpp"
#include "text_guide.hpp"
#include "toy_runner.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/test/unit_test.hpp>

namespace cogen::test {
namespace {

BOOST_AUTO_TEST_SUITE(faults)

const std::vector<std::vector<token>> allowed{{5, 60, 90, 91}, {5, 60, 7, 92}};
const std::vector<token> nothing, one_token{5}, two_tokens{5, 60};

/// A stream, two of one request, and a sequence that is forked and cut. Returns whether the n-th allocation was met.
bool guided_with_memory_refused(long n, const std::shared_ptr<const guide>& grammar) {
  account reader, first, second, worker, branch;
  net::io_context context;
  toy_engine toy({.max_draft_tokens = 8, .end_tokens = {96}});
  failing_memory::refuse(n);
  std::optional<token_stream> single;
  std::optional<stream_group> two;
  std::optional<sequence> work, forked;
  const auto go = [&] { poll_short_of_memory(toy.running, context); };
  const auto read_all = [&](token_stream& stream, account& target) {
    start(target, [&] {
      stream.async_complete(net::bind_executor(context, [&target](error_code, completion answer) {
        ++target.received;
        target.read(answer.tokens);
      }));
    });
  };
  const auto decode = [&](std::optional<sequence>& seq, account& target, const std::vector<token>& fed) {
    start(target, [&] {
      if (!seq) throw std::bad_alloc();
      seq->async_decode(fed, sampling_params{},
                        net::bind_executor(context, [&target](error_code code, sampled_token got) {
                          ++target.received;
                          if (!code) target.read(std::array{std::move(got)});
                        }));
    });
  };
  bool constrained = false;
  try {
    single.emplace(toy.running.generate({.prompt = token_ids{7}, .max_tokens = 9, .response_format = grammar}));
    read_all(*single, reader);
    two.emplace(toy.running.generate_n({.prompt = token_ids{3, 1}, .max_tokens = 9, .response_format = grammar}, 2));
    read_all((*two)[0], first);
    read_all((*two)[1], second);
    work.emplace(toy.running.open());
    work->constrain(grammar->clone());
    constrained = true;
  } catch (const std::bad_alloc&) {
  }
  decode(work, worker, one_token);
  for (int round = 0; round < 4; ++round) go();
  try {
    if (work) forked.emplace(work->fork());
    if (work) work->truncate(0);
  } catch (const std::exception&) {  // no memory, or the first token never came
  }
  decode(forked, branch, nothing);
  decode(work, worker, two_tokens);
  for (int round = 0; round < 14; ++round) go();
  const bool met = failing_memory::relent();
  for (int round = 0; round < 4; ++round) go();
  for (const auto* each : {&reader, &first, &second, &worker, &branch})
    BOOST_TEST(each->received == each->begun, "allocation " << n);
  for (const auto* books : {&reader, &first, &second})
    if (books->count > 0) check_prefix(*books, books->tokens[2] == 7 ? allowed[1] : allowed[0]);
  if (constrained && worker.count == 2)
    BOOST_TEST((worker.tokens[0] == 60 && (worker.tokens[1] == 90 || worker.tokens[1] == 7)), "allocation " << n);
  single.reset(), two.reset(), work.reset(), forked.reset();
  for (int round = 0; round < 3; ++round) go();
  if (!toy.running.error()) BOOST_TEST(toy.running.stats().sequences == 0);
  return met;
}

BOOST_AUTO_TEST_CASE(any_allocation_may_fail_beside_guides) {
  const auto grammar = only(allowed);
  for (const int call : {0, 1, 3}) BOOST_TEST_CONTEXT("each call postponed of " << call) {
      postponed_call = call;
      BOOST_TEST(!guided_with_memory_refused(1'000'000, grammar));
      long n = 0;
      for (bool met = true; met; ++n) {
        const long blocks = failing_memory::blocks();
        met = guided_with_memory_refused(n, grammar);
        BOOST_TEST(failing_memory::blocks() == blocks, "allocation " << n);
      }
      BOOST_TEST(n > 200);
    }
  postponed_call = 0;
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace cogen::test
