#include "api/valid_text.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

namespace server::api {

std::string valid_text(std::string text) {
  boost::json::error_code invalid;
  boost::json::parse(boost::json::serialize(boost::json::value(text)), invalid);
  if (invalid)
    for (auto& c : text)
      if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  return text;
}

}  // namespace server::api
