// Copyright (c) the mlo authors. BSD-3-Clause.
// Metropolis-Hastings that leaves the posterior itself invariant and reads about one row per step:
// docs/methods/exact.md; after Prado, Nemeth & Sherlock 2024 (MH-SS) and Cornish et al. 2019 (SMH).
//   stage 1: accept with the ratio of the prior, the proposal and the Taylor polynomial: no row is read;
//   stage 2: a Poisson number of rows, drawn in proportion to their bounds, decides about the remainders.
// Both stages satisfy detailed balance, so their product does. Where the bounds promise no gain, or do not
// hold (far out), a step reads all rows instead; the switch is symmetric in the two points.
// Coefficients that are kept apart (Expansion::apart) are moved by slices, between the other steps.
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "mlo/base/thread_pool.hpp"
#include "mlo/kernel/class_remainders.hpp"
#include "mlo/kernel/full.hpp"
#include "mlo/kernel/kernel.hpp"
#include "mlo/kernel/line_slices.hpp"
#include "mlo/kernel/mixed_proposal.hpp"
#include "mlo/kernel/remainder_test.hpp"
#include "mlo/kernel/white_proposal.hpp"
#include "mlo/subsample/expansion.hpp"
#include "mlo/subsample/row_source.hpp"

namespace mlo {

struct ExactOptions {
  WhiteProposal::Options proposal = {};
  Thinning thinning = Thinning::balanced;
  double audit_share = 0;                 // share of the steps that are compared with all rows
  std::optional<LineSlices> slices = {};  // along the lines that are apart
};

// What the kernel asks of a model besides its expansion. Law: quadratic_prior() says that log_prior is a
// polynomial of degree 2 at most, whose derivatives add_prior_derivatives() then has exactly.
template <class M>
concept ExactModel = SummableModel<M> && requires(const M& m, Params theta, Derivatives& d) {
  { m.quadratic_prior() } -> std::same_as<bool>;
  { m.add_prior_derivatives(theta, d) } -> std::same_as<void>;
};

// E is the expansion: of rows that are curves (Expansion), of rows with a second parameter (JointExpansion)
// or of classes (ClassExpansion). R decides about its remainders, or, if R::with_polynomial, about
// them and the ratio so far, info.log_ratio, at once.
template <ExactModel M, class E = Expansion, class R = RemainderTest<E, TableRows>>
class ExactKernel {
 public:
  [[nodiscard]] static constexpr Promise promise() noexcept { return Promise::exact; }

  ExactKernel(const M& model, std::shared_ptr<const E> expansion, const ExactOptions& options,
              ThreadPool& pool)
      : ExactKernel(model, expansion, options, pool, R(expansion, options.thinning)) {}
  ExactKernel(const M& model, std::shared_ptr<const E> expansion, const ExactOptions& options,
              ThreadPool& pool, R remainders)
      : model_(&model),
        expansion_(std::move(expansion)),
        remainders_(std::move(remainders)),
        options_(options),
        pool_(&pool),
        proposal_(expansion_->dim(), with_cost(options.proposal)),
        simple_(expansion_->simple(model.quadratic_prior())),
        points_{Point(*expansion_), Point(*expansion_)},
        theta_(model.dim()),
        room_(model.dim()),
        always_read_(expansion_->always_read()),
        constant_(expansion_->constant) {
    posterior_gradient_.setZero(static_cast<Eigen::Index>(expansion_->dim()));
    if (!simple_) return;
    constant_ += model.log_prior(params(expansion_->centre));
    // The posterior's gradient at the centre in white coordinates, where its information L L' becomes the
    // identity.
    Derivatives prior(model.dim());
    model.add_prior_derivatives(params(expansion_->centre), prior);
    posterior_gradient_ = expansion_->gradient + expansion_->unwhiten.transpose() * prior.gradient;
  }

  StepInfo step(ChainState& state, const StepId& id) {
    if (!placed_) place(state);
    StepInfo info;
    Stream stream = id.stream(Purpose::proposal);
    const Proposed proposed = propose(stream, id.iteration);
    const double tilt = evaluate(there());
    info.rows_read = always_read_;
    info.log_ratio = tilt - here().tilt;
    if (!proposed.keeps_fit) info.log_ratio += 0.5 * (here().square - there().square) + proposed.log_q;
    info.finite = !std::isnan(info.log_ratio) && tilt > -std::numeric_limits<double>::infinity();
    if (info.finite) {
      const RowLimit limit = expansion_->limit(here(), there());
      if (options_.audit_share > 0) maybe_audit(id, info);
      if (limit.rows < static_cast<double>(model_->rows())) {
        info.accepted = (R::with_polynomial || accepts(stream, info.log_ratio)) &&
                        remainders_(stream, here(), there(), limit, info);
      } else {
        all_rows(state, stream, proposed, info);
      }
    }
    if (info.accepted) {
      here_at_ = 1 - here_at_;
      unwhiten(here(), state.theta);
      state.log_likelihood = log_likelihood_;
    }
    log_likelihood_ = std::numeric_limits<double>::quiet_NaN();
    learn(info);
    if (options_.slices) slice(state, id, info);
    state.polynomial = constant_ + here().tilt - 0.5 * here().square;
    return info;
  }

  void freeze() noexcept {
    proposal_.freeze();
    if (learnt_) learnt_->freeze();
  }
  void save(std::vector<double>& out) const {
    proposal_.save(out);
    out.insert(out.end(), here().v.begin(), here().v.end());
    out.push_back(learnt_ ? 1 : 0);
    if (learnt_) learnt_->save(out);
  }
  void load(std::span<const double> in) {
    proposal_.load(in);
    const std::size_t p = here().v.size();
    std::copy_n(in.begin(), p, here().v.begin());
    learnt_.reset();
    if (in[p] != 0) start_learning().load(in.subspan(p + 1));
    loaded_ = true;
  }
  [[nodiscard]] const WhiteProposal& proposal() const noexcept { return proposal_; }

 private:
  struct Point : E::Point {
    explicit Point(const E& expansion) : E::Point(expansion.point()) {}
    // The log posterior by the Taylor polynomial, relative to N(0, I): 0 if the Laplace fit is exact.
    double tilt = 0;
  };

  [[nodiscard]] Point& here() noexcept { return points_[here_at_]; }
  [[nodiscard]] const Point& here() const noexcept { return points_[here_at_]; }
  [[nodiscard]] Point& there() noexcept { return points_[1 - here_at_]; }

  // Into there().
  struct Proposed {
    bool keeps_fit;  // the move leaves N(0, I) invariant, which the tilt is relative to;
    double log_q;    // otherwise log q(v | v') - log q(v' | v)
  };
  Proposed propose(Stream& stream, std::uint64_t iteration) {
    if (learnt_) [[unlikely]]
      return {false, learnt_->propose(stream, here().v, there().v)};
    return {!proposal_.propose(stream, iteration, here().v, there().v), 0};
  }

  WhiteProposal::Options with_cost(WhiteProposal::Options options) const {
    const auto p = static_cast<double>(expansion_->dim());
    options.step_cost = 2 + 0.3 * p + (expansion_->has_cubic() ? p * p * p / 3000 : 0);
    return options;
  }

  // Where the posterior is far from its Laplace fit, N(0, I) here, warm-up goes on with a proposal that
  // learns its mean, covariance and tails.
  void learn(const StepInfo& info) {
    if (learnt_) {
      learnt_->adapt(here().v);
      return;
    }
    proposal_.learn(info.accepted, info.rows_read);
    if (proposal_.poor()) start_learning();
  }
  MixedProposal& start_learning() {
    const auto p = static_cast<Eigen::Index>(here().v.size());
    return learnt_.emplace(Laplace(Eigen::VectorXd::Zero(p), Eigen::MatrixXd::Identity(p, p)));
  }

  // The first step knows the state.
  void place(ChainState& state) {
    placed_ = true;
    if (!loaded_) {
      const Eigen::VectorXd v = expansion_->white(state.theta);
      std::copy(v.data(), v.data() + v.size(), here().v.begin());
    }
    theta_ = state.theta;
    evaluate(here());
    if (!loaded_) unwhiten(here(), state.theta);
  }

  // The coefficients that are apart. v stays where it is.
  void slice(ChainState& state, const StepId& id, StepInfo& info) {
    Stream stream = id.stream(Purpose::slices);
    state.log_likelihood += options_.slices->sweep(stream, state.theta, info);
    theta_ = state.theta;
    evaluate(here());
  }

  // Fills in the members of a Point that are derived from v; theta_ has the coefficients that are apart.
  double evaluate(Point& point) {
    double tilt = expansion_->derive(point, posterior_gradient_.data());
    if (!simple_) tilt = tilt_of(point);
    tilt += expansion_->higher(point);
    return point.tilt = tilt;
  }

  // A function of its own, so that evaluate() stays short enough for the compiler to make it part of step().
  [[gnu::noinline]] double tilt_of(const Point& point) {
    const Eigen::Map<const Eigen::VectorXd> v(point.v.data(), static_cast<Eigen::Index>(point.v.size()));
    unwhiten(point, theta_);
    double tilt = model_->log_prior(params(theta_)) + expansion_->gradient.dot(v) -
                  0.5 * v.dot(expansion_->information * v) + 0.5 * point.square;
    if (!expansion_->apart.empty())
      tilt += model_->log_likelihood(params(theta_), Rows(expansion_->apart.rows));
    return tilt;
  }

  // theta = centre + L^-T v.
  void unwhiten(const Point& point, Eigen::VectorXd& theta) { expansion_->place(point, theta, room_); }

  void all_rows(const ChainState& state, Stream& stream, const Proposed& proposed, StepInfo& info) {
    unwhiten(there(), theta_);
    log_likelihood_ = log_likelihood(*model_, *pool_, params(theta_));
    double before = state.log_likelihood;
    info.rows_read += model_->rows();
    if (std::isnan(before)) {
      before = log_likelihood(*model_, *pool_, params(state.theta));
      info.rows_read += model_->rows();
    }
    const double log_q = proposed.keeps_fit ? 0.5 * (there().square - here().square) : proposed.log_q;
    info.log_ratio = log_likelihood_ - before + model_->log_prior(params(theta_)) -
                     model_->log_prior(params(state.theta)) + log_q;
    info.finite = !std::isnan(info.log_ratio);
    info.accepted = info.finite && accepts(stream, info.log_ratio);
  }

  // With random numbers of its own: an audited chain is the chain of the same seed.
  void maybe_audit(const StepId& id, StepInfo& info) {
    Stream coin = id.stream(Purpose::audit);
    if (uniform(coin) < options_.audit_share) audit(info);
  }

  // Every row's bound, and the sum of polynomial and remainders against the model's own log-likelihood.
  void audit(StepInfo& info) {
    const auto sums = remainders_.over_all_rows(*pool_, here(), there());
    Eigen::VectorXd from = theta_, to = theta_;
    unwhiten(here(), from);
    unwhiten(there(), to);
    const double direct = log_likelihood(*model_, *pool_, params(to)) + model_->log_prior(params(to)) -
                          log_likelihood(*model_, *pool_, params(from)) - model_->log_prior(params(from));
    const double pieces = there().tilt - here().tilt + 0.5 * (here().square - there().square) + sums.change;
    info.audited = true;
    info.audit_error = std::abs(direct - pieces);
    info.bound_violations += sums.violations;
  }

  const M* model_;
  std::shared_ptr<const E> expansion_;
  R remainders_;
  ExactOptions options_;
  ThreadPool* pool_;
  WhiteProposal proposal_;
  std::optional<MixedProposal> learnt_;  // instead, where that suits better
  bool simple_;                          // the prior is a quadratic function of v, and nothing is apart
  bool placed_ = false, loaded_ = false;
  Eigen::VectorXd posterior_gradient_;  // 0 unless simple_
  // Where the chain is, and the point that it may move to. They change their parts, not their places.
  std::array<Point, 2> points_;
  std::size_t here_at_ = 0;
  Eigen::VectorXd theta_, room_;
  std::uint64_t always_read_;                                         // rows that every step reads
  double constant_;                                                   // the log posterior where the tilt is 0
  double log_likelihood_ = std::numeric_limits<double>::quiet_NaN();  // at there(), if this step knows it
};

template <ExactModel M>
ExactKernel(const M& model, std::shared_ptr<const ClassExpansion> expansion, const ExactOptions& options,
            ThreadPool& pool) -> ExactKernel<M, ClassExpansion, ClassRemainders>;

}  // namespace mlo
