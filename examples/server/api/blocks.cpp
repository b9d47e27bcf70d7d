#include "api/blocks.hpp"

#include <utility>

namespace server::api {

std::vector<block_change> block_splitter::split(const cogen::piece& piece) {
  std::vector<block_change> changes;
  if (!piece.reasoning.empty()) add(block::kind::reasoning, piece.reasoning, changes);
  if (!piece.text.empty()) add(block::kind::text, piece.text, changes);
  for (const auto& call : piece.tool_calls) add(call, changes);
  return changes;
}

std::vector<block_change> block_splitter::end() {
  std::vector<block_change> changes;
  close(changes);
  return changes;
}

void block_splitter::add(block::kind type, const std::string& text, std::vector<block_change>& changes) {
  if (!open_ || blocks_.back().type != type) begin({.type = type}, changes);
  append(text, changes);
}

void block_splitter::add(const cogen::tool_call_delta& call, std::vector<block_change>& changes) {
  if (call_ != call.index) {
    if (call.name.empty() && call.arguments.empty()) return;
    begin({.type = block::kind::call, .id = call.id, .name = call.name}, changes);
    call_ = call.index;
  }
  if (!call.arguments.empty()) append(call.arguments, changes);
}

void block_splitter::begin(block next, std::vector<block_change>& changes) {
  close(changes);
  next.index = blocks_.size();
  blocks_.push_back(std::move(next));
  open_ = true;
  changes.push_back({block_change::kind::begin, blocks_.back(), {}});
}

void block_splitter::append(const std::string& text, std::vector<block_change>& changes) {
  blocks_.back().text += text;
  changes.push_back({block_change::kind::add, blocks_.back(), text});
}

void block_splitter::close(std::vector<block_change>& changes) {
  call_.reset();
  if (std::exchange(open_, false)) changes.push_back({block_change::kind::end, blocks_.back(), {}});
}

std::vector<block> blocks_of(const cogen::completion& answer) {
  block_splitter splitter;
  cogen::piece piece{.text = answer.text, .tokens = {}, .reasoning = answer.reasoning};
  for (std::size_t i = 0; i < answer.tool_calls.size(); ++i) {
    const auto& call = answer.tool_calls[i];
    piece.tool_calls.push_back(
        {.index = static_cast<int>(i), .id = call.id, .name = call.name, .arguments = call.arguments});
  }
  static_cast<void>(splitter.split(piece));
  return splitter.blocks();
}

}  // namespace server::api
