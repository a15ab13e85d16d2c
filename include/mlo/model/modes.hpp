// Copyright (c) the mlo authors. BSD-3-Clause.
// The modes of a posterior that may have several: where the log-likelihood is not concave (`student`), rows
// far from the fit say little, and another fit may suit them as well.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "mlo/base/thread_pool.hpp"
#include "mlo/model/any_model.hpp"
#include "mlo/model/mode.hpp"

namespace mlo {

struct ModesOptions {
  // Rows of the search: so many, one from each of as many strata. On tall data it costs less than a pass.
  std::size_t subset = 1000;
  // A mode whose log posterior is lower by more than this is not looked at on all rows: e^-12 is 6e-6, so
  // that it has less than `least_share` of the posterior even where it is a hundred times wider than the
  // highest.
  double depth = 12;
  // Modes with a smaller share of the posterior, by the Laplace fits, are left out: of the usual 4,000 draws
  // four or fewer would be there, which no mean or interval shows.
  double least_share = 1e-3;
};

struct FoundMode {
  Mode mode;
  double share = 1;  // of the posterior, by the Laplace fits of all modes
};

struct Modes {
  std::vector<FoundMode> found;  // the highest first, which is kept whatever its share; at least one
  double passes = 0;             // over all rows
  [[nodiscard]] bool several() const noexcept { return found.size() > 1; }
};

// The mode that find_mode finds and, if the model is a generalised linear one whose family is not
// log-concave, others: Newton's method from least squares, from fits to the rows that the first mode suits
// worst, from fits through as many random rows as there are coefficients, and from points far from the first
// mode. On at most `subset` rows first. Those that end elsewhere go on over all rows, if their log posterior
// can come within `depth` of the highest, given what the other rows may say. The search sees all data that
// have few rows. It is not exhaustive: the more coefficients, the more modes it can miss. Nor does it see a
// mode that is due to rows too rare for the subset. Deterministic. Throws as find_mode does.
[[nodiscard]] Modes find_modes(const AnyModel& model, ThreadPool& pool, const ModesOptions& options = {});

// "the posterior has 2 modes: ...": where they are, in the user's coordinates, and how much lower the others
// are.
[[nodiscard]] std::string modes_words(const AnyModel& model, const Modes& modes);
// The same, with what to do. Empty if there is one mode.
[[nodiscard]] std::string modes_warning(const AnyModel& model, const Modes& modes);

}  // namespace mlo
