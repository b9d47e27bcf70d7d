#pragma once

// Comes before each source of XGrammar, which nothing else can stop. Its checks of itself, which are left out of a
// release, stand wherever it takes a step: each counts one instead. What it includes first is exempt, since destructors
// and what holds a lock check themselves there.

#include "answers/grammar/steps.hpp"
#include "support/container.h"
#include "support/dynamic_bitset.h"
#include "support/logging.h"
#include "support/recursion_guard.h"
#include "support/thread_safe_cache.h"
#include "support/utils.h"

// NOLINTNEXTLINE(readability-identifier-naming)
#undef XGRAMMAR_DCHECK
// NOLINTNEXTLINE(readability-identifier-naming)
#define XGRAMMAR_DCHECK(condition) \
  while (::cogen::grammar::count_step()) XGRAMMAR_ICHECK(condition)

// It is called in loops that check nothing.
// NOLINTNEXTLINE(readability-identifier-naming)
#define HashCombine(...) (::cogen::grammar::count_step(), HashCombine(__VA_ARGS__))
