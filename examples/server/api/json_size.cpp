#include "api/json_size.hpp"

namespace server::api {

namespace json = boost::json;

json_size size_of(const json::object& members) {
  json_size size{1, 0};
  for (const auto& [name, member] : members) size = size + json_size{0, name.size()} + size_of(member);
  return size;
}

json_size size_of(const json::value& value) {
  if (const auto* members = value.if_object()) return size_of(*members);
  json_size size{1, value.is_string() ? value.get_string().size() : 0};
  if (const auto* array = value.if_array())
    for (const auto& element : *array) size = size + size_of(element);
  return size;
}

}  // namespace server::api
