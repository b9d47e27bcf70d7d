#pragma once

#include "routes/generate.hpp"

#include <boost/json/object.hpp>

#include <vector>

namespace server {

/// What the events of OpenAI's streams have in common: how they begin, how they end, and the usage. The arguments of
/// the constructor have to outlive it.
class openai_events : public event_writer {
 public:
  openai_events(call& client, const cogen::stream_group& streams, const api::answer_head& head,
                const api::event_extras& extras)
      : client_(client), streams_(streams), head_(head), extras_(extras) {}

  std::vector<event> on_progress(const cogen::stream_event& update) final;
  std::vector<event> last() final;
  std::vector<event> failed(const api::error& why) final;

 protected:
  virtual boost::json::object progress_choice(std::size_t index) = 0;  ///< without text, while the prompt is read
  boost::json::object chunk_of(boost::json::object choice) const;      ///< of the stream that its index names
  void count(std::size_t index, bool first_of_prompt);                 ///< adds up a stream that has ended

  const cogen::token_stream& stream(std::size_t index) const { return streams_[index]; }
  std::size_t size() const { return streams_.size(); }

 private:
  call& client_;
  const cogen::stream_group& streams_;
  const api::answer_head& head_;
  api::event_extras extras_;
};

}  // namespace server
