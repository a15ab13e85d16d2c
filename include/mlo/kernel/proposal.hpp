// Copyright (c) the mlo authors. BSD-3-Clause.
// Proposals: how theta' is drawn given theta.
#pragma once

#include <Eigen/Dense>
#include <concepts>
#include <span>
#include <vector>

#include "mlo/base/random.hpp"
#include "mlo/model/model.hpp"

namespace mlo {

// Law: propose() writes theta' ~ q(.|theta) and returns log q(theta|theta') - log q(theta'|theta). adapt()
// sees the chain's state after each step until freeze(); save() and load() carry what was learnt.
template <class P>
concept Proposal = requires(P& p, const P& fixed, Stream& stream, Params theta, std::span<double> out,
                            std::vector<double>& saved, std::span<const double> loaded) {
  { p.propose(stream, theta, out) } -> std::same_as<double>;
  { p.adapt(theta) } -> std::same_as<void>;
  { p.freeze() } -> std::same_as<void>;
  { fixed.save(saved) } -> std::same_as<void>;
  { p.load(loaded) } -> std::same_as<void>;
};

// Degrees of freedom of the Student laws that are proposed where normal tails may be too light.
inline constexpr double student_freedom = 6;

// These members for a proposal that learns nothing.
struct FixedProposal {
  void adapt(Params /*theta*/) noexcept {}
  void freeze() noexcept {}
  void save(std::vector<double>& /*out*/) const noexcept {}
  void load(std::span<const double> /*in*/) noexcept {}
};

// A normal approximation N(mode, (L L')^-1).
struct Laplace {
  Eigen::VectorXd mode;
  Eigen::MatrixXd cholesky;  // L, lower triangular, of the information matrix

  Laplace(Eigen::VectorXd at, const Eigen::MatrixXd& information);
  // theta = mode + L^-T v, and its inverse.
  [[nodiscard]] Eigen::VectorXd from_white(const Eigen::VectorXd& v) const;
  [[nodiscard]] Eigen::VectorXd to_white(const Eigen::VectorXd& theta) const;
  [[nodiscard]] Eigen::MatrixXd covariance() const;
};

// Preconditioned Crank-Nicolson around the Laplace fit: v' = sqrt(1 - b^2) v + b z in whitened coordinates,
// which leaves the fit invariant for every b; b = 1 draws independently from it. One step in ten uses a small
// b instead: where the posterior's tail is heavier than the fit's, independent draws would get stuck; small
// moves do not.
class LaplaceProposal : public FixedProposal {
 public:
  struct Options {
    double step = 1.0;         // b, in (0, 1]
    double local_share = 0.1;  // share of the steps with b = local_step
    double local_step = 0.3;
  };
  LaplaceProposal(Laplace fit, Options options);

  double propose(Stream& stream, Params theta, std::span<double> out);

 private:
  Laplace fit_;
  Options options_;
  Eigen::VectorXd white_, noise_;
};
static_assert(Proposal<LaplaceProposal>);

// theta' = theta + F z for a fixed matrix F.
class RandomWalkProposal : public FixedProposal {
 public:
  explicit RandomWalkProposal(Eigen::MatrixXd factor);

  double propose(Stream& stream, Params theta, std::span<double> out);

 private:
  Eigen::MatrixXd factor_;
  Eigen::VectorXd noise_;
};
static_assert(Proposal<RandomWalkProposal>);

// theta'_j ~ Gamma with mean theta_j and the given coefficient of variation: a step proportional to the
// parameter, for parameters that are positive.
class GammaProposal : public FixedProposal {
 public:
  explicit GammaProposal(double variation) : shape_(1 / (variation * variation)) {}

  double propose(Stream& stream, Params theta, std::span<double> out);

 private:
  double shape_;
};
static_assert(Proposal<GammaProposal>);

// Mean and scatter of a chain's past.
struct RunningMoments {
  double count = 0;
  Eigen::VectorXd mean;
  Eigen::MatrixXd scatter;  // sum of squared deviations from the mean

  explicit RunningMoments(Eigen::Index dim);
  void add(Params theta);
  // Whether to learn from it now: the covariance of few points says little, and a new factor in every step
  // would cost more than it gains.
  [[nodiscard]] bool due() const noexcept;
  void save(std::vector<double>& out) const;
  void load(std::span<const double>& in);  // takes what save() wrote from the front of `in`
};

// A random walk whose covariance is learnt from the chain's own past (Haario, Saksman & Tamminen 2001):
// C = scale^2 (Cov(theta_1..theta_t) + epsilon C0) after the first steps, C0 = F F' before. Learning ends
// with freeze(), so that the draws that are kept come from one fixed kernel.
class AdaptiveProposal {
 public:
  // `initial` is the factor for the first steps; scale is 2.38 / sqrt(dim) unless the user sets it.
  AdaptiveProposal(Eigen::MatrixXd initial, double scale);

  double propose(Stream& stream, Params theta, std::span<double> out);
  void adapt(Params theta);
  void freeze() noexcept { frozen_ = true; }
  void save(std::vector<double>& out) const;
  void load(std::span<const double> in);

 private:
  void refactor();

  Eigen::MatrixXd initial_, factor_;
  double scale_;
  bool frozen_ = false;
  RunningMoments past_;
  Eigen::VectorXd noise_;
};
static_assert(Proposal<AdaptiveProposal>);

}  // namespace mlo
