// Copyright (c) the mlo authors. BSD-3-Clause.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "method/sampler.hpp"

namespace mlo {

// The chains on all rows that draws are compared with: random numbers of their own, starts far apart.
[[nodiscard]] ChainOptions audit_chains(std::uint64_t seed);

// What the audited steps of `found` said, and its draws against those of `full`, which read all rows.
void report_audit(const std::vector<std::string>& names, const std::vector<ChainRecord>& found,
                  const std::vector<ChainRecord>& full, Samples& out);

// Of `exact`, after its run.
void audit(Sampler& sampler);

}  // namespace mlo
