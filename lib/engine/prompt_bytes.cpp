#include "engine/prompt_bytes.hpp"

#include <boost/json/value.hpp>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

namespace cogen::detail {
namespace {

namespace json = boost::json;

/// Adds up to a limit.
class bounded_count {
 public:
  explicit bounded_count(std::size_t most) : most_(most) {}

  std::size_t bytes() const noexcept { return bytes_; }
  bool is_full() const noexcept { return bytes_ == most_; }
  void add(std::size_t bytes) noexcept { bytes_ += std::min(bytes, most_ - bytes_); }

  void add(const json::object& members) {
    for (const auto& [name, member] : members) {
      if (is_full()) return;
      add(name.size());
      add(member);
    }
  }

  /// However deep it is.
  void add(const json::value& whole) {
    std::vector<const json::value*> left{&whole};
    while (!left.empty() && !is_full()) {
      const auto& next = *left.back();
      left.pop_back();
      add(1 + (next.is_string() ? next.get_string().size() : 0));
      if (const auto* array = next.if_array())
        for (const auto& element : *array) left.push_back(&element);
      if (const auto* object = next.if_object())
        for (const auto& [name, member] : *object) {
          add(name.size());
          left.push_back(&member);
        }
    }
  }

 private:
  const std::size_t most_;
  std::size_t bytes_ = 0;
};

}  // namespace

std::size_t prompt_bytes(const request& request, std::size_t most) {
  bounded_count count(most);
  if (const auto* text = std::get_if<std::string>(&request.prompt)) count.add(text->size());
  for (const auto& each : request.bad_words) count.add(each.size());
  const auto* messages = std::get_if<chat_messages>(&request.prompt);
  if (!messages) return count.bytes();
  for (const auto& each : *messages) {
    if (count.is_full()) break;
    count.add(each.role.size() + each.content.size());
    count.add(*each.extra);
  }
  count.add(*request.chat_template_kwargs);
  for (const auto& each : *request.tools) count.add(each);
  return count.bytes();
}

}  // namespace cogen::detail
