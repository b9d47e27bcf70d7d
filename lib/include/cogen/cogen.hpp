#pragma once

// All that a program needs to load a model and generate. What own runners, KV layers and codecs derive from is in
// cogen/extend; what lies in cogen/detail may change at any time.
#include <cogen/engine.hpp>
#include <cogen/error.hpp>
#include <cogen/load_model.hpp>
#include <cogen/metrics.hpp>
#include <cogen/model.hpp>
#include <cogen/policy.hpp>
#include <cogen/version.hpp>
