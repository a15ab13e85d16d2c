// Copyright (c) the mlo authors. BSD-3-Clause.
// The moves of a grouping's covariance: given the effects; with the effects, standardised; with the effects
// of one kind, multiplied.
#include <algorithm>
#include <cmath>

#include "kernel/level_parts.hpp"
#include "kernel/row_batch.hpp"
#include "mlo/kernel/levels.hpp"
#include "mlo/kernel/remainder_test.hpp"

namespace mlo {
namespace {

using Eigen::Index;

// Where a standard deviation is known less well than this (of its log), effects and it move together.
constexpr double loose_scale = 0.1;

// A Wishart matrix with the given degrees of freedom and the scale matrix L L' (Bartlett).
Eigen::MatrixXd wishart(Stream& stream, double freedom, const Eigen::MatrixXd& l) {
  const Index d = l.rows();
  Eigen::MatrixXd a = Eigen::MatrixXd::Zero(d, d);
  for (Index i = 0; i < d; ++i) {
    a(i, i) = std::sqrt(2 * gamma(stream, 0.5 * (freedom - static_cast<double>(i))));
    for (Index j = 0; j < i; ++j) a(i, j) = normal(stream);
  }
  const Eigen::MatrixXd la = l * a;
  return la * la.transpose();
}

}  // namespace

void LevelKernel::move_covariance(std::size_t k, Stream& stream, StepInfo& info) {
  const std::size_t d = reference_->groups()[k].d;
  draw_covariance(k, stream);
  const std::size_t moves = groups_.size() > 1 || d > 1 || product_ ? options_.scale_moves : 1;
  for (std::size_t m = 0; m < moves; ++m)
    with_dim(d, [&](auto fixed) { scale_together<fixed()>(k, stream, info); });
  bool loose = false;
  for (std::size_t j = 0; j < d; ++j)
    if (!frozen_ || groups_[k].walk.sd(j) > loose_scale) {
      with_dim(d, [&](auto fixed) { scale_signed<fixed()>(k, j, stream, info); });
      loose = true;
    }
  if (loose) draw_covariance(k, stream);
}

// From the law of the covariance given the effects but for its prior, which decides.
void LevelKernel::draw_covariance(std::size_t k, Stream& stream) {
  const GroupCovariance& covariance = model_->covariances()[k];
  Group& group = groups_[k];
  const std::size_t d = covariance.dim(), levels = group.beta.size() / d;
  std::vector<double>& xi = point_.covariances[k];
  Eigen::MatrixXd squares = Eigen::MatrixXd::Zero(index(d), index(d));
  const std::vector<double>& b0 = reference_->at().effects[k];
  Eigen::VectorXd b(index(d));
  for (std::size_t l = 0; l < levels; ++l) {
    for (std::size_t a = 0; a < d; ++a)
      b[index(a)] = b0[l * d + a] + group.beta[l * d + a] - group.ma[l * d + a];
    squares.noalias() += b * b.transpose();
  }
  std::vector<double> next = xi;
  double log_ratio = 0;
  const auto j = static_cast<double>(levels);
  if (!covariance.correlated()) {
    for (std::size_t a = 0; a < d; ++a) {
      const double square = squares(index(a), index(a));
      if (!(square > 0)) return;
      next[a] = -0.5 * std::log(gamma(stream, 0.5 * j) / (0.5 * square));
    }
  } else {
    const auto dim = static_cast<double>(d);
    const Eigen::LLT<Eigen::MatrixXd> llt(squares);
    if (levels < d + 1 || llt.info() != Eigen::Success) return;
    const Eigen::MatrixXd inverse =
        llt.matrixL().solve(Eigen::MatrixXd::Identity(index(d), index(d))).transpose();  // L^-T
    // Of the inverse of the squares: L^-T L^-1, whose lower factor is needed.
    const Eigen::MatrixXd lower = (inverse * inverse.transpose()).llt().matrixL();
    const Eigen::MatrixXd omega = wishart(stream, j, lower);
    const Eigen::LLT<Eigen::MatrixXd> drawn(omega);
    if (drawn.info() != Eigen::Success) return;
    covariance.from_covariance(drawn.solve(Eigen::MatrixXd::Identity(index(d), index(d))), next);
    const double log_det = 2 * Eigen::MatrixXd(drawn.matrixL()).diagonal().array().log().sum();
    const auto weight = [&](const std::vector<double>& at, double det) {
      return covariance.log_volume(at) - 0.5 * (dim + 1) * det;
    };
    log_ratio = weight(next, log_det) - weight(xi, group.log_det);
  }
  for (const double x : next)
    if (!std::isfinite(x)) return;
  log_ratio += covariance.log_prior(next) - covariance.log_prior(xi);
  if (!accepts(stream, log_ratio)) return;
  xi = next;
  set_precision(k);
}

// The covariance moves, and the effects keep their places in their normal laws given all else: beta = m +
// C^-T w with w fixed, m and C C' the mean and the precision that the expansion gives with the covariance.
template <int d>
void LevelKernel::scale_together(std::size_t k, Stream& stream, StepInfo& info) {
  using Vector = typename LevelTypes<d>::Vector;
  using Matrix = typename LevelTypes<d>::Matrix;
  const GroupCovariance& covariance = model_->covariances()[k];
  const LevelSums& sums = reference_->groups()[k];
  Group& group = groups_[k];
  const auto dim = index(sums.d);
  const auto size = static_cast<std::size_t>(dim);
  const std::size_t levels = group.beta.size() / size;
  std::vector<double>& xi = point_.covariances[k];
  std::vector<double> next(xi.size());
  double log_ratio = group.walk.propose(stream, xi, next);
  for (const double x : next)
    if (!(std::abs(x) < 300)) return;
  log_ratio += covariance.log_prior(next) - covariance.log_prior(xi);
  if (!std::isfinite(log_ratio)) return;
  const Matrix omega = group.omega, omega_next = covariance.precision(next);
  const Eigen::MatrixXd l = covariance.factor(next);
  const double log_det_next = -2 * l.diagonal().array().log().sum();
  log_ratio += 0.5 * static_cast<double>(levels) * (log_det_next - group.log_det);
  double stretch = 1, jacobian = 0;  // products of few factors have one log
  for (std::size_t level = 0; level < levels; ++level) {
    const Eigen::Map<const Vector> beta(group.beta.data() + level * size, dim);
    Eigen::Map<Vector> to(next_[k].data() + level * size, dim);
    const Eigen::Map<const Vector> linear(group.linear.data() + level * size, dim);
    const Eigen::Map<const Vector> ma(group.ma.data() + level * size, dim);
    const Eigen::Map<const Vector> b0(reference_->at().effects[k].data() + level * size, dim);
    const Vector mu = ma - b0;
    if (d == 1 && product_) {
      // The mode and the curvature there, with either precision of the effects.
      const auto law = [&](double tau) {
        const double rise = std::max(group.bend[level], 0.2 * sums.h[level]);
        const double pull = sums.g[level] + direction_ * sums.h[level] + tau * mu[0];
        return product_law(pull, rise, tau, direction_);
      };
      const auto [m, p] = law(omega(0, 0));
      const auto [m_next, p_next] = law(omega_next(0, 0));
      const double ratio = p / p_next;
      to[0] = m_next + (beta[0] - m) * std::sqrt(ratio);
      stretch *= ratio;
      if (!(stretch > 1e-200 && stretch < 1e200)) {
        jacobian += 0.5 * std::log(stretch);
        stretch = 1;
      }
    } else if constexpr (d == 1) {
      const double h = precision_ * std::max(group.bend[level], 0.4 * sums.h[level]);
      const double p = std::max(h, 0.0) + omega(0, 0), p_next = std::max(h, 0.0) + omega_next(0, 0);
      const double m = (precision_ * linear[0] + omega(0, 0) * mu[0]) / p;
      const double m_next = (precision_ * linear[0] + omega_next(0, 0) * mu[0]) / p_next;
      const double ratio = p / p_next;
      to[0] = m_next + (beta[0] - m) * std::sqrt(ratio);
      stretch *= ratio;
      if (!(stretch > 1e-200 && stretch < 1e200)) {
        jacobian += 0.5 * std::log(stretch);
        stretch = 1;
      }
    } else {
      const Eigen::Map<const Matrix> h(sums.h.data() + level * size * size, dim, dim);
      const Matrix p = precision_ * h + omega, p_next = precision_ * h + omega_next;
      const Eigen::LLT<Matrix> here(p), there(p_next);
      const Vector m = here.solve(precision_ * linear + omega * mu);
      const Vector m_next = there.solve(precision_ * linear + omega_next * mu);
      const Vector w = here.matrixU() * (beta - m);
      to = m_next + there.matrixU().solve(w);
      for (Index a = 0; a < dim; ++a) stretch *= here.matrixLLT()(a, a) / there.matrixLLT()(a, a);
      jacobian += std::log(stretch);
      stretch = 1;
    }
    const Vector from = beta - mu, moved = to - mu;
    log_ratio -= 0.5 * (moved.dot(omega_next * moved) - from.dot(omega * from));
  }
  log_ratio += jacobian + (d == 1 ? 0.5 : 1.0) * std::log(stretch);
  const bool yes = decide_effects<d>(k, log_ratio, options_.boost_scales, stream, info);
  scale_acceptance_.count(yes);
  if (!yes) return;
  xi = next;
  set_precision(k);
}

// b / sigma fixed, sigma any number, of either sign: its law given all else is nearly normal, also where
// sigma is small.
template <int fixed>
void LevelKernel::scale_signed(std::size_t k, std::size_t effect, Stream& stream, StepInfo& info) {
  const GroupCovariance& covariance = model_->covariances()[k];
  const LevelSums& sums = reference_->groups()[k];
  Group& group = groups_[k];
  const std::size_t d = sums.d, levels = group.beta.size() / d;
  std::vector<double>& xi = point_.covariances[k];
  const double sigma = std::exp(xi[effect]);
  const double scale = std::max(covariance.priors()[effect].scale(), 1e-300);
  double information = 1 / (scale * scale), linear = 0;
  const std::vector<double>& b0 = reference_->at().effects[k];
  for (std::size_t l = 0; l < levels; ++l) {
    const std::size_t r = l * d + effect;
    const double mu = group.ma[r] - b0[r], z = (group.beta[r] - mu) / sigma;
    const double* const bend = group.bend.data() + r * d;
    double slope = group.linear[r] - bend[effect] * mu;
    for (std::size_t a = 0; a < d; ++a)
      if (a != effect) slope -= bend[a] * group.beta[l * d + a];
    information += precision_ * z * z * std::max(bend[effect], 0.4 * sums.h[l * d * d + effect * d + effect]);
    linear += precision_ * z * slope;
  }
  if (!(information > 0)) return;
  const double mean = linear / information, root = std::sqrt(information);
  const double noise = normal(stream), next = mean + noise / root;
  const double back = (sigma - mean) * root;
  double log_ratio = 0.5 * (noise * noise - back * back);
  if (d > 1 && next <= 0) return;  // a sign would turn the correlations
  const double ratio = next / sigma;
  if (!(std::abs(next) > 0)) return;
  std::vector<double> moved = xi;
  moved[effect] = std::log(std::abs(next));
  // Priors of sigma itself: of its log without the Jacobian.
  log_ratio += covariance.log_prior(moved) - moved[effect] - covariance.log_prior(xi) + xi[effect];
  for (std::size_t l = 0; l < levels; ++l)
    for (std::size_t a = 0; a < d; ++a) {
      const std::size_t r = l * d + a;
      const double mu = group.ma[r] - b0[r];
      next_[k][r] = a == effect ? mu + ratio * (group.beta[r] - mu) : group.beta[r];
    }
  if (!decide_effects<fixed>(k, log_ratio, options_.boost_scales, stream, info)) return;
  xi = moved;
  set_precision(k);
}

template <int fixed>
bool LevelKernel::decide_effects(std::size_t k, double log_ratio, double boost, Stream& stream,
                                 StepInfo& info) {
  const Grouping& grouping = model_->rows().groups()[k];
  Group& group = groups_[k];
  const std::size_t d = grouping.dim(), levels = grouping.levels();
  if (all_rows()) {
    constexpr std::size_t chunk_levels = 64;
    const std::size_t chunks = (levels + chunk_levels - 1) / chunk_levels;
    std::vector<double> sums(chunks, 0);
    pool_->run(chunks, [&](std::size_t chunk) {
      std::array<double, LevelRows::most_effects> delta;
      for (std::size_t l = chunk * chunk_levels; l < std::min(levels, (chunk + 1) * chunk_levels); ++l) {
        for (std::size_t a = 0; a < d; ++a) delta[a] = next_[k][l * d + a] - group.beta[l * d + a];
        sums[chunk] += likelihood_of_level(k, l, delta.data());
      }
    });
    for (const double sum : sums) log_ratio += sum;
    info.rows_read += model_->rows().size();
    if (!(std::isfinite(log_ratio) && accepts(stream, log_ratio))) return false;
    std::array<double, LevelRows::most_effects> z;
    for (std::size_t i = 0; i < model_->rows().size(); ++i) {
      grouping.multipliers(i, z.data());
      const std::size_t first = grouping.codes[i] * d;
      for (std::size_t a = 0; a < d; ++a) eta_[i] += z[a] * (next_[k][first + a] - group.beta[first + a]);
    }
    group.beta.swap(next_[k]);
    return true;
  }
  for (std::size_t l = 0; l < levels; ++l)
    log_ratio += level_surrogate<fixed>(k, l, group.beta.data() + l * d, next_[k].data() + l * d);
  if (!std::isfinite(log_ratio)) return false;
  if (options_.remainders && reference_->has_curve()) {
    struct Event {
      std::size_t level, row;
      LevelBound bound;
    };
    std::vector<Event> events;
    double clock = exponential(stream);
    for (std::size_t l = 0; l < levels; ++l) {
      const double* const from = group.beta.data() + l * d;
      const double* const to = next_[k].data() + l * d;
      LevelBound bound = level_bound<fixed>(k, l, from, to);
      const auto count = static_cast<double>(grouping.size(l));
      bound.own *= boost;
      bound.cross *= boost;
      const double rate = bound.own * count + bound.cross * group.cubes[l];
      if (!bound.finite || !(rate <= count)) {
        log_ratio += remainders_of_level(k, l, from, to);
        info.rows_read += grouping.size(l);
        continue;
      }
      while (clock < rate) {
        events.push_back({l, draw_row(k, l, bound.own, bound.cross, stream), bound});
        clock += exponential(stream);
      }
      clock -= rate;
    }
    for (const Event& event : events) model_->rows().prefetch(event.row);
    RowBatch rows;
    std::array<double, RowBatch::most> extra, limit;
    const auto flush = [&] {
      rows.evaluate(reference_->curve());
      for (std::size_t r = 0; r < rows.size(); ++r)
        log_ratio +=
            thinned((rows.change(r) + rows.third(r) * extra[r]) / limit[r], stream, info.bound_violations);
      rows.clear();
    };
    for (const Event& event : events) {
      const RowPlace at = place(k, event.row);
      double before = 0, after = 0;
      for (std::size_t a = 0; a < d; ++a) {
        before += at.z[a] * group.beta[event.level * d + a];
        after += at.z[a] * next_[k][event.level * d + a];
      }
      if (product_) {
        const double change = product_change(reference_->shape(event.row), at.u, before, after);
        log_ratio += thinned(change / event.bound.own, stream, info.bound_violations);
        continue;
      }
      const double other = std::abs(at.gamma), rest = at.u + at.gamma;
      extra[rows.size()] = (after - before) * at.u * (0.5 * at.u + at.gamma);
      limit[rows.size()] = event.bound.own + event.bound.cross * other * other * other;
      rows.add(reference_->shape(event.row), rest + before, rest + after);
      if (rows.full()) flush();
    }
    flush();
    info.rows_read += events.size();
  }
  if (!accepts(stream, log_ratio)) return false;
  group.beta.swap(next_[k]);
  return true;
}

}  // namespace mlo
