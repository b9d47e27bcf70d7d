#include "engine/async/call_member.hpp"
#include "engine/group_state.hpp"
#include "engine/sequence_state.hpp"
#include "engine/stream_state.hpp"

#include <cogen/sequence.hpp>
#include <cogen/stream_group.hpp>
#include <cogen/token_stream.hpp>

#include <utility>

namespace cogen {
namespace detail {

template <class State>
void handle<State>::abort() noexcept {
  shared_->abort();
}

template class handle<group_state>;
template class handle<sequence_state>;
template class handle<stream_state>;

}  // namespace detail

using detail::call_member;
using detail::initiation;

// Streams

using detail::stream_state;

void stream_handle::stop() noexcept { shared()->stop(); }
bool stream_handle::ended() const { return shared()->ended(); }
std::optional<finish_reason> stream_handle::finish() const { return shared()->finish(); }
usage stream_handle::usage() const { return shared()->usage(); }
request_metrics stream_handle::request_metrics() const { return shared()->request_metrics(); }
std::vector<sampled_token> stream_handle::prompt_logprobs() const { return shared()->prompt_logprobs(); }
std::optional<sampled_token> stream_handle::end_token() const { return shared()->end_token(); }
std::vector<loosened_keyword> stream_handle::loosened() const { return shared()->loosened(); }
std::optional<float> stream_handle::score() const { return shared()->score(); }
diagnostics stream_handle::error() const { return shared()->error(); }
std::uint64_t stream_handle::id() const { return shared()->id(); }

initiation<std::optional<piece>(std::optional<clock::duration>)> stream_handle::next_initiation() const {
  return {shared(), call_member<&stream_state::start_next>, call_member<&stream_state::last_next>};
}

initiation<completion()> stream_handle::complete_initiation() const {
  return {shared(), call_member<&stream_state::start_complete>};
}

initiation<std::optional<prompt_progress>()> stream_handle::progress_initiation() const {
  return {shared(), call_member<&stream_state::start_progress>};
}

// Groups of them

namespace detail {

group_handle::group_handle(std::vector<std::shared_ptr<stream_state>> streams)
    : handle(std::make_shared<group_state>(std::move(streams))) {
  shared()->join_all();
}

initiation<std::optional<stream_event>(bool)> group_handle::next_initiation() const {
  return {shared(), call_member<&group_state::start_next>, call_member<&group_state::last_next>};
}

}  // namespace detail

// Sequences

using detail::sequence_state;

void sequence_handle::truncate(int length) { shared()->truncate(length); }
void sequence_handle::constrain(std::unique_ptr<guide> guide) { shared()->constrain(std::move(guide)); }
std::vector<token> sequence_handle::tokens() const { return shared()->tokens(); }
bool sequence_handle::exact() const { return shared()->exact(); }
request_metrics sequence_handle::request_metrics() const { return shared()->request_metrics(); }
diagnostics sequence_handle::error() const { return shared()->error(); }
std::uint64_t sequence_handle::id() const { return shared()->id(); }
engine_executor sequence_handle::executor() const { return shared()->executor(); }
sequence_handle sequence_handle::fork() { return sequence_handle(shared()->fork()); }

initiation<logits(std::vector<token>, logits_of)> sequence_handle::forward_initiation() const {
  return {shared(), call_member<&sequence_state::start_forward>};
}

initiation<sampled_token(std::vector<token>, sampling_params)> sequence_handle::decode_initiation() const {
  return {shared(), call_member<&sequence_state::start_decode>};
}

initiation<std::vector<sampled_token>(std::vector<token>, sampling_params, std::vector<token>)>
sequence_handle::draft_initiation() const {
  return {shared(), call_member<&sequence_state::start_draft>};
}

initiation<void()> sequence_handle::suspend_initiation() const {
  return {shared(), call_member<&sequence_state::start_suspend>};
}

initiation<void(std::filesystem::path)> sequence_handle::save_initiation() const {
  return {shared(), call_member<&sequence_state::start_save>};
}

}  // namespace cogen
