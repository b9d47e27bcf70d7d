#include "scheduler/naive_scheduler.hpp"
#include "scheduler/served.hpp"

#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>

#include <functional>
#include <map>
#include <random>

namespace cogen::scheduler {
namespace {

struct request {
  sequence_options options;
  run work;
};

struct received {
  event::kind type;
  token sampled;
  bool last;
  finish reason;

  bool operator==(const received&) const = default;
};

std::vector<request> requests(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<request> result;
  for (int i = 0; i < 30; ++i) {
    const auto prompt = counting(1 + static_cast<int>(random() % 70), static_cast<token>(random() % 40));
    const auto wanted = random() % 4 == 0   ? output::all_logits
                        : random() % 4 == 0 ? output::last_logits
                                            : output::sample;
    sequence_options options;
    options.end_tokens = {static_cast<token>(random() % 50)};
    options.max_new_tokens = 1 + static_cast<int>(random() % 30);
    options.release_at_end = true;
    const auto encoder_input = counting(static_cast<int>(random() % 100), static_cast<token>(random() % 40));
    if (i % 3 == 0 && !encoder_input.empty())
      options.encoder_input = std::make_shared<const std::vector<token>>(encoder_input);
    result.push_back({options, {prompt, wanted, 1000}});
  }
  return result;
}

/// The events of each request, in order.
template <class Scheduler>
std::vector<std::vector<received>> serve(
    const limits& within, const std::vector<request>& work,
    const std::function<void(const step&)>& look = [](auto&) {}) {
  Scheduler sched(within);
  toy::runner runner(within, toy::model{});
  std::map<sequence_id, std::vector<received>> by_id;
  for (const auto& each : work) by_id[sched.submit(each.options, each.work)];
  for (auto step = sched.next(); !step.rows.empty(); step = sched.next()) {
    runner.run(step);
    look(step);
    for (const auto& each : sched.absorb(step)) {
      const bool sampled = each.type == event::kind::token;
      by_id[each.sequence].push_back({each.type,
                                      sampled ? step.sampled_of(step.rows[static_cast<std::size_t>(each.row)]) : -1,
                                      each.last, each.reason});
    }
  }
  std::vector<std::vector<received>> result;
  for (auto& [id, events] : by_id) result.push_back(std::move(events));
  return result;
}

/// The model itself, with no scheduler and no chunks.
std::vector<received> solo(const request& request, int max_sequence_length) {
  std::vector<received> result;
  if (request.work.wanted != output::sample) return {{event::kind::logits, -1, true, finish::length}};
  const auto encoder_input = request.options.encoder_input ? *request.options.encoder_input : std::vector<token>();
  auto held = request.work.tokens;
  for (int sampled = 0; sampled < request.options.max_new_tokens && static_cast<int>(held.size()) < max_sequence_length;
       ++sampled) {
    held.push_back(toy::model{}.next(held, encoder_input));
    result.push_back({event::kind::token, held.back(), false, finish::length});
    if (held.back() != request.options.end_tokens.front()) continue;
    result.push_back({event::kind::finished, -1, false, finish::end_token});
    return result;
  }
  result.push_back({event::kind::finished, -1, false, finish::length});
  return result;
}

limits few_slots() {
  auto within = roomy();
  within.slots = 5;
  within.max_sequence_length = 90;
  within.memory_bytes = 300;
  return within;
}

void check_events(const limits& within, const std::vector<request>& work, std::vector<std::vector<received>> got) {
  for (std::size_t i = 0; i < work.size(); ++i) {
    auto& events = got[i];
    if (work[i].work.wanted == output::all_logits) {
      BOOST_REQUIRE(!events.empty());
      events.erase(events.begin(), events.end() - 1);
    }
    BOOST_REQUIRE_MESSAGE(events == solo(work[i], within.max_sequence_length), "request " << i);
  }
}

using schedulers = boost::mpl::list<scheduler, naive_scheduler>;

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(every_request_gets_what_it_would_alone, Scheduler, schedulers) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      const auto work = requests(seed);
      check_events(few_slots(), work, serve<Scheduler>(few_slots(), work));
    }
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(each_token_has_its_logits_once_however_few_a_step_may_have, Scheduler, schedulers) {
  for (const int most : {1, 2, 7, 40, 1000}) {
    auto within = few_slots();
    within.max_all_logits_tokens = most;
    for (unsigned seed = 0; seed < 10; ++seed) {
      BOOST_TEST_CONTEXT("at most " << most << ", seed " << seed) {
        const auto work = requests(seed);
        std::map<sequence_id, std::size_t> outputs;
        const auto look = [&](const step& plan) {
          int together = 0;
          for (const auto& each : plan.rows) {
            if (each.wanted != output::all_logits) continue;
            outputs[each.sequence] += static_cast<std::size_t>(each.outputs());
            together += each.outputs();
          }
          BOOST_REQUIRE_LE(together, most);
        };
        check_events(within, work, serve<Scheduler>(within, work, look));
        for (std::size_t i = 0; i < work.size(); ++i)
          if (work[i].work.wanted == output::all_logits)
            BOOST_REQUIRE_EQUAL(outputs[sequence_id{i + 1}], work[i].work.tokens.size());
      }
    }
  }
}

}  // namespace cogen::scheduler
