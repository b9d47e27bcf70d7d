#pragma once

#include <cogen/error.hpp>

#include <exception>

namespace cogen::detail {

/// The message of an exception, valid while `thrown` holds it; a fixed text if it is not a std::exception.
std::string_view sentence_of(const std::exception_ptr& thrown) noexcept;

/// The error code and message for a request that the exception ended.
diagnostics diagnostics_of(const std::exception_ptr& thrown) noexcept;

}  // namespace cogen::detail
