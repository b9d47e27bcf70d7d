#pragma once

#include "answers/grammar/backend.hpp"
#include "answers/grammar/compiled_grammar.hpp"

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace cogen::grammar {

/// The grammars that were compiled for one tenant, and what compiles further ones. Not thread-safe.
class format_cache {
 public:
  format_cache(std::shared_ptr<backend> compiler, std::size_t max_bytes)
      : compiler_(std::move(compiler)), max_bytes_(max_bytes) {}

  const std::shared_ptr<backend>& compiler() const noexcept { return compiler_; }

  std::shared_ptr<const compiled_grammar> find(const std::string& key);  ///< null: it is not kept

  /// Drops the least recently used ones beyond the limit, with what names them. Throws std::bad_alloc.
  void keep(std::string key, std::shared_ptr<const compiled_grammar> grammar);

  /// Another compiler, which has all to learn again, and another limit.
  void limit(std::shared_ptr<backend> compiler, std::size_t max_bytes);

  std::size_t bytes() const noexcept { return bytes_; }

 private:
  struct entry {
    std::string key;
    std::shared_ptr<const compiled_grammar> grammar;

    std::size_t bytes() const noexcept { return key.size() + grammar->bytes(); }
  };

  void trim();

  std::shared_ptr<backend> compiler_;
  std::size_t max_bytes_;
  std::list<entry> recent_;                                                  // the most recently used first
  std::unordered_map<std::string_view, std::list<entry>::iterator> places_;  // by their own keys
  std::size_t bytes_ = 0;
};

}  // namespace cogen::grammar
