#pragma once

#include <cogen/token_stream.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace server::api {

/// A part of an answer: reasoning, text, or one call of a tool.
struct block {
  enum class kind : std::uint8_t { reasoning, text, call };

  kind type = kind::text;
  std::size_t index = 0;  ///< in the answer, from 0
  std::string id = {};    ///< of a call
  std::string name = {};  ///< of a call's function
  std::string text = {};  ///< all that has come; of a call, its arguments
};

/// What a piece does to the blocks of an answer.
struct block_change {
  enum class kind : std::uint8_t { begin, add, end };

  kind type = kind::add;
  api::block block = {};   ///< as it is then
  std::string added = {};  ///< to its text
};

/// Divides an answer into blocks as it comes, one after the other.
class block_splitter {
 public:
  std::vector<block_change> split(const cogen::piece& piece);
  std::vector<block_change> end();  ///< ends the last block

  const std::vector<block>& blocks() const noexcept { return blocks_; }  ///< all that have begun

 private:
  void add(block::kind type, const std::string& text, std::vector<block_change>& changes);
  void add(const cogen::tool_call_delta& call, std::vector<block_change>& changes);
  void begin(block next, std::vector<block_change>& changes);
  void append(const std::string& text, std::vector<block_change>& changes);
  void close(std::vector<block_change>& changes);

  std::vector<block> blocks_;
  std::optional<int> call_;  // the open block's call
  bool open_ = false;
};

/// The blocks of a whole answer.
std::vector<block> blocks_of(const cogen::completion& answer);

}  // namespace server::api
