#include "kv_events/message.hpp"

#include "kv_events/msgpack.hpp"

#include <string_view>

namespace server::kv_events {
namespace {

/// vLLM names the memory in which blocks are used so, on every device.
constexpr std::string_view medium = "GPU";

/// Writes the events. As an array, an event is its name and its values; as a map, each value has its name.
class event_writer {
 public:
  event_writer(msgpack_writer& out, int block_size, encoding format)
      : out_(out), block_size_(static_cast<std::uint64_t>(block_size)), as_map_(format == encoding::map) {}

  void operator()(const cogen::kv_blocks_stored& event) {
    begin("BlockStored", 8);
    name("block_hashes");
    numbers(event.block_hashes);
    name("parent_block_hash");
    event.parent_block_hash ? out_.number(*event.parent_block_hash) : out_.nil();
    name("token_ids");
    numbers(event.token_ids);
    name("block_size");
    out_.number(block_size_);
    name("lora_id");
    out_.nil();
    name("medium");
    out_.text(medium);
    name("lora_name");
    out_.nil();
    name("extra_keys");
    extra_keys(event);
  }

  void operator()(const cogen::kv_blocks_removed& event) {
    begin("BlockRemoved", 2);
    name("block_hashes");
    numbers(event.block_hashes);
    name("medium");
    out_.text(medium);
  }

  void operator()(const cogen::kv_blocks_cleared&) { begin("AllBlocksCleared", 0); }

 private:
  void begin(std::string_view event, std::size_t values) {
    as_map_ ? out_.map(values + 1) : out_.array(values + 1);
    name("type");
    out_.text(event);
  }

  void name(std::string_view name) {
    if (as_map_) out_.text(name);
  }

  void numbers(const auto& values) {
    out_.array(values.size());
    for (const auto value : values) out_.number(static_cast<std::uint64_t>(value));
  }

  /// What a block's hash is made of besides tokens: of the first one of a sequence, the cache salt.
  void extra_keys(const cogen::kv_blocks_stored& event) {
    out_.array(event.block_hashes.size());
    for (std::size_t i = 0; i < event.block_hashes.size(); ++i) {
      if (i > 0 || event.parent_block_hash || event.cache_salt.empty()) {
        out_.nil();
      } else {
        out_.array(1);
        out_.text(event.cache_salt);
      }
    }
  }

  msgpack_writer& out_;
  std::uint64_t block_size_;
  bool as_map_;
};

}  // namespace

std::string message_of(std::span<const cogen::kv_event> batch, double time, int block_size, encoding format) {
  msgpack_writer out;
  out.array(3);
  out.number(time);
  out.array(batch.size());
  for (const auto& event : batch) std::visit(event_writer(out, block_size, format), event);
  out.number(std::uint64_t{0});  // data_parallel_rank
  return out.take();
}

}  // namespace server::kv_events
