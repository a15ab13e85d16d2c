// Copyright (c) the mlo authors. BSD-3-Clause.
#pragma once

#include "method/sampler.hpp"

namespace mlo {

// Of `exact`, after its run: what its audited steps said, and its draws against those of chains that read all
// rows.
void audit(Sampler& sampler);

}  // namespace mlo
