// Copyright (c) the mlo authors. BSD-3-Clause.
// Gaussian responses with one grouping: sigma and the covariance of the effects move together, with effects
// and coefficients integrated out; then these are drawn from their law. Where levels have few rows, sigma and
// the standard deviations are known by their sum of squares mostly, and moves of one given the other, or
// given the effects, would be short.
//
// With P = p H + Omega of a level, p = 1 / sigma^2, its effects given alpha are normal with precision P and
// mean P^-1 (c + C alpha), c = p g - Omega b, C = p (sum F2 z x^c') + Omega M. What they leave is a quadratic
// form in alpha: information M'Omega M - C'P^-1 C, slope C'P^-1 c + M'Omega b.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernel/level_limits.hpp"
#include "kernel/level_parts.hpp"
#include "mlo/kernel/levels.hpp"
#include "mlo/kernel/remainder_test.hpp"

namespace mlo {
namespace {

using level_passes::loose_scale;
using level_passes::Range;
using Small = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, LevelRows::most_effects,
                            LevelRows::most_effects>;
using SmallColumn = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, LevelRows::most_effects, 1>;
using Wide = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor, LevelRows::most_effects>;

// With more rows per level than this the other moves are nearly draws already.
constexpr double few_rows_per_level = 20;
constexpr int moves_of_variances = 3;
// Sums of squares are rounded to this; where the likelihood would be, no proposal is made.
constexpr double rounding = 1e-15, most_rounded = 0.1;

}  // namespace

struct LevelKernel::LevelLaw {
  Small l;           // P = L L'
  SmallColumn pull;  // c
  Wide owed;         // C
  SmallColumn b;     // of the reference
  Wide m;            // M

  LevelLaw(std::size_t d, std::size_t q)
      : l(index(d), index(d)), pull(index(d)), owed(index(d), index(q)), b(index(d)), m(index(d), index(q)) {}
  // At this precision of the likelihood and of the effects.
  void read(const LevelTable& table, std::size_t level, double precision, const Small& omega) {
    const LevelFields& at = table.fields();
    const std::size_t d = at.d, q = at.q;
    for (std::size_t a = 0; a < d; ++a) {
      b[index(a)] = table.at(level, at.b + a);
      pull[index(a)] = precision * table.at(level, at.g + a);
      for (std::size_t j = 0; j < q; ++j) {
        owed(index(a), index(j)) = precision * table.at(level, at.hx + a * q + j);
        m(index(a), index(j)) = table.at(level, at.m + a * q + j);
      }
      for (std::size_t e = 0; e <= a; ++e)
        l(index(a), index(e)) = l(index(e), index(a)) =
            precision * table.at(level, at.h + pair_at(a, e)) + omega(index(a), index(e));
    }
    pull.noalias() -= omega * b;
    owed.noalias() += omega * m;
    if (d == 1)
      l(0, 0) = std::sqrt(l(0, 0));
    else
      l = Small(l.llt().matrixL());
  }
};

// What levels leave of the density, as a quadratic form in alpha.
struct LevelKernel::LevelsLeft {
  double value = 0;
  Eigen::VectorXd slope;
  Eigen::MatrixXd information;  // its lower triangle
  double determinants = 1;      // of the levels' L, before they are too large or too small for a double

  explicit LevelsLeft(std::size_t q)
      : slope(Eigen::VectorXd::Zero(index(q))), information(Eigen::MatrixXd::Zero(index(q), index(q))) {}
  void multiply(double determinant) noexcept {
    determinants *= determinant;
    if (determinants < 1e100 && determinants > 1e-100) return;
    value -= std::log(determinants);
    determinants = 1;
  }
};

// Of one effect per level, eight levels at a time.
void LevelKernel::add_plain_levels(double precision, double omega, std::size_t first, std::size_t last,
                                   LevelsLeft& out) const {
  const LevelTable& table = reference_->table(0);
  const LevelFields& at = table.fields();
  const std::size_t q = at.q;
  std::array<double, level_lanes> spread, inverse, pull, prior;
  std::vector<double> owed(q * level_lanes), solved(q * level_lanes), slopes(q * level_lanes, 0),
      informations(pairs_of(q) * level_lanes, 0);
  for (std::size_t block = first; block < last; ++block) {
    const double* const base = table.data() + block * at.width * level_lanes;
    const auto field = [&](std::size_t f) { return base + f * level_lanes; };
    const double *const h = field(at.h), *const g = field(at.g), *const b = field(at.b);
    double sum = 0;
    for (std::size_t i = 0; i < level_lanes; ++i) {
      spread[i] = precision * h[i] + omega;
      inverse[i] = 1 / spread[i];
      prior[i] = omega * b[i];
      pull[i] = precision * g[i] - prior[i];
      sum += pull[i] * pull[i] * inverse[i] - prior[i] * b[i];
    }
    out.value += 0.5 * sum;
    for (std::size_t l = block * level_lanes; l < std::min(table.levels(), (block + 1) * level_lanes); ++l)
      out.multiply(std::sqrt(spread[l % level_lanes]));
    for (std::size_t j = 0; j < q; ++j) {
      const double *const hx = field(at.hx + j), *const m = field(at.m + j);
      double *const c = owed.data() + j * level_lanes, *const w = solved.data() + j * level_lanes,
                    *const to = slopes.data() + j * level_lanes;
      for (std::size_t i = 0; i < level_lanes; ++i) {
        c[i] = precision * hx[i] + omega * m[i];
        w[i] = c[i] * inverse[i];
        to[i] += w[i] * pull[i] + m[i] * prior[i];
      }
      for (std::size_t e = 0; e <= j; ++e) {
        const double *const me = field(at.m + e), *const ce = owed.data() + e * level_lanes;
        double* const sums = informations.data() + pair_at(j, e) * level_lanes;
        for (std::size_t i = 0; i < level_lanes; ++i) sums[i] += omega * m[i] * me[i] - w[i] * ce[i];
      }
    }
  }
  for (std::size_t j = 0; j < q; ++j)
    for (std::size_t i = 0; i < level_lanes; ++i) {
      out.slope[index(j)] += slopes[j * level_lanes + i];
      for (std::size_t e = 0; e <= j; ++e)
        out.information(index(j), index(e)) += informations[pair_at(j, e) * level_lanes + i];
    }
}

bool LevelKernel::moves_variances() const noexcept {
  return !all_rows() && model_->family().spec().sums && model_->family().estimates_second() &&
         groups_.size() == 1 && options_.factors == nullptr &&
         reference_->weight() < few_rows_per_level * static_cast<double>(groups_[0].levels);
}

// All else is drawn from its law given the variances. In warm-up the other moves find the way, and where a
// standard deviation is barely known they reach its tail.
bool LevelKernel::variances_suffice() const noexcept {
  if (!(frozen_ && moves_variances() && model_->layout().quadratic_coefficients())) return false;
  for (std::size_t j = 0; j < groups_[0].d; ++j)
    if (groups_[0].walk.sd(j) > loose_scale) return false;
  return true;
}

// log(sigma^2 + c sd^2) and the log of the ratio of the two, which are nearly independent where they are
// known by their sum alone; the rest of the covariance as it is. The Jacobian is constant.
void LevelKernel::to_variances(double log_sigma, std::span<const double> xi, std::span<double> out) const {
  const double ratio = 2 * (xi[0] - log_sigma) + log_weight_;
  out[0] = 2 * log_sigma + (ratio > 0 ? ratio + std::log1p(std::exp(-ratio)) : std::log1p(std::exp(ratio)));
  out[1] = ratio;
  std::copy(xi.begin() + 1, xi.end(), out.begin() + 2);
}
double LevelKernel::from_variances(std::span<const double> in, std::span<double> xi) const {
  const double ratio = in[1];
  const double log_sigma =
      0.5 * (in[0] - (ratio > 0 ? ratio + std::log1p(std::exp(-ratio)) : std::log1p(std::exp(ratio))));
  xi[0] = log_sigma + 0.5 * (ratio - log_weight_);
  std::copy(in.begin() + 2, in.end(), xi.begin() + 1);
  return log_sigma;
}

// The log density of sigma's log and of the covariance; the law of alpha given them.
double LevelKernel::marginal_density(double log_sigma, std::span<const double> xi, Eigen::VectorXd& mean,
                                     Eigen::LLT<Eigen::MatrixXd>& llt) {
  constexpr double nowhere = -std::numeric_limits<double>::infinity();
  const GroupCovariance& covariance = model_->covariances()[0];
  for (const double x : xi)
    if (!(std::abs(x) < 300)) return nowhere;
  const double precision = model_->precision(log_sigma);
  if (!(precision * reference_->squares() * rounding < most_rounded)) return nowhere;
  const LevelTable& table = reference_->table(0);
  const Small omega = covariance.precision(xi);
  const std::size_t d = groups_[0].d, q = model_->rows().columns(), blocks = groups_[0].blocks(),
                    levels = groups_[0].levels;
  std::vector<LevelsLeft> parts((blocks + blocks_of_part - 1) / blocks_of_part, LevelsLeft(q));
  over_parts(*pool_, blocks, [&](std::size_t at, Range range) {
    LevelsLeft& part = parts[at];
    if (d == 1) {
      add_plain_levels(precision, omega(0, 0), range.first, range.last, part);
      part.value -= std::log(part.determinants);
      return;
    }
    LevelLaw law(d, q);
    for (std::size_t l = range.first * level_lanes; l < std::min(levels, range.last * level_lanes); ++l) {
      law.read(table, l, precision, omega);
      for (std::size_t a = 0; a < d; ++a) part.multiply(law.l(index(a), index(a)));
      const SmallColumn prior = omega * law.b;
      part.value -= 0.5 * law.b.dot(prior);
      part.slope.noalias() += law.m.transpose() * prior;
      for (Eigen::Index j = 0; j < index(q); ++j)
        for (Eigen::Index i = 0; i <= j; ++i)
          part.information(j, i) += law.m.col(j).dot(omega * law.m.col(i));
      law.l.triangularView<Eigen::Lower>().solveInPlace(law.pull);
      law.l.triangularView<Eigen::Lower>().solveInPlace(law.owed);
      part.value += 0.5 * law.pull.squaredNorm();
      part.slope.noalias() += law.owed.transpose() * law.pull;
      for (Eigen::Index j = 0; j < index(q); ++j)
        for (Eigen::Index i = 0; i <= j; ++i) part.information(j, i) -= law.owed.col(j).dot(law.owed.col(i));
    }
    part.value -= std::log(part.determinants);
  });
  const bool exact = model_->layout().quadratic_coefficients();  // otherwise given alpha
  Eigen::VectorXd slope = precision * gradient_;
  Eigen::MatrixXd information = precision * information_;
  double value = model_->layout().log_prior_at(q, log_sigma) + covariance.log_prior(xi) +
                 precision * reference_->core() +
                 reference_->weight() * model_->factor()->alone(log_sigma).value -
                 static_cast<double>(levels) * covariance.factor(xi).diagonal().array().log().sum();
  for (const LevelsLeft& part : parts) {
    value += part.value;
    slope += part.slope;
    information += part.information.selfadjointView<Eigen::Lower>();
  }
  if (!exact) return value + slope.dot(alpha_) - 0.5 * alpha_.dot(information * alpha_);
  llt.compute(information + prior_information_);
  if (llt.info() != Eigen::Success) return nowhere;
  slope += prior_gradient_;
  mean = llt.solve(slope);
  return value + 0.5 * mean.dot(slope) - Eigen::MatrixXd(llt.matrixL()).diagonal().array().log().sum();
}

std::optional<bool> LevelKernel::move_variances(const StepId& id, Stream& stream) {
  std::vector<double>& xi = point_.covariances[0];
  std::vector<double> here(1 + xi.size()), next(here.size()), moved(xi.size());
  Eigen::VectorXd mean, mean_there;
  Eigen::LLT<Eigen::MatrixXd> llt, llt_there;
  double density = marginal_density(point_.log_second, xi, mean, llt);
  if (!std::isfinite(density)) return std::nullopt;
  bool accepted = false;
  to_variances(point_.log_second, xi, here);
  for (int move = 0; move < moves_of_variances; ++move) {
    const double ratio = variances_.propose(stream, here, next);
    const double log_sigma = from_variances(next, moved);
    const double there = marginal_density(log_sigma, moved, mean_there, llt_there);
    if (!std::isfinite(there) || !accepts(stream, ratio + there - density)) continue;
    accepted = true;
    density = there;
    here = next;
    xi = moved;
    point_.log_second = log_sigma;
    mean = mean_there;
    llt = llt_there;
  }
  precision_ = model_->precision(point_.log_second);
  set_precision(0);
  const std::size_t d = groups_[0].d, q = model_->rows().columns();
  if (model_->layout().quadratic_coefficients() && q > 0) {
    Eigen::VectorXd noise(index(q));
    for (Eigen::Index j = 0; j < noise.size(); ++j) noise[j] = normal(stream);
    alpha_ = mean + Eigen::VectorXd(llt.matrixU().solve(noise));
    apply_m();
  }
  Group& group = groups_[0];
  const Small omega = group.omega;
  over_parts(*pool_, group.blocks(), [&](std::size_t part, Range range) {
    constexpr std::uint64_t own = 15;  // beside the groupings' sweeps
    Stream draws({.seed = id.seed,
                  .chain = id.chain,
                  .purpose = Purpose::levels,
                  .iteration = (id.iteration << 24U) | (own << 20U) | part});
    LevelLaw law(d, q);
    const LevelTable& table = reference_->table(0);
    const LevelFields& at = table.fields();
    for (std::size_t l = range.first * level_lanes; l < std::min(group.levels, range.last * level_lanes);
         ++l) {
      if (d == 1) {
        const double prior = omega(0, 0), spread = precision_ * table.at(l, at.h) + prior;
        double pull = precision_ * table.at(l, at.g) - prior * table.at(l, at.b);
        for (std::size_t j = 0; j < q; ++j)
          pull += (precision_ * table.at(l, at.hx + j) + prior * table.at(l, at.m + j)) * alpha_[index(j)];
        group.beta[group.at(l, 0)] = pull / spread + normal(draws) / std::sqrt(spread);
        continue;
      }
      law.read(table, l, precision_, omega);
      SmallColumn beta = law.pull + law.owed * alpha_;
      law.l.triangularView<Eigen::Lower>().solveInPlace(beta);
      for (Eigen::Index a = 0; a < index(d); ++a) beta[a] += normal(draws);
      law.l.transpose().triangularView<Eigen::Upper>().solveInPlace(beta);
      for (std::size_t a = 0; a < d; ++a) group.beta[group.at(l, a)] = beta[index(a)];
    }
  });
  return accepted;
}

}  // namespace mlo
