#include "application.hpp"

#include <boost/asio/post.hpp>

#include <malloc.h>

namespace server {

application::application(const options& chosen)
    : settings(chosen), freed(context.get_executor(), [this] { net::post(workers, [] { ::malloc_trim(0); }); }) {}

}  // namespace server
