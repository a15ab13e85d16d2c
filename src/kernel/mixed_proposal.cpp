// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/kernel/mixed_proposal.hpp"

#include <cassert>
#include <cmath>

namespace mlo {
namespace {

constexpr double near_laplace_acceptance = 0.9;
constexpr double enough_trials = 30;

Eigen::Map<Eigen::VectorXd> writable(std::span<double> out) {
  return {out.data(), static_cast<Eigen::Index>(out.size())};
}

}  // namespace

MixedProposal::MixedProposal(Laplace fit)
    : fit_(std::move(fit)),
      laplace_share_(1.0 / 3),
      student_share_(1.0 / 3),
      past_(fit_.mode.size()),
      mean_(fit_.mode),
      factor_(Eigen::LLT<Eigen::MatrixXd>(fit_.covariance()).matrixL()),
      noise_(mean_.size()),
      white_(mean_.size()),
      proposed_(mean_.size()) {}

double MixedProposal::propose(Stream& stream, Params theta, std::span<double> out) {
  const double u = uniform(stream);
  normals(stream, {noise_.data(), out.size()});
  double log_q = 0;
  if (u < laplace_share_) {
    kind_ = Kind::laplace;
    log_q = propose_laplace(out, theta);
  } else if (u < laplace_share_ + student_share_) {
    kind_ = Kind::student;
    log_q = propose_student(stream, out, theta);
  } else {
    kind_ = Kind::walk;
    // From an eighth of the usual length to twice it.
    const double usual = 2.38 / std::sqrt(static_cast<double>(out.size()));
    noise_ *= usual * std::exp2(4 * uniform(stream) - 3);
    writable(out) = vector(theta);
    writable(out).noalias() += factor_.triangularView<Eigen::Lower>() * noise_;
  }
  proposed_ = writable(out);
  return log_q;
}

double MixedProposal::propose_laplace(std::span<double> out, Params theta) {
  const auto upper = fit_.cholesky.transpose().triangularView<Eigen::Upper>();
  proposed_ = vector(theta) - fit_.mode;
  white_.noalias() = upper * proposed_;
  const double before = white_.squaredNorm(), after = noise_.squaredNorm();
  upper.solveInPlace(noise_);
  writable(out) = fit_.mode + noise_;
  return 0.5 * (after - before);
}

// A normal vector divided by the root of a chi-squared variable over f; its log density is -(f + p)/2 log(1 +
// |w|^2/f) up to a constant.
double MixedProposal::propose_student(Stream& stream, std::span<double> out, Params theta) {
  const auto lower = factor_.triangularView<Eigen::Lower>();
  white_ = vector(theta) - mean_;
  lower.solveInPlace(white_);
  noise_ *= std::sqrt(student_freedom / (2 * gamma(stream, student_freedom / 2)));
  const double before = white_.squaredNorm(), after = noise_.squaredNorm();
  writable(out) = mean_;
  writable(out).noalias() += lower * noise_;
  const double p = static_cast<double>(out.size());
  return 0.5 * (student_freedom + p) *
         (std::log1p(after / student_freedom) - std::log1p(before / student_freedom));
}

void MixedProposal::adapt(Params theta) {
  if (frozen_) return;
  if (kind_ != Kind::walk) {
    Tally& tally = kind_ == Kind::laplace ? laplace_ : student_;
    tally.tried += 1;
    tally.accepted += vector(theta) == proposed_ ? 1 : 0;
  }
  past_.add(theta);
  if (past_.due()) refactor();
}

// The Laplace fit counts as `before` draws of the past.
void MixedProposal::refactor() {
  const double before = 20 + static_cast<double>(mean_.size());
  const Eigen::MatrixXd scale = (past_.scatter + before * fit_.covariance()) / (past_.count + before);
  const Eigen::LLT<Eigen::MatrixXd> chol(0.5 * (scale + scale.transpose()));
  if (chol.info() != Eigen::Success) return;
  factor_ = chol.matrixL();
  mean_ = (past_.count * past_.mean + before * fit_.mode) / (past_.count + before);
}

void MixedProposal::freeze() noexcept {
  if (frozen_) return;
  frozen_ = true;
  const bool near = laplace_.tried >= enough_trials && laplace_.share() >= near_laplace_acceptance;
  // In many coordinates Student's tails cost more than they save, and moments learnt from few draws are
  // rough.
  const bool better = !near && laplace_.tried >= enough_trials && laplace_.share() > student_.share();
  laplace_share_ = near ? 0.9 : better ? 0.5 : 0;
  student_share_ = near ? 0 : better ? 0.2 : 0.5;
}

void MixedProposal::save(std::vector<double>& out) const {
  out.insert(out.end(), {frozen_ ? 1.0 : 0.0, laplace_share_, student_share_, laplace_.tried,
                         laplace_.accepted, student_.tried, student_.accepted});
  past_.save(out);
  out.insert(out.end(), mean_.data(), mean_.data() + mean_.size());
  out.insert(out.end(), factor_.data(), factor_.data() + factor_.size());
}

void MixedProposal::load(std::span<const double> in) {
  frozen_ = in[0] != 0;
  laplace_share_ = in[1];
  student_share_ = in[2];
  laplace_ = {in[3], in[4]};
  student_ = {in[5], in[6]};
  in = in.subspan(7);
  past_.load(in);
  assert(in.size() == static_cast<std::size_t>(mean_.size() + factor_.size()));
  std::copy_n(in.data(), mean_.size(), mean_.data());
  std::copy_n(in.data() + mean_.size(), factor_.size(), factor_.data());
}

}  // namespace mlo
