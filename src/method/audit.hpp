// Copyright (c) the mlo authors. BSD-3-Clause.
#pragma once

#include <optional>

#include "method/sampler.hpp"
#include "mlo/kernel/line_slices.hpp"

namespace mlo {

// Of `exact`, after its run: what its audited steps said, and its draws against those of chains that read all
// rows.
void audit(Sampler& sampler, const std::optional<LineSlices>& slices);

}  // namespace mlo
