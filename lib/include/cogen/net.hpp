#pragma once

namespace boost::asio {}

namespace cogen {

/// The one asynchronous library cogen speaks: Boost.Asio >= 1.81.
namespace net = boost::asio;

}  // namespace cogen
