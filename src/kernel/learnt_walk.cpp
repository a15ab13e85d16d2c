// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/kernel/learnt_walk.hpp"

#include <cmath>

namespace mlo {
namespace {

using Eigen::Index;
constexpr double width = 1.15;  // of the learnt law, so that the posterior's tails are within reach
constexpr double walks = 0.25;  // their share
constexpr double enough = 50;   // sweeps, for a covariance
// Sweeps after which draws from the learnt law begin, and what was learnt first is forgotten: the chain was
// still on its way.
constexpr double forget = 100;

}  // namespace

LearntWalk::LearntWalk(std::size_t dim, double sd)
    : dim_(dim),
      mean_(Eigen::VectorXd::Zero(static_cast<Index>(dim))),
      squares_(Eigen::MatrixXd::Zero(static_cast<Index>(dim), static_cast<Index>(dim))),
      centre_(mean_),
      factor_(sd * Eigen::MatrixXd::Identity(static_cast<Index>(dim), static_cast<Index>(dim))) {}

double LearntWalk::propose(Stream& stream, std::span<const double> from, std::span<double> to) const {
  const auto n = static_cast<Index>(dim_);
  const Eigen::Map<const Eigen::VectorXd> x(from.data(), n);
  Eigen::Map<Eigen::VectorXd> y(to.data(), n);
  Eigen::VectorXd z(n);
  const bool walk = !learnt_ || uniform(stream) < walks;
  for (Index j = 0; j < n; ++j) z[j] = normal(stream);
  if (walk) {
    // Short and long walks.
    const double length = (uniform(stream) < 0.5 ? 0.6 : 2.4) / std::sqrt(static_cast<double>(dim_));
    y = x + factor_.triangularView<Eigen::Lower>() * Eigen::VectorXd(length * z);
    return 0;
  }
  y = centre_ + factor_.triangularView<Eigen::Lower>() * Eigen::VectorXd(width * z);
  const Eigen::VectorXd back = factor_.triangularView<Eigen::Lower>().solve(x - centre_) / width;
  return 0.5 * (z.squaredNorm() - back.squaredNorm());
}

void LearntWalk::learn(std::span<const double> value) {
  const Eigen::Map<const Eigen::VectorXd> x(value.data(), static_cast<Index>(dim_));
  ++count_;
  const Eigen::VectorXd before = x - mean_;
  mean_ += before / count_;
  squares_ += before * (x - mean_).transpose();
  if (count_ >= enough && std::fmod(count_, 25) == 0) settle();
  if (!learnt_ && count_ == forget) {
    learnt_ = true;
    count_ = 0;
    mean_.setZero();
    squares_.setZero();
  }
}

void LearntWalk::settle() {
  const auto n = static_cast<Index>(dim_);
  const Eigen::MatrixXd covariance = squares_ / (count_ - 1) + 1e-8 * Eigen::MatrixXd::Identity(n, n);
  const Eigen::LLT<Eigen::MatrixXd> llt(covariance);
  if (llt.info() != Eigen::Success) return;
  factor_ = llt.matrixL();
  centre_ = mean_;
}

void LearntWalk::freeze() {
  if (count_ >= enough) settle();
}

double LearntWalk::sd(std::size_t j) const noexcept { return factor_.row(static_cast<Index>(j)).norm(); }

void LearntWalk::save(std::vector<double>& out) const {
  out.push_back(count_);
  out.push_back(learnt_ ? 1 : 0);
  for (const auto* const v : {&mean_, &centre_}) out.insert(out.end(), v->data(), v->data() + v->size());
  for (const auto* const m : {&squares_, &factor_}) out.insert(out.end(), m->data(), m->data() + m->size());
}

std::size_t LearntWalk::load(std::span<const double> in) {
  count_ = in[0];
  learnt_ = in[1] != 0;
  std::size_t at = 2;
  const auto take = [&](double* to, Index size) {
    for (Index j = 0; j < size; ++j) to[j] = in[at++];
  };
  take(mean_.data(), mean_.size());
  take(centre_.data(), centre_.size());
  take(squares_.data(), squares_.size());
  take(factor_.data(), factor_.size());
  return at;
}

}  // namespace mlo
