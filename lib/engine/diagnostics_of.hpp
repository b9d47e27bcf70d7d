#pragma once

#include <cogen/error.hpp>

#include <exception>

namespace cogen::detail {

/// The words of an exception; without any of its own it is named by what it is.
std::string_view sentence_of(const std::exception_ptr& thrown) noexcept;

/// What an exception means for the request that it stopped.
diagnostics diagnostics_of(const std::exception_ptr& thrown) noexcept;

}  // namespace cogen::detail
