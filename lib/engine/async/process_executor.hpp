#pragma once

#include <cogen/fwd.hpp>

#include <boost/asio/any_io_executor.hpp>

namespace cogen::detail {

/// That of the system; in the child of a fork(), where the system's threads do not exist, that of a pool of its own.
net::any_io_executor process_executor();

/// The executor, or process_executor() in place of the system's.
net::any_io_executor in_this_process(net::any_io_executor executor);

}  // namespace cogen::detail
