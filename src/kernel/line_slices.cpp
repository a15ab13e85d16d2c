// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/kernel/line_slices.hpp"

#include <algorithm>
#include <cmath>

#include "mlo/model/glm.hpp"

namespace mlo {

SliceLine slice_line(const AwkwardLine& line) {
  SliceLine out;
  out.columns = {line.column};
  out.direction = {1};
  out.dual = {1};
  if (line.intercept != 0) {
    out.columns.push_back(0);
    out.direction.push_back(line.intercept);
    out.dual.push_back(0);
  }
  out.centre = line.centre;
  out.sd = line.sd;
  out.rows = line.rows;
  out.slopes = line.slopes;
  out.y = line.y;
  return out;
}

std::vector<SliceLine> principal_lines(const Glm& model, const Mode& mode) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> axes(mode.information);
  const std::size_t n = model.rows(), p = model.dim();
  std::vector<SliceLine> out;
  for (std::size_t k = 0; k < p; ++k) {
    const auto axis = static_cast<Eigen::Index>(k);
    if (!(axes.eigenvalues()[axis] > 0)) continue;
    const Eigen::VectorXd u = axes.eigenvectors().col(axis);
    SliceLine line;
    for (std::size_t j = 0; j < p; ++j) line.columns.push_back(j);
    line.direction.assign(u.begin(), u.end());
    line.dual = line.direction;
    line.centre = u.dot(mode.theta);
    line.sd = 1 / std::sqrt(axes.eigenvalues()[axis]);
    for (std::size_t i = 0; i < n; ++i) line.rows.push_back(static_cast<RowId>(i));
    line.slopes.resize(n);
    line.y.resize(n);
    model.store().products(Coefficients(params(u), model.store()), Rows::range(0, n), line.slopes);
    model.store().responses(Rows::range(0, n), line.y);
    out.push_back(std::move(line));
  }
  return out;
}

LineSlices::LineSlices(const Glm& model, SliceLines lines)
    : model_(&model), lines_(std::move(lines)), moved_(static_cast<Eigen::Index>(model.dim())) {
  std::size_t most = 0;
  for (const SliceLine& line : *lines_) most = std::max(most, line.rows.size());
  eta_.resize(most);
  moved_eta_.resize(most);
}

double LineSlices::sweep(Stream& stream, Eigen::VectorXd& theta, StepInfo& info) {
  double change = 0;
  for (const SliceLine& line : *lines_) change += slice(stream, line, theta, info);
  return change;
}

// At theta + s direction. eta_ has the predictors at theta of the rows that move; moved_ differs from theta
// along the line alone.
LineSlices::Change LineSlices::at(const SliceLine& line, const Eigen::VectorXd& theta, double s,
                                  StepInfo& info) {
  for (std::size_t k = 0; k < line.columns.size(); ++k) {
    const auto j = static_cast<Eigen::Index>(line.columns[k]);
    moved_[j] = theta[j] + s * line.direction[k];
  }
  const std::size_t n = line.rows.size();
  for (std::size_t i = 0; i < n; ++i) moved_eta_[i] = eta_[i] + s * line.slopes[i];
  const double log_second =
      model_->family().estimates_second() ? moved_[static_cast<Eigen::Index>(model_->columns())] : 0;
  Change out;
  for (std::size_t first = 0; first < n; first += Family::batch_rows) {
    const std::size_t count = std::min(Family::batch_rows, n - first);
    out.log_likelihood +=
        model_->sum({{moved_eta_.data() + first, count}, {line.y.data() + first, count}, log_second},
                    Rows(std::span(line.rows).subspan(first, count)));
  }
  out.log_prior = model_->log_prior_of(line.columns, params(moved_));
  info.rows_read += n;
  return out;
}

// On the scale z, position = sd sinh(z): there even Student's tails fall exponentially, so that stepping out
// takes a few steps of fixed width wherever the slice is. The log density of z has log cosh(z) more.
double LineSlices::slice(Stream& stream, const SliceLine& line, Eigen::VectorXd& theta, StepInfo& info) {
  model_->store().predictors(Coefficients(params(theta), model_->store()), Rows(line.rows), eta_);
  moved_ = theta;
  double position = -line.centre;
  for (std::size_t k = 0; k < line.columns.size(); ++k)
    position += line.dual[k] * theta[static_cast<Eigen::Index>(line.columns[k])];
  const double z = std::asinh(position / line.sd);
  const auto step_to = [&](double to) { return line.sd * std::sinh(to) - position; };
  const auto log_cosh = [](double x) { return std::abs(x) + std::log1p(std::exp(-2 * std::abs(x))); };
  const Change here = at(line, theta, 0, info);
  const double level = here.sum() + log_cosh(z) - exponential(stream);
  const auto inside = [&](double to) {
    const double height = at(line, theta, step_to(to), info).sum() + log_cosh(to);
    return height > level;  // false for NaN
  };
  constexpr double width = 1.5;
  constexpr int most_steps = 40;  // z = 60 is beyond every double
  double low = z - width * uniform(stream), high = low + width;
  for (int k = 0; k < most_steps && inside(low); ++k) low -= width;
  for (int k = 0; k < most_steps && inside(high); ++k) high += width;
  for (;;) {
    const double to = low + (high - low) * uniform(stream);
    const double s = step_to(to);
    const Change there = at(line, theta, s, info);
    if (there.sum() + log_cosh(to) > level) {
      theta = moved_;
      return there.log_likelihood - here.log_likelihood;
    }
    (to < z ? low : high) = to;
    if (high - low < 1e-12) return 0;  // rounding: stay
  }
}

}  // namespace mlo
