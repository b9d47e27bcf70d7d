#include "simulation/engine/history.hpp"

#include "simulation/engine/decoder.hpp"
#include "simulation/engine/racer.hpp"
#include "simulation/engine/reader.hpp"
#include "simulation/transcript.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

namespace cogen::engine_simulation {
namespace {

using maker = std::shared_ptr<client> (*)(world&, std::string, net::any_io_executor, random&);

/// Who may come, and how often.
struct kind {
  const char* name;
  int weight;
  maker make;
};

template <reading (*draw)(world&, random&)>
std::shared_ptr<client> make_reader(world& stage, std::string name, net::any_io_executor where, random& chance) {
  const int dawdles = chance.chance(30) ? 600 : 6;
  return std::make_shared<reader>(stage, std::move(name), std::move(where), draw(stage, chance), dawdles);
}

std::shared_ptr<client> make_decoder(world& stage, std::string name, net::any_io_executor where, random& chance) {
  return std::make_shared<decoder>(stage, std::move(name), std::move(where), chance);
}

constexpr kind kinds[] = {
    {"reader", 55, make_reader<draw_reading>},
    {"refused reader", 6, make_reader<draw_refused_reading>},
    {"decoder", 30, make_decoder},
    {"race of streams", 6, stream_racer},
    {"race of forks", 6, fork_racer},
    {"race with turns", 6, turn_racer},
};

/// Who decides what happens next.
class player {
 public:
  player(world& stage, random& chance) : stage_(stage), chance_(chance) {
    for (const int each : {20, 25, 12, 10, 16, 20, 16, stage.setup().misfortunes ? 2 : 0})
      weights_.push_back(each * chance.between(2, 6));
  }

  void act(int number) {
    action_ = number;
    stage_.begin_action(number);
    if (!stage_.alive() && !chance_.chance(10)) return;
    switch (chance_.weighted(weights_)) {
      case 0:
        return rounds();
      case 1:
        return stage_.run_handlers(chance_.chance(60));
      case 2:
        return static_cast<void>(chance_.chance(50) ? stage_.end_transfer(chance_) : stage_.release());
      case 3:
        return stage_.advance_clock(std::chrono::microseconds(chance_.between(0, 3000)));
      case 4:
        return come();
      case 5:
        return turn();
      case 6:
        return interfere();
      default:
        return stage_.befall(static_cast<misfortune>(chance_.between(0, static_cast<int>(misfortune::count) - 1)));
    }
  }

 private:
  void rounds() {
    for (int n = chance_.between(1, 4); n > 0; --n) {
      stage_.round(chance_.chance(stage_.setup().holding));
      if (chance_.chance(50)) stage_.run_handlers(true);
    }
  }

  void come() {
    if (!stage_.running() || static_cast<int>(stage_.clients().size()) >= stage_.setup().max_live) return turn();
    std::vector<int> weights;
    std::ranges::transform(kinds, std::back_inserter(weights), &kind::weight);
    const auto& sampled = kinds[chance_.weighted(weights)];
    const auto where =
        chance_.chance(30) ? net::any_io_executor(stage_.running()->get_executor()) : stage_.own_executor();
    stage_.join(sampled.make(stage_, fmt::format("{} {}", sampled.name, action_), where, chance_), chance_);
  }

  void turn() {
    auto waiting = stage_.clients();
    std::erase_if(waiting, [](const auto& entry) { return !entry->waits_for_turn(); });
    if (!waiting.empty()) anyone(waiting)->take_turn(random(chance_.next()));
  }

  void interfere() {
    if (!stage_.clients().empty()) anyone(stage_.clients())->interfere(chance_);
  }

  std::shared_ptr<client> anyone(const std::vector<std::shared_ptr<client>>& candidates) {
    const auto draw = chance_.next();
    return *std::ranges::max_element(candidates, {}, [&](const auto& entry) { return entry->rank(draw); });
  }

  world& stage_;
  random& chance_;
  std::vector<int> weights_;
  int action_ = 0;
};

}  // namespace

int actions_of(std::uint64_t seed, const std::shared_ptr<const model>& over) {
  random chance(seed);
  return draw(chance, over).actions;
}

namespace {

void play_with(const simulation::script& script, coverage& seen, const simulation::log& log,
               const std::shared_ptr<const model>& over, std::optional<std::uint64_t> renamed_tenant) {
  random chance(script.seed);
  auto sampled = draw(chance, over);
  sampled.renamed_tenant = renamed_tenant;
  world stage(sampled, seen, log);
  stage.say("{}", describe(sampled));
  player client(stage, chance);
  for (const int action : script.actions) {
    chance = simulation::numbers_of(script.seed, action);
    client.act(action);
    stage.check();
  }
  chance = simulation::numbers_of(script.seed, -1);
  stage.drain(chance);
}

/// Whether what a tenant says is said in other names, too. Beside an encoder input all begin with the same token.
bool has_other_names(const simulation::script& script, const std::shared_ptr<const model>& over) {
  random chance(script.seed);
  return script.seed % 4 == 0 && !over && !draw(chance).encoder_inputs;
}

}  // namespace

void play(const simulation::script& script, coverage& seen, const simulation::log& log,
          const std::shared_ptr<const model>& over) {
  const bool renames = has_other_names(script, over);
  if (log || !renames) play_with(script, seen, log, over, {});
  if (!renames) return;
  simulation::transcript as_said, in_other_names;
  coverage unseen;
  play_with(script, log ? unseen : seen, as_said.writer(), over, {});
  play_with(script, unseen, in_other_names.writer(), over, script.seed / 4 % 2);
  as_said.require_same(in_other_names);
}

}  // namespace cogen::engine_simulation
