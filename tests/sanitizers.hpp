// Which sanitizer this build has.
#pragma once

#ifndef __has_feature
#define __has_feature(name) 0  // GCC 13 has __SANITIZE_…__ instead
#endif

namespace cogen::test {

#if __has_feature(address_sanitizer) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool address_sanitized = true;
#else
inline constexpr bool address_sanitized = false;
#endif

#if __has_feature(thread_sanitizer) || defined(__SANITIZE_THREAD__)
inline constexpr bool thread_sanitized = true;
#else
inline constexpr bool thread_sanitized = false;
#endif

inline constexpr bool sanitized = address_sanitized || thread_sanitized;

}  // namespace cogen::test
