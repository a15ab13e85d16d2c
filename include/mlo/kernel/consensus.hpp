// Copyright (c) the mlo authors. BSD-3-Clause.
// Consensus Monte Carlo (Scott et al. 2016): one chain per shard of the data, and averages of their draws.
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "mlo/base/random.hpp"
#include "mlo/base/thread_pool.hpp"
#include "mlo/kernel/full.hpp"
#include "mlo/kernel/kernel.hpp"
#include "mlo/kernel/proposal.hpp"
#include "mlo/kernel/shards.hpp"

namespace mlo {

// W_s, the inverse covariance of shard s's posterior: the information of its normal fit, or, as in Scott et
// al., the inverse of the sample covariance of its draws.
enum class ShardWeights { fit, draws };

struct ConsensusOptions {
  // Weights from N draws shift the mean of a chain by about sqrt(p / N) posterior standard deviations, and N
  // is a few hundred; the error of weights from the fits vanishes as rows are added. So weights from draws
  // are for shards whose posteriors are far from normal.
  ShardWeights weights = ShardWeights::fit;
  // Steps of warm-up in the run. Weights are learnt from the second half.
  std::size_t warmup = 1000;
  LaplaceProposal::Options proposal = {};  // of the shards' chains, about their own fits
};

// One step advances each shard's chain by one Metropolis-Hastings step on its rows; theta is (sum W_s)^-1
// sum_s W_s t_s, with weights that are fixed after warm-up. The code that runs chains sees an ordinary chain,
// although theta does not affect the next step: it is a function of the shards' chains, which are saved with
// the kernel. Shard s of chain c uses the random numbers of chain c S + s.
template <TwiceDifferentiable M>
class ConsensusKernel {
 public:
  [[nodiscard]] static constexpr Promise promise() noexcept {
    return Promise::approximate;
  }  // exact if the shards' posteriors are normal

  ConsensusKernel(const Shards<M>& shards, const ConsensusOptions& options, ThreadPool& pool)
      : shards_(&shards), options_(options), pool_(&pool) {
    const auto p = static_cast<Eigen::Index>(shards.dim());
    for (std::size_t s = 0; s < shards.size(); ++s)
      members_.push_back(std::make_unique<Member>(shards[s], shards.fit(s), options.proposal, pool, p));
    weigh();
  }

  // The fewest draws per shard from which weights are learnt; with fewer, the weights of the fits are used.
  [[nodiscard]] static std::size_t draws_needed(std::size_t dim) {
    return std::max<std::size_t>(100, 10 * dim);
  }

  StepInfo step(ChainState& state, const StepId& id) {
    const bool start = !started_;
    const bool learn =
        !frozen_ && options_.weights == ShardWeights::draws && id.iteration >= options_.warmup / 2;
    pool_->run(members_.size(), [&](std::size_t s) {
      Member& member = *members_[s];
      const StepId own{.seed = id.seed, .chain = id.chain * members_.size() + s, .iteration = id.iteration};
      if (start) {
        // An overdispersed draw from the shard's own fit: the run's starting point says nothing about a
        // shard.
        Stream stream = own.stream(Purpose::shards);
        Eigen::VectorXd v(member.white.size());
        normals(stream, {v.data(), static_cast<std::size_t>(v.size())});
        member.state.theta = shards_->fit(s).from_white(1.5 * v);
      }
      member.info = member.kernel.step(member.state, own);
      if (learn) member.learn(shards_->fit(s));
    });
    started_ = true;
    learnt_ += learn ? 1 : 0;
    StepInfo info;
    // A step has one `accepted`. It is that of each shard in turn, so that the rate over many steps is the
    // shards' mean.
    const StepInfo& in_turn = members_[id.iteration % members_.size()]->info;
    info.accepted = in_turn.accepted;
    info.log_ratio = in_turn.log_ratio;
    state.theta.setZero();
    for (const auto& member : members_) {
      info.rows_read += member->info.rows_read;
      info.finite = info.finite && member->info.finite;
      state.theta.noalias() += member->share * member->state.theta;
    }
    return info;
  }

  void freeze() {
    frozen_ = true;
    weigh();
  }

  void save(std::vector<double>& out) const {
    out.push_back(started_ ? 1 : 0);
    out.push_back(frozen_ ? 1 : 0);
    out.push_back(static_cast<double>(learnt_));
    for (const auto& member : members_) member->save(out);
  }
  void load(std::span<const double> in) {
    assert(in.size() == 3 + members_.size() * members_.front()->saved_size());
    started_ = in[0] != 0;
    frozen_ = in[1] != 0;
    learnt_ = static_cast<std::size_t>(in[2]);
    for (std::size_t s = 0; s < members_.size(); ++s)
      members_[s]->load(in.subspan(3 + s * members_[s]->saved_size(), members_[s]->saved_size()));
    weigh();
  }

 private:
  // On separate cache lines, because different threads write them.
  struct alignas(64) Member {
    FullKernel<Shard<M>, LaplaceProposal> kernel;
    ChainState state;
    StepInfo info;
    Eigen::MatrixXd share;                   // (sum W)^-1 W_s
    Eigen::VectorXd white, mean, deviation;  // of the draws, in coordinates where the fit is N(0, I)
    Eigen::MatrixXd scatter;                 // sum of squared deviations from the mean
    double count = 0;

    Member(const Shard<M>& shard, const Laplace& fit, const LaplaceProposal::Options& proposal,
           ThreadPool& pool, Eigen::Index p)
        : kernel(shard, LaplaceProposal(fit, proposal), pool),
          white(p),
          mean(Eigen::VectorXd::Zero(p)),
          deviation(p),
          scatter(Eigen::MatrixXd::Zero(p, p)) {
      state.theta = fit.mode;
    }

    void learn(const Laplace& fit) {
      deviation = state.theta - fit.mode;
      white.noalias() = fit.cholesky.transpose().template triangularView<Eigen::Upper>() * deviation;
      count += 1;
      deviation = white - mean;
      mean += deviation / count;
      scatter.noalias() += deviation * (white - mean).transpose();
    }

    [[nodiscard]] std::size_t saved_size() const {
      return static_cast<std::size_t>(state.theta.size() + mean.size() + scatter.size()) + 2;
    }
    void save(std::vector<double>& out) const {
      out.push_back(state.log_likelihood);
      out.push_back(count);
      out.insert(out.end(), state.theta.begin(), state.theta.end());
      out.insert(out.end(), mean.begin(), mean.end());
      out.insert(out.end(), scatter.data(), scatter.data() + scatter.size());
    }
    void load(std::span<const double> in) {
      state.log_likelihood = in[0];
      count = in[1];
      const double* from = in.data() + 2;
      std::copy_n(from, state.theta.size(), state.theta.data());
      std::copy_n(from += state.theta.size(), mean.size(), mean.data());
      std::copy_n(from += mean.size(), scatter.size(), scatter.data());
    }
  };

  // The information of each fit or, after learning from draws, the inverse of their covariance: in the fit's
  // white coordinates, and then in the model's.
  void weigh() {
    const bool from_draws = frozen_ && options_.weights == ShardWeights::draws &&
                            learnt_ >= draws_needed(shards_->dim()) && weigh_by_draws();
    if (!from_draws)
      for (std::size_t s = 0; s < members_.size(); ++s) {
        const Eigen::MatrixXd& root = shards_->fit(s).cholesky;
        members_[s]->share = root * root.transpose();
      }
    Eigen::MatrixXd sum = members_.front()->share;
    for (std::size_t s = 1; s < members_.size(); ++s) sum += members_[s]->share;
    const Eigen::LLT<Eigen::MatrixXd> total(sum);
    for (const auto& member : members_) member->share = total.solve(member->share).eval();
  }
  // False if the covariance of a shard's draws is singular: its chain hardly moved.
  [[nodiscard]] bool weigh_by_draws() {
    for (std::size_t s = 0; s < members_.size(); ++s) {
      Member& member = *members_[s];
      const Eigen::LLT<Eigen::MatrixXd> chol(0.5 / (member.count - 1) *
                                             (member.scatter + member.scatter.transpose()));
      if (chol.info() != Eigen::Success) return false;
      // W = L C^-1 L' = B'B with C = K K' and B = K^-1 L'.
      const Eigen::MatrixXd half =
          chol.matrixL().solve(Eigen::MatrixXd(shards_->fit(s).cholesky.transpose()));
      member.share = half.transpose() * half;
    }
    return true;
  }

  const Shards<M>* shards_;
  ConsensusOptions options_;
  ThreadPool* pool_;
  std::vector<std::unique_ptr<Member>> members_;
  bool started_ = false, frozen_ = false;
  std::size_t learnt_ = 0;
};

}  // namespace mlo
