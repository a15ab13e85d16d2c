// Copyright (c) the mlo authors. BSD-3-Clause.
// Scores for people and as JSON.
#pragma once

#include <string>

#include "mlo/base/json.hpp"
#include "mlo/diagnose/scores.hpp"

namespace mlo {

[[nodiscard]] std::string as_table(const Scores& scores);

// Figures that are not defined are null; those that are not for this family are left out.
[[nodiscard]] Json scores_to_json(const Scores& scores);
// The inverse. Throws JsonError.
[[nodiscard]] Scores scores_from_json(const Json& json);

}  // namespace mlo
