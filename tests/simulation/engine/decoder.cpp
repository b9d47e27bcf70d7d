#include "simulation/engine/decoder.hpp"

#include "simulation/engine/readings.hpp"

#include <boost/system/system_error.hpp>

#include <algorithm>
#include <cstring>
#include <tuple>
#include <variant>

namespace cogen::engine_simulation {
namespace {

using type = net::cancellation_type;

sequence_event sequence_event_of(misfortune event) {
  switch (event) {
    case misfortune::engine_stopped:
      return sequence_event::engine_stopped;
    case misfortune::engine_destroyed:
      return sequence_event::engine_destroyed;
    default:
      return sequence_event::device_failed;
  }
}

std::vector<token> draw_encoder_input(world& stage, random& chance) {
  if (!stage.setup().encoder_inputs) return {};
  return sampling_words(stage, chance, chance.between(1, stage.setup().encoder_inputs->longest));
}

/// Also where both are NaN.
bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace

void held_sequence::give(std::span<const token> fed) {
  tokens.insert(tokens.end(), fed.begin(), fed.end());
  history.append_given(fed);
}

void held_sequence::truncate(std::size_t length) {
  tokens.resize(length);
  history.truncate(length);
  ++truncations;
}

held_sequence held_sequence::fork() {
  auto child = *this;
  child.branch = branch.fork();
  child.truncations = 0;
  return child;
}

std::optional<token> held_sequence::sampled(const language& spoken, const std::vector<token>& fed,
                                            const sampling_params& params) const {
  auto after = history;
  after.append_given(fed);
  const auto position = static_cast<std::uint32_t>(after.length());
  return sampled_alone(spoken, sampler(params, spoken.vocabulary()), after, encoder_input,
                       {params.seed.value_or(0), branch.branch(), position, truncations});
}

decoder::decoder(world& stage, std::string name, net::any_io_executor where, random& chance)
    : client(stage, std::move(name), std::move(where)),
      affiliation_(draw_affiliation(chance)),
      beginning_(draw_beginning(stage, chance)),
      left_(chance.between(1, 20)) {
  held_.encoder_input = draw_encoder_input(stage, chance);
  held_.max_sequence_length = chance.chance(50) ? stage.setup().within.max_sequence_length
                                                : chance.between(2, stage.setup().within.max_sequence_length);
  sequence_.emplace(stage.setup().encoder_inputs ? stage.running()->open(held_.encoder_input, opening())
                                                 : stage.running()->open(opening()));
  sequence_->constrain(draw_guide(stage, chance));
}

decoder::decoder(const decoder& parent, sequence handle, held_sequence held)
    : client(parent.stage_, parent.name() + "'", parent.executor()),
      affiliation_(parent.affiliation_),
      beginning_(parent.beginning_),
      held_(std::move(held)),
      sequence_(std::move(handle)),
      left_(3) {}

// What it does

net::awaitable<void> decoder::live() {
  while (sequence_) {
    auto chance = co_await turn();
    for (int n = chance.between(1, 6); n > 0 && sequence_; --n) co_await act(chance);
  }
}

net::awaitable<void> decoder::act(random& chance) {
  if (left_-- <= 0 || stage_.closing()) co_return destroy();
  const int weights[] = {4, 8, 2, 3, 2, 2, file_ ? 6 : 0, 1};
  switch (chance.weighted(weights)) {
    case 0:
      co_return co_await forward(chance);
    case 1:
      co_return co_await decode(chance);
    case 2:
      co_return fork(chance);
    case 3:
      co_return truncate(chance);
    case 4:
      co_return co_await suspend();
    case 5:
      co_return co_await save();
    case 6:
      co_return co_await open();
    default:
      co_return;
  }
}

std::vector<token> decoder::draw_fed(random& chance, int most) const {
  const bool new_start = held_.tokens.empty() && !chance.chance(3);
  auto fed = new_start ? beginning_ : std::vector<token>();
  const auto more = sampling_words(stage_, chance, chance.between(0, most));
  fed.insert(fed.end(), more.begin(), more.end());
  if (stage_.renames(affiliation_.tenant, affiliation_.cache_salt)) stage_.rename(fed);
  if (chance.chance(2)) fed.push_back(stage_.spoken().vocabulary());
  return fed;
}

open_options decoder::opening() const {
  return {.max_sequence_length = held_.max_sequence_length,
          .tenant = affiliation_.tenant,
          .cache_salt = affiliation_.cache_salt};
}

void decoder::begin(std::vector<token> fed) {
  fed_ = std::move(fed);
  begun_ = stage_.rounds();
  opened_ = false;
}

net::awaitable<void> decoder::forward(random& chance) {
  visit(sequence_event::forward);
  const auto which = chance.chance(50) ? logits_of::all : logits_of::last;
  const bool leaves = chance.chance(2);
  const int room = held_.max_sequence_length - static_cast<int>(held_.tokens.size());
  begin(draw_fed(chance, chance.chance(50) ? std::max(4, room) : 4));
  stage_.say("{}: forward {} tokens for {} logits", name(), fed_.size(), which == logits_of::all ? "all" : "last");
  const auto start = [this, which](auto handler) { sequence_->async_forward(fed_, which, std::move(handler)); };
  const auto heard = co_await wait_for<logits>(start);
  stage_.say("{}: hears {}, {} rows", name(), heard.code.message(), heard.value.rows());
  require(heard.code || !cancelled(), "it was cancelled, and is given what it may lose");
  if (heard.code)
    hear_failure(heard.code, false);
  else
    hear_logits(heard.value, which);
  fed_.clear();
  if (!leaves || !sequence_) co_return;
  stage_.seen().visit(feature::destroyed_in_handler);
  destroy();
}

net::awaitable<void> decoder::decode(random& chance) {
  visit(sequence_event::decode);
  const auto params = draw_sampling(chance);
  begin(draw_fed(chance, 2));
  const auto expected = held_.sampled(stage_.spoken(), fed_, params);
  stage_.say("{}: decode after {} tokens", name(), fed_.size());
  const auto start = [this, &params](auto handler) { sequence_->async_decode(fed_, params, std::move(handler)); };
  const auto heard = co_await wait_for<sampled_token>(start);
  stage_.say("{}: hears {} {}", name(), heard.code.message(), stage_.spoken().first_name(heard.value.id));
  require(heard.code || !cancelled(), "it was cancelled, and is given what it may lose");
  if (heard.code) {
    hear_failure(heard.code, !expected);
  } else {
    require(!refusal(1) && expected, "it was given a token though there was none to give");
    require(heard.value.id == *expected, fmt::format("it sampled {}; alone it samples {}", heard.value.id, *expected));
    held_.give(fed_);
    held_.tokens.push_back(heard.value.id);
    held_.history.append_generated(heard.value.id);
  }
  fed_.clear();
}

void decoder::fork(random& chance) {
  visit(sequence_event::fork);
  stage_.say("{}: fork", name());
  auto handle = sequence_->fork();
  auto held = held_.fork();
  if (!chance.chance(80)) return;
  stage_.join(std::make_shared<decoder>(*this, std::move(handle), std::move(held)), chance);
}

void decoder::truncate(random& chance) {
  visit(sequence_event::truncate);
  const auto length = chance.between(0, static_cast<int>(held_.tokens.size()) + (chance.chance(5) ? 1 : 0));
  stage_.say("{}: truncate to {}", name(), length);
  const bool wrong = length > static_cast<int>(held_.tokens.size());
  try {
    sequence_->truncate(length);
  } catch (const std::out_of_range&) {
    return require(wrong, "a cut was refused that makes sense");
  }
  require(!wrong, "it was cut to more than it holds");
  if (opened_ && length > 0 && length < static_cast<int>(held_.tokens.size()))
    stage_.seen().visit(feature::cut_when_opened);
  held_.truncate(static_cast<std::size_t>(length));
}

net::awaitable<void> decoder::suspend() {
  visit(sequence_event::suspend);
  stage_.say("{}: preempt", name());
  stage_.expect_preemption();
  begin({});
  busy_with_ = sequence_at::preemption;
  const auto start = [this](auto handler) { sequence_->async_suspend(std::move(handler)); };
  const auto heard = co_await wait_for<std::monostate>(start);
  busy_with_.reset();
  stage_.say("{}: hears {}", name(), heard.code.message());
  if (heard.code == net::error::operation_aborted)
    require(cancelled() || !sequence_, "it was not cancelled");
  else
    require(!heard.code || stage_.is_death(heard.code), "it could not be preempted: " + heard.code.message());
}

/// Where it fails, or is cancelled, the file is as it was before.
net::awaitable<void> decoder::save() {
  visit(sequence_event::save);
  const auto file = file_ ? *file_ : stage_.new_file();
  const auto held = held_;
  stage_.say("{}: save", name());
  begin({});
  busy_with_ = sequence_at::saving;
  const auto start = [&](auto handler) { sequence_->async_save(file, std::move(handler)); };
  const auto heard = co_await wait_for<std::monostate>(start);
  busy_with_.reset();
  stage_.say("{}: hears {}", name(), heard.code.message());
  if (heard.code == net::error::operation_aborted) co_return require(cancelled() || !sequence_, "it was not cancelled");
  if (heard.code && stage_.is_death(heard.code)) co_return;
  require(!heard.code, "it could not be saved: " + heard.code.message());
  file_ = file;
  saved_ = held;
}

/// Goes on from what it saved.
net::awaitable<void> decoder::open() {
  if (!stage_.running()) co_return;
  visit(sequence_event::open);
  stage_.say("{}: open", name());
  begin({});
  busy_with_ = sequence_at::opening;
  const auto start = [this](auto handler) {
    auto options = opening();
    options.max_sequence_length = saved_.max_sequence_length;
    stage_.running()->async_load_session(*file_, options, std::move(handler));
  };
  auto heard = co_await wait_for<std::optional<sequence>>(start);
  busy_with_.reset();
  stage_.say("{}: hears {}", name(), heard.code.message());
  if (heard.code == net::error::operation_aborted) co_return require(cancelled(), "it was not cancelled");
  if ((heard.code && stage_.is_death(heard.code)) || !sequence_) co_return;
  if (heard.code == error::queue_full) co_return require(stage_.setup().max_sequences < 100, "the queue was not full");
  require(!heard.code && !cancelled(), "it could not be opened: " + heard.code.message());
  sequence_ = std::move(heard.value);
  held_ = saved_;
  opened_ = true;
}

void decoder::destroy() {
  visit(sequence_event::destroy);
  stage_.say("{}: destroys its sequence", name());
  sequence_.reset();
}

/// A verb beside the operation that is pending: refused; or it changes nothing, where that has just ended.
void decoder::interrupt(sequence_event event) {
  visit(event);
  stage_.say("{}: another verb while it waits", name());
  const token nonsense = stage_.spoken().vocabulary();
  const auto refused = [self = shared_from_this(), this](error_code code, const auto&) {
    const bool well = code == error::operation_in_progress || code == error::invalid_request || stage_.is_death(code);
    if (code == error::operation_in_progress) stage_.seen().visit(feature::in_progress);
    if (!well) stage_.blame(std::make_exception_ptr(std::logic_error(name() + ": nonsense brought " + code.message())));
  };
  try {
    if (event == sequence_event::forward)
      sequence_->async_forward({nonsense}, logits_of::last, net::bind_executor(executor(), refused));
    if (event == sequence_event::decode)
      sequence_->async_decode({nonsense}, sampling_params{}, net::bind_executor(executor(), refused));
    if (event == sequence_event::fork) {
      std::ignore = sequence_->fork();
      held_.branch.fork();
    }
    if (event == sequence_event::suspend) suspend_unseen();
    if (event == sequence_event::save) save_unseen();
    if (event == sequence_event::open) open_unseen();
    if (event == sequence_event::truncate) {
      sequence_->truncate(static_cast<int>(sequence_->tokens().size()));
      ++held_.truncations;
    }
  } catch (const boost::system::system_error& e) {
    require(e.code() == error::operation_in_progress, "refused with " + e.code().message());
    stage_.seen().visit(feature::in_progress);
  }
}

/// No operation waits for it, so it delays none if it is not refused.
void decoder::start_unseen(const auto& start) {
  const auto signal = std::make_shared<net::cancellation_signal>();
  start(net::bind_cancellation_slot(
      signal->slot(), net::bind_executor(executor(), [self = shared_from_this(), this, signal](error_code code) {
        const bool well = code == error::operation_in_progress || code == net::error::operation_aborted;
        if (!well && !stage_.is_death(code))
          stage_.blame(std::make_exception_ptr(std::logic_error(name() + ": a second verb brought " + code.message())));
      })));
  signal->emit(type::total);
}

void decoder::suspend_unseen() {
  stage_.expect_preemption();
  start_unseen([this](auto handler) { sequence_->async_suspend(std::move(handler)); });
}

void decoder::save_unseen() {
  start_unseen([this](auto handler) { sequence_->async_save(stage_.new_file(), std::move(handler)); });
}

/// What is opened is not kept.
void decoder::open_unseen() {
  if (!file_ || !stage_.running()) return;
  const auto opened = [self = shared_from_this(), this](error_code code, const sequence&) {
    if (code && code != error::queue_full && !stage_.is_death(code))
      stage_.blame(std::make_exception_ptr(std::logic_error(name() + ": opening brought " + code.message())));
  };
  stage_.running()->async_load_session(*file_, {.tenant = affiliation_.tenant, .cache_salt = affiliation_.cache_salt},
                                       net::bind_executor(executor(), opened));
}

void decoder::interfere(random& chance) {
  if (!sequence_) return;
  const int second = pending() > 0 ? 2 : 0;
  const int weights[] = {3, 3, 3, 1, second, second, second, second, second, second, second};
  switch (chance.weighted(weights)) {
    case 0:
      visit(sequence_event::total);
      return cancel(type::total);
    case 1:
      visit(sequence_event::partial);
      return cancel(type::partial);
    case 2:
      visit(sequence_event::terminal);
      return cancel(type::terminal);
    case 3:
      return destroy();
    case 4:
      return interrupt(sequence_event::forward);
    case 5:
      return interrupt(sequence_event::decode);
    case 6:
      return interrupt(sequence_event::fork);
    case 7:
      return interrupt(sequence_event::suspend);
    case 8:
      return interrupt(sequence_event::save);
    case 9:
      return interrupt(sequence_event::open);
    default:
      return interrupt(sequence_event::truncate);
  }
}

void decoder::meet(misfortune event) {
  if (sequence_) visit(sequence_event_of(event));
}

// What it hears

void decoder::hear_logits(const logits& received, logits_of which) {
  require(!refusal(0), "it was given logits though it asked for nonsense");
  held_.give(fed_);
  const int rows = which == logits_of::all ? std::max(1, static_cast<int>(fed_.size())) : 1;
  require(received.rows() == rows, fmt::format("it was given {} rows of logits instead of {}", received.rows(), rows));
  for (int i = 0; i < rows; ++i) {
    const auto length = held_.tokens.size() - static_cast<std::size_t>(rows - 1 - i);
    const auto expected = stage_.spoken().scores(std::span(held_.tokens).first(length), held_.encoder_input);
    require(same_bits(received[i], expected), fmt::format("row {} of its logits is not what it would be alone", i));
  }
}

/// With what an operation that feeds `fed_` and then samples must be refused.
error_code decoder::refusal(int sampled) const {
  if (!fed_.empty() && fed_.back() >= stage_.spoken().vocabulary()) return make_error_code(error::invalid_request);
  if (fed_.empty() && held_.tokens.empty()) return make_error_code(error::invalid_request);
  const auto length = static_cast<int>(held_.tokens.size() + fed_.size()) + sampled;
  return length > held_.max_sequence_length ? make_error_code(error::does_not_fit) : error_code();
}

void decoder::hear_failure(error_code code, bool nothing_to_sample) {
  if (code == net::error::operation_aborted) {
    stage_.seen().visit(feature::aborted);
    return require(cancelled() || !sequence_, "it was not cancelled");
  }
  if (sequence_) require(!sequence_->error().message().empty(), "it has no reason");
  if (stage_.is_death(code)) return;
  if (code == error::queue_full) {
    stage_.seen().visit(feature::queue_full);
    return require(stage_.setup().max_sequences < 100, "the queue was not full");
  }
  if (code == error::out_of_memory && stage_.hardware().refused_memory()) return;
  if (code == error::bad_logits) {
    stage_.seen().visit(feature::bad_logits);
    return require(nothing_to_sample, "there were good logits");
  }
  require(code == refusal(0) || code == refusal(1), "it failed with " + code.message());
}

// What it is at

void decoder::check() const {
  if (sequence_ && pending() == 0) require(sequence_->tokens() == held_.tokens, "it holds other tokens than it should");
}

void decoder::visit(sequence_event event) { stage_.seen().visit(current_state(), event); }

sequence_at decoder::current_state() const {
  if (!stage_.alive()) return sequence_at::dead;
  auto whole = held_.tokens;
  whole.insert(whole.end(), fed_.begin(), fed_.end());
  if (pending() > 0 && busy_with_) return *busy_with_;
  const int held = stage_.hardware().held_of(whole, beginning_.size() - 1);
  if (pending() == 0) return whole.empty() ? sequence_at::fresh : held > 0 ? sequence_at::idle : sequence_at::preempted;
  if (stage_.rounds() == begun_) return sequence_at::queued;
  if (held == 0) return sequence_at::waiting;
  return held + 1 < static_cast<int>(whole.size()) ? sequence_at::prefilling : sequence_at::decoding;
}

std::string decoder::status() const {
  return fmt::format("holds {}{}{}", held_.tokens.size(), pending() > 0 ? ", waits" : "",
                     sequence_ ? "" : ", without its sequence");
}

}  // namespace cogen::engine_simulation
