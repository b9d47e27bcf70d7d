#pragma once

namespace cogen {

namespace async {
class engine_executor;
}

namespace text {
class tokenizer;
}

class engine;
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
using sequence = basic_sequence<async::engine_executor>;
using stream_group = basic_stream_group<async::engine_executor>;
using token_stream = basic_token_stream<async::engine_executor>;

}  // namespace cogen
