// How often tests of random histories repeat.
#pragma once

namespace cogen::test {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
#else
inline constexpr bool sanitized = false;
#endif

/// Under a sanitizer, where a history takes ten times as long, one is enough for what only a sanitizer sees.
constexpr unsigned repetitions(unsigned usual) { return sanitized ? 1 : usual; }

}  // namespace cogen::test
