// Copyright (c) the mlo authors. BSD-3-Clause.
// Metropolis-Hastings that leaves the posterior itself invariant and reads about one row a step. METHODS 6;
// after Prado, Nemeth & Sherlock 2024 (MH-SS) and Cornish et al. 2019 (SMH).
//   stage 1: accept with the ratio of the prior, the proposal and the Taylor polynomial: no row is read;
//   stage 2: a Poisson number of rows, drawn in proportion to their bounds, decides about the remainders.
// Both stages satisfy detailed balance, so their product does. Where the bounds promise no gain, or do not
// hold (far out), a step looks at all rows instead; the switch depends on the pair of points symmetrically.
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "mlo/base/thread_pool.hpp"
#include "mlo/kernel/full.hpp"
#include "mlo/kernel/kernel.hpp"
#include "mlo/kernel/white_proposal.hpp"
#include "mlo/subsample/expansion.hpp"

namespace mlo {

// The rule of stage 2. Both are exact; `balanced` accepts more.
enum class Thinning {
  balanced,    // rates c M - max(0, r) and c M - max(0, -r)
  factorised,  // rates max(0, -r) and max(0, r): the first row that speaks against the move rejects it
};

struct ExactOptions {
  WhiteProposal::Options proposal = {};
  Thinning thinning = Thinning::balanced;
  double audit_share = 0;  // of the steps, compared with all rows
};

template <Model M, Curve C>
class ExactKernel {
 public:
  static constexpr Promise promise = Promise::exact;

  ExactKernel(const M& model, std::shared_ptr<const Expansion<C>> expansion, const ExactOptions& options,
              ThreadPool& pool)
      : model_(&model),
        expansion_(std::move(expansion)),
        options_(options),
        pool_(&pool),
        proposal_(model.dim(), with_cost(options.proposal)),
        quadratic_prior_(model.quadratic_prior()),
        here_(model.dim(), expansion_->rows.stride()),
        there_(model.dim(), expansion_->rows.stride()),
        theta_(model.dim()) {
    if (!quadratic_prior_) return;
    // The posterior's own gradient at the centre, white; its information is L L', the identity.
    Derivatives prior(model.dim());
    model.add_prior_derivatives(params(expansion_->centre), prior);
    posterior_gradient_ = expansion_->gradient + expansion_->unwhiten.transpose() * prior.gradient;
  }

  StepInfo step(ChainState& state, const StepId& id) {
    if (!placed_) {
      place(state);
      placed_ = true;
    }
    StepInfo info;
    Stream stream = id.stream(Purpose::proposal);
    const bool walk = proposal_.propose(stream, id.iteration, here_.v, there_.v);
    const double tilt = evaluate(there_);
    info.log_ratio = tilt - here_.tilt;
    if (walk) info.log_ratio += 0.5 * (here_.square - there_.square);
    info.finite = !std::isnan(info.log_ratio) && tilt > -std::numeric_limits<double>::infinity();
    if (info.finite) {
      const double scale = factor() * expansion_->total_bound;
      const double most = scale * loose_pair_bound(expansion_->order, here_.square, there_.square);
      if (options_.audit_share > 0 && uniform(stream) < options_.audit_share) audit(info);
      if (most < static_cast<double>(model_->rows())) {
        thinned(stream, scale, most, info);
      } else {
        all_rows(state, stream, walk, info);
      }
    }
    if (info.accepted) {
      std::swap(here_, there_);
      unwhiten(here_.v, state.theta);
      state.log_likelihood = log_likelihood_;
    }
    log_likelihood_ = std::numeric_limits<double>::quiet_NaN();
    proposal_.learn(info.accepted, info.rows_read);
    return info;
  }

  void freeze() noexcept { proposal_.freeze(); }
  void save(std::vector<double>& out) const {
    proposal_.save(out);
    out.insert(out.end(), here_.v.begin(), here_.v.end());
  }
  void load(std::span<const double> in) {
    proposal_.load(in);
    std::copy(in.begin(), in.end(), here_.v.begin());
    here_.tilt = evaluate(here_);
    placed_ = true;
  }
  [[nodiscard]] const WhiteProposal& proposal() const noexcept { return proposal_; }

 private:
  // Rows evaluated together: their ways from memory overlap.
  static constexpr std::size_t batch = 128;

  // A place in the parameter space, in whitened coordinates.
  struct Point {
    std::vector<double> v;
    std::vector<float> padded;  // v as floats, zeros after it: what rows are multiplied with
    double square = 0;          // |v|^2
    // The log posterior by the Taylor polynomial, relative to N(0, I): 0 if the Laplace fit were exact.
    double tilt = 0;
    Point(std::size_t dim, std::size_t stride) : v(dim), padded(stride, 0.0F) {}
  };

  WhiteProposal::Options with_cost(WhiteProposal::Options options) const {
    const auto p = static_cast<double>(model_->dim());
    options.step_cost = 2 + 0.3 * p + (expansion_->order == 3 ? p * p * p / 3000 : 0);
    return options;
  }

  void place(ChainState& state) {
    const Eigen::VectorXd v = expansion_->whiten * (state.theta - expansion_->centre);
    std::copy(v.data(), v.data() + v.size(), here_.v.begin());
    here_.tilt = evaluate(here_);
    unwhiten(here_.v, state.theta);
  }

  // Fills in what a Point derives from v.
  double evaluate(Point& point) {
    const std::size_t p = point.v.size();
    double square = 0;
    for (std::size_t j = 0; j < p; ++j) {
      square += point.v[j] * point.v[j];
      point.padded[j] = static_cast<float>(point.v[j]);
    }
    point.square = square;
    double tilt = 0;
    if (quadratic_prior_) {
      for (std::size_t j = 0; j < p; ++j)
        tilt += posterior_gradient_[static_cast<Eigen::Index>(j)] * point.v[j];
    } else {
      const Eigen::Map<const Eigen::VectorXd> v(point.v.data(), static_cast<Eigen::Index>(p));
      unwhiten(point.v, theta_);
      tilt = model_->log_prior(params(theta_)) + expansion_->gradient.dot(v) -
             0.5 * v.dot(expansion_->information * v) + 0.5 * square;
    }
    if (expansion_->order == 3) tilt += expansion_->cubic(point.padded.data());
    return point.tilt = tilt;
  }

  // theta = centre + L^-T v.
  void unwhiten(const std::vector<double>& v, Eigen::VectorXd& theta) const noexcept {
    expansion_->to_theta(v.data(), theta.data());
  }

  [[nodiscard]] PairGeometry geometry() const noexcept {
    double dot = 0;
    for (std::size_t j = 0; j < here_.v.size(); ++j) dot += here_.v[j] * there_.v[j];
    const double step = std::sqrt(std::max(0.0, here_.square + there_.square - 2 * dot));
    return {std::sqrt(here_.square), std::sqrt(there_.square), step, dot - here_.square, there_.square - dot};
  }

  // What the bounds of the innermost shell are to be multiplied with.
  [[nodiscard]] double factor() const noexcept {
    const double square = std::max(here_.square, there_.square);
    for (const Shell& shell : expansion_->shells)
      if (square <= shell.radius * shell.radius) return shell.factor;
    return std::numeric_limits<double>::infinity();
  }

  // u < exp(log_ratio), without the random number or the exponential where the answer is known: e^x >= 1 + x.
  static bool accepts(Stream& stream, double log_ratio) noexcept {
    if (log_ratio >= 0) return true;
    const double u = uniform(stream);
    return u < 1 + log_ratio || u < std::exp(log_ratio);
  }

  void all_rows(const ChainState& state, Stream& stream, bool walk, StepInfo& info) {
    unwhiten(there_.v, theta_);
    log_likelihood_ = log_likelihood(*model_, *pool_, params(theta_));
    double here = state.log_likelihood;
    info.rows_read = model_->rows();
    if (std::isnan(here)) {
      here = log_likelihood(*model_, *pool_, params(state.theta));
      info.rows_read *= 2;
    }
    const double log_q = walk ? 0 : 0.5 * (there_.square - here_.square);
    info.log_ratio = log_likelihood_ - here + model_->log_prior(params(theta_)) -
                     model_->log_prior(params(state.theta)) + log_q;
    info.finite = !std::isnan(info.log_ratio);
    info.accepted = info.finite && accepts(stream, info.log_ratio);
  }

  // `most` bounds the mean number of rows from above at no cost; the tighter bound is worth computing only if
  // even a row by the looser one would have come.
  void thinned(Stream& stream, double scale, double most, StepInfo& info) {
    if (!accepts(stream, info.log_ratio)) return;
    info.accepted = true;
    const double first = most <= few ? exponential(stream) : 0;
    if (first >= most) return;
    const double mean = std::min(most, scale * pair_bound(expansion_->order, geometry()));
    const std::uint64_t count = most <= few ? arrivals(stream, first, mean) : poisson(stream, mean);
    if (count == 0) return;
    const double unit = mean / expansion_->total_bound;  // factor * M
    info.accepted = expansion_->order == 2 ? survives<2>(stream, unit, count, info)
                                           : survives<3>(stream, unit, count, info);
  }

  static constexpr double few =
      12;  // rows, up to which counting exponential gaps is the faster way to a Poisson
  static std::uint64_t arrivals(Stream& stream, double first, double mean) noexcept {
    std::uint64_t count = 0;
    for (double at = first; at < mean; at += exponential(stream)) ++count;
    return count;
  }

  // Stage 2: whether the move survives the remainders of `count` rows.
  template <int order>
  bool survives(Stream& stream, double unit, std::uint64_t count, StepInfo& info) {
    const Expansion<C>& x = *expansion_;
    double log_ratio = 0;
    bool alive = true;
    while (count > 0 && alive) {
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(batch, count));
      count -= size;
      const std::span<RowId> ids(ids_.data(), size);
      if (size == 1) {
        ids[0] = x.table(stream());
      } else {
        x.table.draw(stream, ids);
        for (const RowId i : ids) x.rows.prefetch(i);
      }
      x.rows.dots(ids, here_.padded.data(), there_.padded.data(), from_.data(), to_.data());
      info.rows_read += size;
      for (std::size_t k = 0; k < size && alive; ++k) {
        const double rate = x.rows.bound(ids[k]) * unit;
        const double r = change<order>(ids[k], static_cast<double>(from_[k]), static_cast<double>(to_[k]));
        double share = r / rate;  // in [-1, 1] if the bound holds
        if (!(std::abs(share) <= 1)) {
          ++info.bound_violations;
          share = std::isnan(share) ? 0 : std::clamp(share, -1.0, 1.0);
        }
        if (options_.thinning == Thinning::factorised) {
          alive = share >= 0 || uniform(stream) >= -share;
        } else if (share < 0) {
          log_ratio += std::log1p(share);
        } else if (uniform(stream) >= share) {
          log_ratio -= std::log1p(-share);
        }
      }
    }
    info.log_ratio += log_ratio;
    return alive && accepts(stream, log_ratio);
  }

  // r_i = d_i(to) - d_i(from)
  template <int order>
  [[nodiscard]] double change(RowId i, double from, double to) const noexcept {
    const WhiteRows& rows = expansion_->rows;
    const RemainderAt<order, C> remainder(expansion_->curve, rows.e(i),
                                          std::max(std::abs(from), std::abs(to)));
    return rows.scale(i) * (remainder(to) - remainder(from));
  }

  // Every row's bound, and the sum of polynomial and remainders against the model's own log-likelihood.
  void audit(StepInfo& info) {
    const Expansion<C>& x = *expansion_;
    const double unit = factor() * pair_bound(x.order, geometry());
    struct Sums {
      double change = 0;
      std::uint64_t violations = 0;
      Sums& operator+=(const Sums& other) {
        change += other.change;
        violations += other.violations;
        return *this;
      }
    };
    const Sums sums =
        block_sum(*pool_, x.rows.size(), batch, Sums{}, [&](std::size_t first, std::size_t count) {
          std::array<RowId, batch> ids;
          std::array<float, batch> from, to;
          for (std::size_t k = 0; k < count; ++k) ids[k] = static_cast<RowId>(first + k);
          x.rows.dots({ids.data(), count}, here_.padded.data(), there_.padded.data(), from.data(), to.data());
          Sums part;
          for (std::size_t k = 0; k < count; ++k) {
            const double a = static_cast<double>(from[k]), b = static_cast<double>(to[k]);
            const double r = x.order == 2 ? change<2>(ids[k], a, b) : change<3>(ids[k], a, b);
            part.change += r;
            if (std::isfinite(unit) && std::abs(r) > x.rows.bound(ids[k]) * unit) ++part.violations;
          }
          return part;
        });
    Eigen::VectorXd from(static_cast<Eigen::Index>(model_->dim())), to(from.size());
    unwhiten(here_.v, from);
    unwhiten(there_.v, to);
    const double direct = log_likelihood(*model_, *pool_, params(to)) + model_->log_prior(params(to)) -
                          log_likelihood(*model_, *pool_, params(from)) - model_->log_prior(params(from));
    const double pieces = there_.tilt - here_.tilt + 0.5 * (here_.square - there_.square) + sums.change;
    info.audited = true;
    info.audit_error = std::abs(direct - pieces);
    info.bound_violations += sums.violations;
  }

  const M* model_;
  std::shared_ptr<const Expansion<C>> expansion_;
  ExactOptions options_;
  ThreadPool* pool_;
  WhiteProposal proposal_;
  bool quadratic_prior_;
  bool placed_ = false;
  Eigen::VectorXd posterior_gradient_;
  Point here_, there_;
  Eigen::VectorXd theta_;
  double log_likelihood_ = std::numeric_limits<double>::quiet_NaN();  // at there_, if this step knows it
  std::array<RowId, batch> ids_;
  std::array<float, batch> from_, to_;
};

}  // namespace mlo
