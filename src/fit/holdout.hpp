// Copyright (c) the mlo authors. BSD-3-Clause.
// Rows that a fit does not see, and its scores on them.
#pragma once

#include <cstddef>
#include <span>

#include "mlo/chain/draws.hpp"
#include "mlo/data/design.hpp"
#include "mlo/data/formula.hpp"
#include "mlo/data/table.hpp"
#include "mlo/diagnose/scores.hpp"
#include "mlo/method/options.hpp"

namespace mlo {

struct HeldOut {
  ScoredRows rows;        // the complete ones
  std::size_t total = 0;  // with those that have a missing cell
};

// Before sampling, so that what is wrong with these rows is known then. Throws DataError: no complete row, a
// response that the family does not allow.
[[nodiscard]] HeldOut read_held_out(const FitOptions& options, const Formula& formula, const Recipe& recipe,
                                    const Table& table);

[[nodiscard]] Scores score_held_out(const FitOptions& options, const HeldOut& held,
                                    std::span<const ChainDraws> chains);

}  // namespace mlo
