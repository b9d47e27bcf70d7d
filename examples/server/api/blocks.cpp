#include "api/blocks.hpp"

#include <utility>

namespace server::api {

std::vector<block_change> block_splitter::on(const cogen::piece& piece) {
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

void block_splitter::add(block::kind type, const std::string& text, std::vector<block_change>& into) {
  if (!open_ || blocks_.back().type != type) begin({.type = type}, into);
  append(text, into);
}

void block_splitter::add(const cogen::tool_call_delta& call, std::vector<block_change>& into) {
  if (call_ != call.index) {
    if (call.name.empty() && call.arguments.empty()) return;
    begin({.type = block::kind::call, .id = call.id, .name = call.name}, into);
    call_ = call.index;
  }
  if (!call.arguments.empty()) append(call.arguments, into);
}

void block_splitter::begin(block next, std::vector<block_change>& into) {
  close(into);
  next.index = blocks_.size();
  blocks_.push_back(std::move(next));
  open_ = true;
  into.push_back({block_change::kind::begin, blocks_.back(), {}});
}

void block_splitter::append(const std::string& text, std::vector<block_change>& into) {
  blocks_.back().text += text;
  into.push_back({block_change::kind::add, blocks_.back(), text});
}

void block_splitter::close(std::vector<block_change>& into) {
  call_.reset();
  if (std::exchange(open_, false)) into.push_back({block_change::kind::end, blocks_.back(), {}});
}

std::vector<block> blocks_of(const cogen::completion& answer) {
  block_splitter splitter;
  cogen::piece piece{.text = answer.text, .tokens = {}, .reasoning = answer.reasoning};
  for (std::size_t i = 0; i < answer.tool_calls.size(); ++i) {
    const auto& call = answer.tool_calls[i];
    piece.tool_calls.push_back(
        {.index = static_cast<int>(i), .id = call.id, .name = call.name, .arguments = call.arguments});
  }
  static_cast<void>(splitter.on(piece));
  return splitter.blocks();
}

}  // namespace server::api
