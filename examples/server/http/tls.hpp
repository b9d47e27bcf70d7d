#pragma once

#include "http/listener.hpp"

#include <filesystem>

namespace server::http {

/// Wraps sockets into TLS 1.2 or newer, with a certificate chain and its private key in PEM. Throws
/// std::invalid_argument, naming the file, if one cannot be used, and if the server was built without OpenSSL.
transport_factory tls(const std::filesystem::path& certificate, const std::filesystem::path& key);

}  // namespace server::http
