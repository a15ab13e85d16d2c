// Copyright (c) the mlo authors. BSD-3-Clause.
// Slice sampling (Neal 2003) along lines in parameter space, for directions in which a posterior is far from
// its Laplace fit: a rare level whose rows nearly all have one outcome has a tail as heavy as its prior's,
// which no proposal shaped like the fit explores. Every row that a line moves is read, so these steps leave
// the posterior itself invariant.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "mlo/base/random.hpp"
#include "mlo/kernel/kernel.hpp"
#include "mlo/model/lines.hpp"
#include "mlo/model/mode.hpp"

namespace mlo {

// theta[columns[k]] + s direction[k]. The point's position on the line is dual'theta - centre, which grows
// with s at rate 1.
struct SliceLine {
  std::vector<std::size_t> columns;
  std::vector<double> direction, dual;
  double centre = 0;           // the position of the mode
  double sd = 1;               // the Laplace fit's, along the line
  std::vector<RowId> rows;     // whose terms change,
  std::vector<double> slopes;  // and how fast their predictors do
  std::vector<double> y;       // of the rows
};

using SliceLines = std::shared_ptr<const std::vector<SliceLine>>;

[[nodiscard]] SliceLine slice_line(const AwkwardLine& line);
// Along the principal axes of the Laplace fit, all rows each: for few rows. (Those about which the data say
// little matter most: without them 50 rows of 200 columns gave a fifth of the effective draws.)
[[nodiscard]] std::vector<SliceLine> principal_lines(const Glm& model, const Mode& mode);

class LineSlices {
 public:
  LineSlices(const Glm& model, SliceLines lines);

  // What a sweep costs besides the rows it reads, roughly.
  [[nodiscard]] double nanoseconds() const noexcept { return 800 * static_cast<double>(lines_->size()); }
  // One step along every line. Returns by how much the log-likelihood has changed.
  double sweep(Stream& stream, Eigen::VectorXd& theta, StepInfo& info);

 private:
  struct Change {
    double log_likelihood = 0, log_prior = 0;  // the part of the prior that changes along the line
    [[nodiscard]] double sum() const noexcept { return log_likelihood + log_prior; }
  };
  double slice(Stream& stream, const SliceLine& line, Eigen::VectorXd& theta, StepInfo& info);
  [[nodiscard]] Change at(const SliceLine& line, const Eigen::VectorXd& theta, double s, StepInfo& info);

  const Glm* model_;
  SliceLines lines_;
  std::vector<double> eta_, moved_eta_;  // of the line's rows
  Eigen::VectorXd moved_;
};

}  // namespace mlo
