// Copyright (c) the mlo authors. BSD-3-Clause.
// A random walk for models with group effects that reads all rows of whatever it changes: single effects and
// coefficients, shifts of a coefficient against the effects of its kind, standard deviations alone and with
// their effects, correlations entry by entry, the second parameter. Steps are learnt in warm-up.
#pragma once

#include <Eigen/Dense>
#include <cmath>
#include <string>
#include <vector>

#include "mlo/base/random.hpp"
#include "support/grouped.hpp"
#include "support/grouped_laws.hpp"

namespace mlo::testing {

class PlainWalk {
 public:
  PlainWalk(const GroupedData& data, const GroupedPriors& priors)
      : d_(data),
        p_(priors),
        stream_({.seed = 91, .chain = 0, .purpose = Purpose::simulate, .iteration = 7}) {
    at_.a.assign(d_.columns, 0);
    if (d_.known > 0) at_.log_second = std::log(d_.known);
    for (const PlainGroup& g : d_.groups) {
      const auto dim = static_cast<Eigen::Index>(g.dim());
      at_.log_sd.emplace_back(g.dim(), -0.5);
      at_.correlation.emplace_back(Eigen::MatrixXd::Identity(dim, dim));
      at_.b.emplace_back(g.dim() * g.levels, 0.0);
      rows_of_.emplace_back(g.levels);
      for (std::size_t i = 0; i < d_.rows; ++i) rows_of_.back()[g.codes[i]].push_back(i);
    }
    for (std::size_t i = 0; i < d_.rows; ++i) {
      eta_.push_back(d_.offset.empty() ? 0 : d_.offset[i]);
      terms_.push_back(term(i, eta_[i], at_.log_second));
    }
    next_eta_ = eta_;
    next_terms_ = terms_;
    for (std::size_t i = 0; i < d_.rows; ++i) all_.push_back(i);
    for (std::size_t k = 0; k < d_.groups.size(); ++k) set_precision(k, at_.log_sd[k], at_.correlation[k]);
  }

  Draws run(std::size_t warmup, std::size_t sweeps) {
    Draws out;
    for (std::size_t k = 0; k < warmup + sweeps; ++k) {
      learns_ = k < warmup;
      sweep();
      if (learns_) continue;
      const std::vector<double> now = quantities();
      out.resize(now.size());
      for (std::size_t j = 0; j < now.size(); ++j) out[j].push_back(now[j]);
    }
    return out;
  }

 private:
  struct Precision {
    Eigen::MatrixXd omega;
    double log_det = 0;
  };

  [[nodiscard]] double term(std::size_t i, double eta, double log_second) const {
    return (d_.weight.empty() ? 1 : d_.weight[i]) * row_term(d_.family, d_.y[i], eta, log_second);
  }
  [[nodiscard]] static Precision precision_of(const std::vector<double>& log_sd, const Eigen::MatrixXd& r) {
    Eigen::MatrixXd covariance = r;
    for (Eigen::Index i = 0; i < r.rows(); ++i)
      for (Eigen::Index j = 0; j < r.cols(); ++j)
        covariance(i, j) *=
            std::exp(log_sd[static_cast<std::size_t>(i)] + log_sd[static_cast<std::size_t>(j)]);
    return {covariance.inverse(), -std::log(covariance.determinant())};
  }
  void set_precision(std::size_t k, const std::vector<double>& log_sd, const Eigen::MatrixXd& r) {
    precisions_.resize(d_.groups.size());
    precisions_[k] = precision_of(log_sd, r);
  }
  // Of one level's effects, without the determinant.
  [[nodiscard]] static double square(const Eigen::MatrixXd& omega, const double* b) {
    double sum = 0;
    for (Eigen::Index i = 0; i < omega.rows(); ++i)
      for (Eigen::Index j = 0; j < omega.cols(); ++j) sum += omega(i, j) * b[i] * b[j];
    return sum;
  }
  [[nodiscard]] double prior_of_effects(std::size_t k, const Precision& of,
                                        const std::vector<double>& b) const {
    const std::size_t d = d_.groups[k].dim(), levels = d_.groups[k].levels;
    double sum = 0.5 * static_cast<double>(levels) * of.log_det;
    for (std::size_t l = 0; l < levels; ++l) sum -= 0.5 * square(of.omega, b.data() + l * d);
    return sum;
  }

  // The step of the move that is made now; moves are made in the same order in every sweep.
  double& step() {
    if (move_ == steps_.size()) steps_.push_back(0.3);
    return steps_[move_++];
  }
  bool decide(double log_ratio, double& step) {
    const bool yes = std::log(uniform(stream_)) < log_ratio;
    if (learns_) step *= std::exp(((yes ? 1 : 0) - 0.4) * 0.06);
    return yes;
  }
  // The change of the log-likelihood if these rows' predictors are what `next` says.
  template <class F>
  double change(const std::vector<std::size_t>& rows, const F& next) {
    double sum = 0;
    for (const std::size_t i : rows) {
      next_eta_[i] = next(i);
      next_terms_[i] = term(i, next_eta_[i], at_.log_second);
      sum += next_terms_[i] - terms_[i];
    }
    return sum;
  }
  void keep(const std::vector<std::size_t>& rows) {
    for (const std::size_t i : rows) {
      eta_[i] = next_eta_[i];
      terms_[i] = next_terms_[i];
    }
  }

  void sweep() {
    move_ = 0;
    for (std::size_t k = 0; k < d_.groups.size(); ++k) {
      move_effects(k);
      for (int repeat = 0; repeat < 3; ++repeat) move_covariance(k);
      for (std::size_t a = 0; a < d_.groups[k].dim(); ++a) {
        scale_effects(k, a);
        shift(k, a);
      }
    }
    for (std::size_t j = 0; j < d_.columns; ++j) {
      double& size = step();
      const double delta = size * normal(stream_);
      const double ratio =
          prior_of_coefficient(p_, at_.a[j] + delta) - prior_of_coefficient(p_, at_.a[j]) +
          change(all_, [&](std::size_t i) { return eta_[i] + delta * d_.x[i * d_.columns + j]; });
      if (!decide(ratio, size)) continue;
      at_.a[j] += delta;
      keep(all_);
    }
    if (estimates_second(d_)) {
      double& size = step();
      const double from = at_.log_second, to = from + size * normal(stream_);
      at_.log_second = to;
      const double ratio = prior_of_log_second(to) - prior_of_log_second(from) +
                           change(all_, [&](std::size_t i) { return eta_[i]; });
      if (decide(ratio, size))
        keep(all_);
      else
        at_.log_second = from;
    }
  }

  void move_effects(std::size_t k) {
    const PlainGroup& g = d_.groups[k];
    const std::size_t d = g.dim();
    for (std::size_t l = 0; l < g.levels; ++l)
      for (std::size_t a = 0; a < d; ++a) {
        double& size = step();
        double* const b = at_.b[k].data() + l * d;
        const double delta = size * normal(stream_), before = square(precisions_[k].omega, b);
        b[a] += delta;
        const double ratio =
            -0.5 * (square(precisions_[k].omega, b) - before) +
            change(rows_of_[k][l], [&](std::size_t i) { return eta_[i] + delta * g.multiplier(i, a); });
        if (decide(ratio, size))
          keep(rows_of_[k][l]);
        else
          b[a] -= delta;
      }
  }

  // Given the effects: each log sd, then each correlation, whose matrix must stay positive.
  void move_covariance(std::size_t k) {
    const std::size_t d = d_.groups[k].dim();
    const auto propose = [&](double& size, const std::vector<double>& log_sd, const Eigen::MatrixXd& r,
                             double priors) {
      const Precision next = precision_of(log_sd, r);
      const double ratio =
          priors + prior_of_effects(k, next, at_.b[k]) - prior_of_effects(k, precisions_[k], at_.b[k]);
      if (!decide(ratio, size)) return;
      at_.log_sd[k] = log_sd;
      at_.correlation[k] = r;
      precisions_[k] = next;
    };
    for (std::size_t a = 0; a < d; ++a) {
      double& size = step();
      std::vector<double> log_sd = at_.log_sd[k];
      log_sd[a] += size * normal(stream_);
      propose(size, log_sd, at_.correlation[k],
              prior_of_log_sd(p_, log_sd[a]) - prior_of_log_sd(p_, at_.log_sd[k][a]));
    }
    if (!d_.groups[k].correlated) return;
    for (Eigen::Index i = 0; i < static_cast<Eigen::Index>(d); ++i)
      for (Eigen::Index j = 0; j < i; ++j) {
        double& size = step();
        Eigen::MatrixXd r = at_.correlation[k];
        r(i, j) += size * normal(stream_);
        r(j, i) = r(i, j);
        if (r.llt().info() != Eigen::Success) {
          if (learns_) size *= 0.97;
          continue;
        }
        propose(size, at_.log_sd[k], r,
                (p_.lkj - 1) * std::log(r.determinant() / at_.correlation[k].determinant()));
      }
  }

  // An sd and its effects, multiplied by the same number: the effects' prior times the Jacobian stays.
  void scale_effects(std::size_t k, std::size_t a) {
    const PlainGroup& g = d_.groups[k];
    const std::size_t d = g.dim();
    double& size = step();
    const double delta = size * normal(stream_), factor = std::expm1(delta);
    const double ratio = prior_of_log_sd(p_, at_.log_sd[k][a] + delta) -
                         prior_of_log_sd(p_, at_.log_sd[k][a]) + change(all_, [&](std::size_t i) {
                           return eta_[i] + factor * at_.b[k][g.codes[i] * d + a] * g.multiplier(i, a);
                         });
    if (!decide(ratio, size)) return;
    at_.log_sd[k][a] += delta;
    for (std::size_t l = 0; l < g.levels; ++l) at_.b[k][l * d + a] *= std::exp(delta);
    set_precision(k, at_.log_sd[k], at_.correlation[k]);
    keep(all_);
  }

  // A coefficient against the effects of its column: no predictor changes.
  void shift(std::size_t k, std::size_t a) {
    const PlainGroup& g = d_.groups[k];
    const std::size_t d = g.dim(), column = g.intercept ? a : a + 1;
    double& size = step();
    const double delta = size * normal(stream_);
    std::vector<double> b = at_.b[k];
    for (std::size_t l = 0; l < g.levels; ++l) b[l * d + a] -= delta;
    const double ratio =
        prior_of_effects(k, precisions_[k], b) - prior_of_effects(k, precisions_[k], at_.b[k]) +
        prior_of_coefficient(p_, at_.a[column] + delta) - prior_of_coefficient(p_, at_.a[column]);
    if (!decide(ratio, size)) return;
    at_.b[k] = b;
    at_.a[column] += delta;
  }

  [[nodiscard]] std::vector<double> quantities() const {
    std::vector<double> out = at_.a;
    if (estimates_second(d_)) out.push_back(at_.log_second);
    for (std::size_t k = 0; k < d_.groups.size(); ++k) {
      out.insert(out.end(), at_.log_sd[k].begin(), at_.log_sd[k].end());
      if (!d_.groups[k].correlated) continue;
      for (Eigen::Index i = 0; i < at_.correlation[k].rows(); ++i)
        for (Eigen::Index j = 0; j < i; ++j) out.push_back(std::atanh(at_.correlation[k](i, j)));
    }
    for (std::size_t k = 0; k < d_.groups.size(); ++k) {
      const std::size_t d = d_.groups[k].dim();
      for (const std::size_t l : watched(d_.groups[k].levels))
        for (std::size_t a = 0; a < d; ++a) out.push_back(at_.b[k][l * d + a]);
    }
    return out;
  }

  const GroupedData& d_;
  GroupedPriors p_;
  Stream stream_;
  PlainPoint at_;
  std::vector<std::vector<std::vector<std::size_t>>> rows_of_;
  std::vector<std::size_t> all_;
  std::vector<double> eta_, terms_, next_eta_, next_terms_, steps_;
  std::vector<Precision> precisions_;
  std::size_t move_ = 0;
  bool learns_ = true;
};

}  // namespace mlo::testing
