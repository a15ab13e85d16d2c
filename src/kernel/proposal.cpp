// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/kernel/proposal.hpp"

#include <cassert>
#include <cmath>

#include "mlo/base/errors.hpp"

namespace mlo {

using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

void draw_normals(Stream& stream, VectorXd& out) {
  normals(stream, {out.data(), static_cast<std::size_t>(out.size())});
}

Eigen::Map<VectorXd> vector(std::span<double> out) {
  return {out.data(), static_cast<Eigen::Index>(out.size())};
}

}  // namespace

Laplace::Laplace(VectorXd at, const MatrixXd& information) : mode(std::move(at)) {
  const Eigen::LLT<MatrixXd> chol(information);
  if (chol.info() != Eigen::Success)
    throw ModelError(
        "the log posterior has no maximum of full dimension: its curvature at the mode is not positive");
  cholesky = chol.matrixL();
}

VectorXd Laplace::from_white(const VectorXd& v) const {
  return mode + cholesky.transpose().triangularView<Eigen::Upper>().solve(v);
}
VectorXd Laplace::to_white(const VectorXd& theta) const { return cholesky.transpose() * (theta - mode); }
MatrixXd Laplace::covariance() const {
  const MatrixXd inverse =
      cholesky.triangularView<Eigen::Lower>().solve(MatrixXd::Identity(cholesky.rows(), cholesky.cols()));
  return inverse.transpose() * inverse;
}

LaplaceProposal::LaplaceProposal(Laplace fit, Options options)
    : fit_(std::move(fit)), options_(options), white_(fit_.mode.size()), noise_(fit_.mode.size()) {}

double LaplaceProposal::propose(Stream& stream, Params theta, std::span<double> out) {
  const double b = uniform(stream) < options_.local_share ? options_.local_step : options_.step;
  const double a = std::sqrt(1 - b * b);
  const auto upper = fit_.cholesky.transpose().triangularView<Eigen::Upper>();
  noise_ = mlo::vector(theta) - fit_.mode;  // in two steps: a product with a difference would allocate
  white_.noalias() = upper * noise_;
  const double before = white_.squaredNorm();
  draw_normals(stream, noise_);
  white_ = a * white_ + b * noise_;
  const double after = white_.squaredNorm();
  upper.solveInPlace(white_);
  vector(out) = fit_.mode + white_;
  return 0.5 * (after - before);  // reversible with respect to the fit: q(t|t') / q(t'|t) = N(t) / N(t')
}

RandomWalkProposal::RandomWalkProposal(MatrixXd factor)
    : factor_(std::move(factor)), noise_(factor_.cols()) {}

double RandomWalkProposal::propose(Stream& stream, Params theta, std::span<double> out) {
  draw_normals(stream, noise_);
  vector(out).noalias() = mlo::vector(theta) + factor_ * noise_;
  return 0;
}

AdaptiveProposal::AdaptiveProposal(MatrixXd initial, double scale)
    : initial_(std::move(initial)),
      factor_(initial_),
      scale_(scale),
      mean_(VectorXd::Zero(initial_.rows())),
      noise_(initial_.cols()),
      scatter_(MatrixXd::Zero(initial_.rows(), initial_.rows())) {}

double AdaptiveProposal::propose(Stream& stream, Params theta, std::span<double> out) {
  draw_normals(stream, noise_);
  vector(out).noalias() = mlo::vector(theta) + factor_ * noise_;
  return 0;
}

void AdaptiveProposal::adapt(Params theta) {
  if (frozen_) return;
  count_ += 1;
  const VectorXd delta = mlo::vector(theta) - mean_;
  mean_ += delta / count_;
  scatter_ += delta * (mlo::vector(theta) - mean_).transpose();
  // A covariance of fewer points than this says little; a new factor every step would cost more than it
  // brings.
  const double first = std::max(100.0, 10.0 * static_cast<double>(mean_.size()));
  constexpr double every = 25;
  if (count_ >= first && std::fmod(count_, every) == 0) refactor();
}

void AdaptiveProposal::refactor() {
  constexpr double epsilon = 1e-6;  // keeps the covariance regular, as in Haario et al.
  const MatrixXd covariance =
      scatter_ / (count_ - 1) + epsilon * initial_ * initial_.transpose() / (scale_ * scale_);
  const Eigen::LLT<MatrixXd> chol(0.5 * (covariance + covariance.transpose()));
  if (chol.info() == Eigen::Success) factor_ = scale_ * MatrixXd(chol.matrixL());
}

void AdaptiveProposal::save(std::vector<double>& out) const {
  out.push_back(frozen_ ? 1 : 0);
  out.push_back(count_);
  out.insert(out.end(), mean_.data(), mean_.data() + mean_.size());
  out.insert(out.end(), scatter_.data(), scatter_.data() + scatter_.size());
  out.insert(out.end(), factor_.data(), factor_.data() + factor_.size());
}

void AdaptiveProposal::load(std::span<const double> in) {
  assert(in.size() == static_cast<std::size_t>(2 + mean_.size() + scatter_.size() + factor_.size()));
  frozen_ = in[0] != 0;
  count_ = in[1];
  const double* from = in.data() + 2;
  for (auto* part : {mean_.data(), scatter_.data(), factor_.data()}) {
    const auto size = part == mean_.data() ? mean_.size() : scatter_.size();
    std::copy_n(from, size, part);
    from += size;
  }
}

}  // namespace mlo
