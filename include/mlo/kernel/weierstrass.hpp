// Copyright (c) the mlo authors. BSD-3-Clause.
// The Weierstrass sampler (Wang & Dunson 2013), in its Gibbs form: each shard of the data has its own point,
// tied to theta by a normal kernel.
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mlo/base/errors.hpp"
#include "mlo/base/random.hpp"
#include "mlo/base/thread_pool.hpp"
#include "mlo/kernel/full.hpp"
#include "mlo/kernel/kernel.hpp"
#include "mlo/kernel/proposal.hpp"
#include "mlo/kernel/shards.hpp"

namespace mlo {

struct WeierstrassOptions {
  // h, in standard deviations of a shard's posterior. The draws' variance is too large by the factor 1 + h^2,
  // and their autocorrelation is 1 / (1 + h^2) per step: 0.3 makes the sd 4.4 % too large and costs 23 steps
  // per independent draw.
  double bandwidth = 0.3;
  // Some steps of a shard are short: where its posterior has a heavier tail than its fit, independent
  // proposals would be rejected many times in a row.
  double local_share = 0.1;
  double local_step = 0.3;
};

// The joint density is prod_s p_s(t_s) N(t_s; theta, h^2 J_s^-1), with p_s the shard's posterior and N(m_s,
// J_s^-1) its normal fit. Given theta, the t_s are independent; given the t_s, theta ~ N(J^-1 sum J_s t_s,
// h^2 J^-1), J = sum J_s. The marginal of theta is the product of the p_s, each smoothed by its kernel.
// Because a kernel has the shape of its shard's posterior, for normal p_s all smoothed precisions shrink by
// the same factor 1 / (1 + h^2), and the mean does not change. In v = L_s'(t_s - m_s), J_s = L_s L_s', fit
// times kernel is N(c, k^2 I) with c = L_s'(theta - m_s) / (1 + h^2) and k^2 = h^2 / (1 + h^2): the proposal.
// The kernel then cancels in the acceptance ratio, and only the difference between p_s and its fit remains.
template <TwiceDifferentiable M>
class WeierstrassKernel {
 public:
  [[nodiscard]] static constexpr Promise promise() noexcept { return Promise::approximate; }

  // Throws UsageError unless the bandwidth is positive.
  WeierstrassKernel(const Shards<M>& shards, const WeierstrassOptions& options, ThreadPool& pool)
      : shards_(&shards), options_(options), pool_(&pool) {
    if (!(options.bandwidth > 0) || !std::isfinite(options.bandwidth))
      throw UsageError("weierstrass: the bandwidth must be positive (got " +
                       std::to_string(options.bandwidth) + ")");
    const auto p = static_cast<Eigen::Index>(shards.dim());
    Eigen::MatrixXd information = Eigen::MatrixXd::Zero(p, p);
    modes_ = Eigen::VectorXd::Zero(p);
    for (std::size_t s = 0; s < shards.size(); ++s) {
      members_.push_back(std::make_unique<Member>(p));
      const Laplace& fit = shards.fit(s);
      const Eigen::MatrixXd own = fit.cholesky * fit.cholesky.transpose();
      information += own;
      modes_ += own * fit.mode;
    }
    root_ = Eigen::LLT<Eigen::MatrixXd>(information).matrixL();
    sum_.resize(p);
    noise_.resize(p);
  }

  StepInfo step(ChainState& state, const StepId& id) {
    const bool start = !started_;
    pool_->run(members_.size(), [&](std::size_t s) {
      const StepId own = numbered(id, s);
      members_[s]->info = StepInfo{};
      if (start) begin(s, state.theta, own);
      move(s, state.theta, own);
    });
    started_ = true;
    draw_theta(state, id);
    StepInfo info;
    // A step has one `accepted`. It is that of each shard in turn, so that the rate over many steps is the
    // shards' mean.
    const StepInfo& in_turn = members_[id.iteration % members_.size()]->info;
    info.accepted = in_turn.accepted;
    info.log_ratio = in_turn.log_ratio;
    for (const auto& member : members_) {
      info.rows_read += member->info.rows_read;
      info.finite = info.finite && member->info.finite;
    }
    return info;
  }

  void freeze() noexcept {}

  // The shards' points and their log posteriors there, so that a resumed chain reads no row again.
  void save(std::vector<double>& out) const {
    out.push_back(started_ ? 1 : 0);
    for (const auto& member : members_) {
      out.push_back(member->excess);
      out.insert(out.end(), member->white.begin(), member->white.end());
    }
  }
  void load(std::span<const double> in) {
    const std::size_t each = 1 + shards_->dim();
    assert(in.size() == 1 + members_.size() * each);
    started_ = in[0] != 0;
    for (std::size_t s = 0; s < members_.size(); ++s) {
      members_[s]->excess = in[1 + s * each];
      std::copy_n(in.data() + 2 + s * each, shards_->dim(), members_[s]->white.data());
    }
  }

 private:
  // On separate cache lines, because different threads write them.
  struct alignas(64) Member {
    Eigen::VectorXd white;  // v
    double excess = 0;      // log p_s(t_s) - log of its fit there
    StepInfo info;
    Eigen::VectorXd centre, proposed, point, noise;  // workspace
    explicit Member(Eigen::Index p)
        : white(Eigen::VectorXd::Zero(p)), centre(p), proposed(p), point(p), noise(p) {}
  };

  // Chain c uses the random numbers of S + 1 chains: one per shard, and the last for theta.
  [[nodiscard]] StepId numbered(const StepId& id, std::size_t s) const {
    return {.seed = id.seed, .chain = id.chain * (members_.size() + 1) + s, .iteration = id.iteration};
  }

  [[nodiscard]] double spread() const {
    return options_.bandwidth / std::sqrt(1 + options_.bandwidth * options_.bandwidth);
  }

  // c, from theta.
  void centre(std::size_t s, const Eigen::VectorXd& theta) {
    Member& member = *members_[s];
    const Laplace& fit = shards_->fit(s);
    member.point = theta - fit.mode;
    member.centre.noalias() = fit.cholesky.transpose().template triangularView<Eigen::Upper>() * member.point;
    member.centre /= 1 + options_.bandwidth * options_.bandwidth;
  }

  // Minus infinity where the shard's posterior vanishes.
  [[nodiscard]] double excess(std::size_t s, const Eigen::VectorXd& white) {
    Member& member = *members_[s];
    const Laplace& fit = shards_->fit(s);
    const Shard<M>& shard = (*shards_)[s];
    member.point = white;
    fit.cholesky.transpose().template triangularView<Eigen::Upper>().solveInPlace(member.point);
    member.point += fit.mode;
    const double log_prior = shard.log_prior(params(member.point));
    if (!std::isfinite(log_prior)) return -std::numeric_limits<double>::infinity();
    member.info.rows_read += shard.rows();
    const double value =
        log_prior + log_likelihood(shard, *pool_, params(member.point)) + 0.5 * white.squaredNorm();
    return std::isfinite(value) ? value : -std::numeric_limits<double>::infinity();
  }

  void begin(std::size_t s, const Eigen::VectorXd& theta, const StepId& id) {
    Member& member = *members_[s];
    Stream stream = id.stream(Purpose::shards);
    centre(s, theta);
    normals(stream, {member.noise.data(), static_cast<std::size_t>(member.noise.size())});
    member.white = member.centre + spread() * member.noise;
    member.excess = excess(s, member.white);
  }

  // v' = c + a (v - c) + b k z leaves N(c, k^2 I) invariant; b = 1 mostly.
  void move(std::size_t s, const Eigen::VectorXd& theta, const StepId& id) {
    Member& member = *members_[s];
    Stream stream = id.stream(Purpose::proposal);
    const double b = uniform(stream) < options_.local_share ? options_.local_step : 1;
    const double a = std::sqrt(1 - b * b);
    centre(s, theta);
    normals(stream, {member.noise.data(), static_cast<std::size_t>(member.noise.size())});
    member.proposed = member.centre + a * (member.white - member.centre) + b * spread() * member.noise;
    const double proposed = excess(s, member.proposed);
    member.info.finite = proposed > -std::numeric_limits<double>::infinity();
    member.info.log_ratio = member.info.finite ? proposed - member.excess : proposed;
    Stream decision_stream = id.stream(Purpose::decision);
    member.info.accepted = member.info.finite && std::log(uniform(decision_stream)) < member.info.log_ratio;
    if (member.info.accepted) {
      member.white.swap(member.proposed);
      member.excess = proposed;
    }
  }

  // sum J_s t_s = sum_s (L_s v_s + J_s m_s).
  void draw_theta(ChainState& state, const StepId& id) {
    Stream stream = numbered(id, members_.size()).stream(Purpose::proposal);
    sum_ = modes_;
    for (std::size_t s = 0; s < members_.size(); ++s)
      sum_.noalias() += shards_->fit(s).cholesky.template triangularView<Eigen::Lower>() * members_[s]->white;
    root_.template triangularView<Eigen::Lower>().solveInPlace(sum_);
    normals(stream, {noise_.data(), static_cast<std::size_t>(noise_.size())});
    sum_ += options_.bandwidth * noise_;
    root_.transpose().template triangularView<Eigen::Upper>().solveInPlace(sum_);
    state.theta = sum_;
    state.log_likelihood = std::numeric_limits<double>::quiet_NaN();
  }

  const Shards<M>* shards_;
  WeierstrassOptions options_;
  ThreadPool* pool_;
  std::vector<std::unique_ptr<Member>> members_;
  Eigen::MatrixXd root_;         // of J
  Eigen::VectorXd modes_;        // sum J_s m_s
  Eigen::VectorXd sum_, noise_;  // workspace
  bool started_ = false;
};

}  // namespace mlo
