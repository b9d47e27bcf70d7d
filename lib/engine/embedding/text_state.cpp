#include "engine/embedding/text_state.hpp"

#include "engine/runner/diagnostics_of.hpp"

#include <algorithm>
#include <concepts>
#include <exception>
#include <stdexcept>
#include <utility>

namespace cogen::embedding {

namespace {

constexpr std::size_t long_texts = 16 * 1024;  // bytes; longer ones are tokenized on another thread

std::size_t bytes_of(const encoder_input& input) {
  if (const auto* pair = std::get_if<text_pair>(&input)) return pair->first.size() + pair->second.size();
  const auto* text = std::get_if<std::string>(&input);
  return text ? text->size() : 0;
}

bool are_long(const std::vector<encoder_input>& inputs) {
  std::size_t bytes = 0;
  for (const auto& each : inputs) bytes += bytes_of(each);
  return bytes > long_texts;
}

/// The engine's queue of texts, which the first request makes.
text_queue& queue_of(const engine_parts& parts, detail::loop_view& loop) {
  auto& work = loop.background();
  const auto& limits = parts.limits;
  if (!work)
    work = std::make_shared<text_queue>(parts.texts, std::max(limits.max_batched_tokens, limits.prefill_tokens));
  return static_cast<text_queue&>(*work);
}

}  // namespace

template <class Result>
void text_state<Result>::start(std::shared_ptr<typename base::operation_type> wait, std::vector<encoder_input> inputs) {
  this->begin_wait(std::move(wait));
  if (const auto refused = this->begin_work()) return fail(*refused);
  if (!are_long(inputs)) return prepare(inputs);
  const auto self = std::static_pointer_cast<text_state>(this->shared_from_this());
  this->engine_->offload([self, inputs = std::move(inputs)] { self->prepare(inputs); });
}

template <class Result>
void text_state<Result>::prepare(const std::vector<encoder_input>& inputs) noexcept {
  try {
    read(inputs);
  } catch (...) {
    return fail(detail::diagnostics_of(std::current_exception()));
  }
  if (!this->engine_->enqueue(this->shared_from_this())) fail(this->engine_->error());
}

template <class Result>
void text_state<Result>::read(const std::vector<encoder_input>& inputs) {
  const auto& encoder = this->engine_->parts().texts;
  if (!encoder)
    throw std::invalid_argument("this model does not embed: its files do not say how hidden states are pooled");
  encoder->check_purpose(std::same_as<Result, float>);
  if (inputs.empty()) throw std::invalid_argument("there are no texts: at least one is read");
  for (const auto& each : inputs) texts_.push_back(encoder->read(each));
  results_.resize(texts_.size());
}

template <class Result>
void text_state<Result>::process(detail::loop_view& loop) {
  this->post_again();
  if (!is_wanted()) return;
  queue_of(this->engine_->parts(), loop)
      .add(this->admission_.tenant, std::static_pointer_cast<text_state>(this->shared_from_this()));
}

template <class Result>
bool text_state<Result>::is_wanted() const noexcept {
  return this->waits();
}

template <class Result>
void text_state<Result>::set_vector(std::size_t text, std::vector<float> vector) {
  if constexpr (std::same_as<Result, float>)
    results_[text] = vector.front();
  else
    results_[text] = std::move(vector);
}

template <class Result>
void text_state<Result>::finish() noexcept {
  this->complete_wait({}, std::move(results_));
}

template class text_state<std::vector<float>>;
template class text_state<float>;

}  // namespace cogen::embedding
