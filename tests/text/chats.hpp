#pragma once

#include <cogen/text/chat_template.hpp>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <vector>

/// What make_chats.py wrote to chats.json: "chats", "settings" to render them with, and "cases".
const boost::json::object& reference_chats();

std::vector<cogen::text::chat_message> messages_of(const boost::json::array& chat);

/// Of one of the settings, with the control tokens and the time that make_chats.py renders with.
cogen::text::template_options options_of(boost::json::object setting);
