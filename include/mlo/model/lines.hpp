// Copyright (c) the mlo authors. BSD-3-Clause.
// Lines in parameter space along which the terms of few rows change: the coefficient of a rare level moves
// the rows of that level alone. Where such a coefficient's posterior is far from normal (a level with one
// success, or none), its rows can all be read at every step.
#pragma once

#include <Eigen/Dense>
#include <cstddef>
#include <span>
#include <vector>

#include "mlo/model/mode.hpp"
#include "mlo/model/model.hpp"

namespace mlo {

class Glm;
class RowStore;

// theta[column] moves by s and theta[0] by s * intercept, so that rows with the column's most common value
// stay where they are. Working columns are centred, so that value need not be 0.
struct Line {
  std::size_t column = 0;
  double intercept = 0;
  std::vector<RowId> rows;     // those that move, ascending,
  std::vector<double> slopes;  // by s * slopes
};

// The columns whose lines move at most `most_rows` rows; every column, if there are no more than `few_rows`
// in all.
[[nodiscard]] std::vector<Line> lines_of_few_rows(const RowStore& rows, std::size_t most_rows,
                                                  std::size_t few_rows = 0);

// A line along which the posterior is far from its Laplace fit.
struct AwkwardLine : Line {
  std::vector<double> y;  // of the rows
  double centre = 0;      // theta[column] at the mode
  double sd = 1;          // along the line, by the Laplace fit
  double remainder = 0;   // how far the log posterior is from the fit, 2.5 sd from the mode
};

struct AwkwardLimits {
  std::size_t line_rows = 2000;  // of one line
  std::size_t all_rows = 4000;   // of all lines together
  std::size_t few_rows = 0;      // of the data, up to which every column has a line
  // What counts as far: the posterior of a level with k successes has a remainder of about 2.6 / sqrt(k).
  double remainder = 0.25;
};

// The most awkward first, as far as the limits allow.
[[nodiscard]] std::vector<AwkwardLine> awkward_lines(const Glm& model, const Mode& mode,
                                                     const AwkwardLimits& limits = {});

// The coefficients of awkward lines, kept apart from the others. For rows that are on none of the lines, a
// line's coefficient is the same as a shift of the intercept. So the others are the other coefficients, with
// intercept - sum of intercepts[k] * theta[columns[k]] for the intercept: a move along a line leaves them as
// they are.
// Moves of the others take the lines along: what the rows of a line say about its coefficient depends on
// where the others put these rows. theta[columns[k]] + shear.row(k) * others stays, which by the Laplace fit
// is independent of the others. The shear has determinant 1, so that densities stay what they are. All empty:
// nothing is apart.
struct Apart {
  std::vector<std::size_t> columns;    // of the lines
  std::vector<double> intercepts;      // theta[0] moves by intercepts[k] where theta[columns[k]] moves by 1
  std::vector<std::size_t> remaining;  // the columns of the others, ascending
  std::vector<RowId> rows;             // of all lines, ascending
  Eigen::MatrixXd shear;               // a row per line
  Eigen::MatrixXd information;  // of the others by the Laplace fit, whatever the lines' coefficients are
  [[nodiscard]] bool empty() const noexcept { return columns.empty(); }
  // The others, of theta; and theta moved to these others.
  [[nodiscard]] Eigen::VectorXd others(const Eigen::VectorXd& theta) const;
  void place(const double* others, Eigen::Ref<Eigen::VectorXd> theta) const;
};
// `information`: of all parameters, at the mode.
[[nodiscard]] Apart keep_apart(std::span<const AwkwardLine> lines, const Eigen::MatrixXd& information);

}  // namespace mlo
