#pragma once

namespace boost::asio {}

namespace cogen {

/// Boost.Asio >= 1.81, the asynchronous library that cogen uses.
namespace net = boost::asio;

namespace scheduler {
class allocation_policy;
class preemption_policy;
class scheduling_policy;
}  // namespace scheduler

namespace text {
class tokenizer;
}

class engine;
class engine_executor;
class event_sink;
class kv_event_sink;
class model;
struct completion;
struct engine_options;
struct engine_parts;
struct open_options;
struct group_strategy;
struct piece;
struct request;
struct sampling_params;
struct strategy;

template <class Executor>
class basic_sequence;
template <class Executor>
class basic_stream_group;
template <class Executor>
class basic_token_stream;
using sequence = basic_sequence<engine_executor>;
using stream_group = basic_stream_group<engine_executor>;
using token_stream = basic_token_stream<engine_executor>;

}  // namespace cogen
