// Copyright (c) the mlo authors. BSD-3-Clause.
// Numbers that the moves of levels share.
#pragma once

namespace mlo::level_passes {

// The least precision of a proposal, as a share of that at the reference: the cubic terms can take it all.
inline constexpr double least_precision = 0.4;
inline constexpr double wider = 1.05;  // proposals than the expansion says
// Of the curvature at the mode of a curve, for its proposal: such laws have heavy sides.
inline constexpr double curve_width = 0.85;
inline constexpr double pass_share = 0.5;  // of a level's rows: beyond it all of them are read
// Where a standard deviation is known less well than this (of its log), effects and it move together.
inline constexpr double loose_scale = 0.1;

}  // namespace mlo::level_passes
