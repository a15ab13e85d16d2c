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

double GammaProposal::propose(Stream& stream, Params theta, std::span<double> out) {
  // With k the shape and u = log(theta' / theta), log q(theta'|theta) is k log(k / theta) + (k - 1) log
  // theta'
  // - k theta' / theta up to a constant, and the log ratio is u + 2k (sinh u - u).
  double log_q = 0;
  for (std::size_t j = 0; j < theta.size(); ++j) {
    const double factor = gamma(stream, shape_) / shape_;
    const double u = std::log(factor);
    out[j] = theta[j] * factor;
    log_q += u + 2 * shape_ * (std::sinh(u) - u);
  }
  return log_q;
}

RunningMoments::RunningMoments(Eigen::Index dim)
    : mean(VectorXd::Zero(dim)), scatter(MatrixXd::Zero(dim, dim)) {}

void RunningMoments::add(Params theta) {
  count += 1;
  const VectorXd delta = mlo::vector(theta) - mean;
  mean += delta / count;
  scatter += delta * (mlo::vector(theta) - mean).transpose();
}

bool RunningMoments::due() const noexcept {
  const double first = std::max(100.0, 10.0 * static_cast<double>(mean.size()));
  constexpr double every = 25;
  return count >= first && std::fmod(count, every) == 0;
}

void RunningMoments::save(std::vector<double>& out) const {
  out.push_back(count);
  out.insert(out.end(), mean.data(), mean.data() + mean.size());
  out.insert(out.end(), scatter.data(), scatter.data() + scatter.size());
}

void RunningMoments::load(std::span<const double>& in) {
  count = in[0];
  in = in.subspan(1);
  for (const std::span<double> part : {std::span(mean.data(), static_cast<std::size_t>(mean.size())),
                                       std::span(scatter.data(), static_cast<std::size_t>(scatter.size()))}) {
    std::copy_n(in.data(), part.size(), part.data());
    in = in.subspan(part.size());
  }
}

AdaptiveProposal::AdaptiveProposal(MatrixXd initial, double scale)
    : initial_(std::move(initial)),
      factor_(initial_),
      scale_(scale),
      past_(initial_.rows()),
      noise_(initial_.cols()) {}

double AdaptiveProposal::propose(Stream& stream, Params theta, std::span<double> out) {
  draw_normals(stream, noise_);
  vector(out).noalias() = mlo::vector(theta) + factor_ * noise_;
  return 0;
}

void AdaptiveProposal::adapt(Params theta) {
  if (frozen_) return;
  past_.add(theta);
  if (past_.due()) refactor();
}

void AdaptiveProposal::refactor() {
  constexpr double epsilon = 1e-6;  // keeps the covariance regular, as in Haario et al.
  const MatrixXd covariance =
      past_.scatter / (past_.count - 1) + epsilon * initial_ * initial_.transpose() / (scale_ * scale_);
  const Eigen::LLT<MatrixXd> chol(0.5 * (covariance + covariance.transpose()));
  if (chol.info() == Eigen::Success) factor_ = scale_ * MatrixXd(chol.matrixL());
}

void AdaptiveProposal::save(std::vector<double>& out) const {
  out.push_back(frozen_ ? 1 : 0);
  past_.save(out);
  out.insert(out.end(), factor_.data(), factor_.data() + factor_.size());
}

void AdaptiveProposal::load(std::span<const double> in) {
  frozen_ = in[0] != 0;
  in = in.subspan(1);
  past_.load(in);
  assert(in.size() == static_cast<std::size_t>(factor_.size()));
  std::copy_n(in.data(), factor_.size(), factor_.data());
}

}  // namespace mlo
