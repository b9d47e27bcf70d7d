// More conversations than slots: what waits is preempted, and goes on to the same bits.
#include "../repetitions.hpp"
#include "kept_engines.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <numeric>
#include <stdexcept>

namespace cogen::test {
namespace {

namespace data = boost::unit_test::data;

/// What becomes of the caches of those that are preempted.
enum class fate { kept, kept_by_a_thread, on_a_file, on_a_file_by_a_thread, dropped, lost_now_and_then };

std::ostream& operator<<(std::ostream& out, fate outcome) {
  constexpr const char* names[] = {"kept",    "kept by a thread", "on a file", "on a file by a thread",
                                   "dropped", "lost now and then"};
  return out << names[static_cast<int>(outcome)];
}

/// Every third job does half of its work and fails.
class unreliable_transfer final : public cache::transfer {
 public:
  void start(std::vector<cache::byte_copy> copies, callback done) override {
    if (++jobs_ % 3 != 0) return whole_.start(std::move(copies), std::move(done));
    copies.resize(copies.size() / 2);
    whole_.start(std::move(copies), [&](std::exception_ptr) {
      done(std::make_exception_ptr(std::runtime_error("the other half was lost")));
    });
  }

 private:
  cache::immediate_transfer whole_;
  int jobs_ = 0;
};

engine_options two_slots(const kept_engine& base, fate preempted) {
  auto options = base.options();
  options.batching.slots = 2;
  options.policies.idle_timeout = std::chrono::milliseconds(0);
  options.external_stepping = preempted != fate::kept_by_a_thread && preempted != fate::on_a_file_by_a_thread;
  const bool on_a_file = preempted == fate::on_a_file || preempted == fate::on_a_file_by_a_thread;
  if (preempted == fate::dropped || on_a_file) options.swap.bytes = 0;
  if (on_a_file) options.swap.directory = std::filesystem::temp_directory_path();
  if (preempted == fate::lost_now_and_then) options.swap.transfer = std::make_shared<unreliable_transfer>();
  return options;
}

/// By turns, some tokens are said to each sequence, and it says three.
net::awaitable<void> converse(engine& running, const model& model, std::vector<std::vector<token>>& held) {
  std::vector<sequence> sequences;
  for (std::size_t i = 0; i < held.size(); ++i) sequences.push_back(open(running, model));
  for (unsigned turn = 0; turn < 3; ++turn) {
    for (unsigned i = 0; i < held.size(); ++i) {
      auto said = some_tokens(model, 6 + static_cast<int>(i), 100 * i + turn);
      held[i].insert(held[i].end(), said.begin(), said.end());
      for (int count = 0; count < 3; ++count) {
        held[i].push_back((co_await sequences[i].async_decode(said)).id);
        said.clear();
      }
    }
  }
}

/// What each conversation holds in the end; each says something three times.
std::vector<std::vector<token>> conversations(engine& running, const model& model, bool external_stepping) {
  std::vector<std::vector<token>> held(5);
  if (external_stepping) {
    drive(running, [&] { return converse(running, model, held); });
    return held;
  }
  net::io_context context;
  net::co_spawn(context, converse(running, model, held), [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
  });
  context.run();
  return held;
}

void check_alone(const model& model, const engine_options& options, const std::vector<token>& tokens, unsigned number) {
  const std::size_t said = 6 + number;
  BOOST_TEST_REQUIRE(tokens.size() == 3 * (said + 3));
  for (std::size_t end = said; end < tokens.size(); end += said + 3) {
    const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(end);
    const auto expected = loop_by_hand(model, options, {tokens.begin(), begin}, 3);
    BOOST_TEST(std::equal(expected.begin(), expected.end(), begin), "conversation " << number << ", token " << end);
  }
}

}  // namespace

BOOST_DATA_TEST_CASE(many_conversations_take_turns_at_few_slots,
                     data::make(thin(kept_engines_everywhere(), 2)) *
                         data::make({fate::kept, fate::kept_by_a_thread, fate::on_a_file, fate::on_a_file_by_a_thread,
                                     fate::dropped, fate::lost_now_and_then}),
                     each, preempted) {
  const auto model = golden_model(each.golden);
  const auto options = two_slots(each, preempted);
  engine running(each.model(), options);
  const auto held = conversations(running, *model, options.external_stepping);
  for (unsigned i = 0; i < held.size(); ++i) check_alone(*model, each.by_hand(options), held[i], i);
  const auto stats = running.stats();
  BOOST_TEST(stats.preempted > 0u);
  BOOST_TEST((stats.swapped_out > 0u) == (preempted != fate::dropped));
  if (options.external_stepping) BOOST_TEST(stats.free_slots == options.batching.slots);
  if (preempted == fate::dropped || preempted == fate::lost_now_and_then) return;
  const auto run_once = std::accumulate(held.begin(), held.end(), std::size_t{0},
                                        [](std::size_t sum, const auto& tokens) { return sum + tokens.size() - 1; });
  BOOST_TEST(stats.tokens == run_once);
}

}  // namespace cogen::test
