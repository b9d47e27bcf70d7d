#pragma once

namespace boost::asio {}

namespace cogen {

/// Boost.Asio >= 1.81, the asynchronous library that cogen uses.
namespace net = boost::asio;

}  // namespace cogen
