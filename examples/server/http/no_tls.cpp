#include "http/tls.hpp"

#include <stdexcept>

namespace server::http {

transport_factory tls(const std::filesystem::path&, const std::filesystem::path&) {
  throw std::invalid_argument("--tls-cert is given, and this server was built without OpenSSL");
}

}  // namespace server::http
