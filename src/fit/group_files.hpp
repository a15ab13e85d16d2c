// Copyright (c) the mlo authors. BSD-3-Clause.
// Group effects in a run directory: groups.csv has what the posterior says of each, effects-1.npy, ... have
// the draws of the chains, one row per draw, in the order of groups.csv.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "mlo/chain/draws.hpp"
#include "mlo/fit/fit.hpp"

namespace mlo {

void write_groups(const std::string& directory, std::span<const GroupEffect> effects,
                  std::span<const ChainDraws> chains);
// Empty if the directory has none. Throws DataError if a file is damaged.
[[nodiscard]] std::vector<GroupEffect> read_groups(const std::string& directory);
// Adds the effects' draws to the chains, if they were kept.
void read_effects(const std::string& directory, std::size_t effects, std::span<ChainDraws> chains);

}  // namespace mlo
