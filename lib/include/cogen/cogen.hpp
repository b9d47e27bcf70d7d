#pragma once

// All that a program needs to load a model and generate. What own runners, KV layers and codecs derive from is in
// cogen/extend and cogen/cache.
#include <cogen/engine.hpp>
#include <cogen/load_model.hpp>
#include <cogen/metrics.hpp>
#include <cogen/model.hpp>
#include <cogen/policy.hpp>
#include <cogen/redirect_diagnostics.hpp>
#include <cogen/version.hpp>
