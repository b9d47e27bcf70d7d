#pragma once

#include <string_view>

namespace server {

std::string_view page();  ///< page.html, a page to chat with

}  // namespace server
