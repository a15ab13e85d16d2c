// Copyright (c) the mlo authors. BSD-3-Clause.
// The search for a reference point: Newton's method for coefficients and effects, expectation maximisation
// for the covariances, Newton's method for the second parameter. It only has to come near: bounds and
// proposals are made about it, and what is sampled does not depend on it.
#include <algorithm>
#include <cmath>
#include <limits>

#include "mlo/base/errors.hpp"
#include "mlo/subsample/level_reference.hpp"
#include "subsample/level_passes.hpp"
#include "subsample/level_solver.hpp"

namespace mlo {

// One point of the search, with its sums.
class LevelSearch {
 public:
  LevelSearch(const GroupedModel& model, ThreadPool& pool, LevelRoom& room)
      : model_(model), pool_(pool), bends_(room.bends), eta_(room.eta) {}

  GroupedPoint run(double& passes) {
    GroupedPoint at = start();
    // Where levels have many rows, some of them say nearly where the others will lead.
    const LevelRows& rows = model_.rows();
    constexpr double part = 0.1;
    if (rows.groups().size() == 1 && rows.size() >= 100000 && rows.size() >= 100 * rows.groups()[0].levels())
      at = climb(at, part, passes);
    return climb(at, 1, passes);
  }

 private:
  static constexpr int most_iterations = 60;
  struct Step {
    Eigen::VectorXd coefficients;
    LevelSolver::Effects effects;
    double decrement = 0;
  };

  // By a share of each level's rows.
  GroupedPoint climb(const GroupedPoint& at, double share, double& passes) {
    share_ = share;
    LevelReference here = sums(at);
    passes += share;
    double value = objective(here);
    if (!std::isfinite(value)) throw ModelError("the likelihood is not finite at the starting point");
    // A step's length in all coefficients and effects, by which they are known to a part of their sds.
    const double near = 0.3 + 0.1 * std::sqrt(static_cast<double>(model_.effects()));
    bool calm = false;
    for (int iteration = 0; iteration < most_iterations && !calm; ++iteration) {
      const double moved = update_covariances(here);
      const double second = update_second(here);
      const double before = second == 0 ? objective(here) : value_at(here, passes);
      Step step = newton(here);
      GroupedPoint next;
      double length = 1;
      for (int halving = 0;; ++halving) {
        next = stepped(here.at_, step, length);
        calm = step.decrement < near && moved < 0.03 && std::abs(second) < 0.03 && length == 1;
        if (calm) break;  // what one more pass would show is not needed
        LevelReference there = sums(next);
        passes += share;
        value = objective(there);
        if (value >= before - 1e-6 * std::abs(before) - 1e-3 && std::isfinite(value)) {
          recycle(here);
          here = std::move(there);
          break;
        }
        recycle(there);
        if (halving == 20)
          throw ModelError("the search for a mode of coefficients and group effects does not converge");
        length /= 2;
      }
      if (calm) {
        recycle(here);
        return next;
      }
    }
    recycle(here);
    return here.at_;
  }

  [[nodiscard]] LevelReference sums(const GroupedPoint& at) {
    LevelReference out;
    out.model_ = &model_;
    out.at_ = at;
    out.precision_ = model_.precision(at.log_second);
    out.bends_ = std::move(bends_);
    out.eta_ = std::move(eta_);
    if (model_.rows().groups().size() == 1) {
      out.sum_one_grouping(pool_, LevelReference::Third::none, false, share_);
    } else {
      out.take_derivatives(pool_, LevelReference::Third::none, false);
      out.sum_raw(pool_);
    }
    return out;
  }

  // Fresh memory for all rows would cost as much as the sums.
  void recycle(LevelReference& old) {
    bends_ = std::move(old.bends_);
    eta_ = std::move(old.eta_);
  }

  [[nodiscard]] GroupedPoint start() {
    GroupedPoint at;
    at.coefficients = model_.start().coefficients;
    at.log_second = model_.start().log_second;
    const LevelRows& rows = model_.rows();
    std::vector<double> z(LevelRows::most_effects);
    for (std::size_t k = 0; k < rows.groups().size(); ++k) {
      const Grouping& group = rows.groups()[k];
      const auto d = group.dim();
      at.effects.emplace_back(group.levels() * d, 0.0);
      std::vector<double> squares(d, 0);
      const std::size_t stride = std::max<std::size_t>(1, rows.size() / 1000);
      double count = 0;
      for (std::size_t i = 0; i < rows.size(); i += stride, ++count) {
        group.multipliers(i, z.data());
        for (std::size_t a = 0; a < d; ++a) squares[a] += z[a] * z[a];
      }
      Eigen::MatrixXd covariance = Eigen::MatrixXd::Zero(index(d), index(d));
      for (std::size_t a = 0; a < d; ++a)
        covariance(index(a), index(a)) =
            0.25 * model_.response_sd() * model_.response_sd() / std::max(squares[a] / count, 1e-30);
      farthest_.emplace_back(4 * covariance.diagonal().cwiseSqrt());
      // A quadratic log-likelihood is known as far as one likes.
      if (model_.family().spec().sums) farthest_.back().setConstant(std::numeric_limits<double>::infinity());
      at.covariances.emplace_back(model_.covariances()[k].size(), 0.0);
      model_.covariances()[k].from_covariance(covariance, at.covariances[k]);
    }
    return at;
  }

  // The log posterior of coefficients and effects, given covariances.
  [[nodiscard]] double objective(const LevelReference& here) const {
    double sum = here.value_ + model_.log_prior_of_main(here.at_);
    for (std::size_t k = 0; k < here.groups_.size(); ++k) {
      const Eigen::MatrixXd omega = model_.covariances()[k].precision(here.at_.covariances[k]);
      const auto& b = here.at_.effects[k];
      const auto d = index(here.groups_[k].d);
      const Eigen::Map<const Eigen::MatrixXd> effects(b.data(), d, index(b.size()) / d);
      sum -= 0.5 * (omega * effects).cwiseProduct(effects).sum();
    }
    return sum;
  }
  // After the second parameter has moved.
  double value_at(LevelReference& here, double& passes) {
    const GroupedPoint at = here.at_;
    recycle(here);
    here = sums(at);
    passes += share_;
    return objective(here);
  }

  // Expectation maximisation given the levels' quadratic forms, without another pass over rows; returns the
  // largest change of a log standard deviation.
  double update_covariances(LevelReference& here) {
    double most = 0;
    for (std::size_t k = 0; k < here.groups_.size(); ++k) {
      const GroupCovariance& covariance = model_.covariances()[k];
      std::vector<double>& xi = here.at_.covariances[k];
      const std::size_t d = here.groups_[k].d;
      const std::vector<double> first = xi;
      // Each step is cheap for one effect per level, and more often one of many small ones.
      const int steps = d == 1 ? 100 : 10;
      double change = 1;
      for (int step = 0; step < steps && change > 1e-3; ++step) {
        const Eigen::MatrixXd mean = expected_squares(here, k, covariance.precision(xi));
        std::vector<double> next(xi.size());
        covariance.from_covariance(mean, next);
        change = 0;
        for (std::size_t a = 0; a < d; ++a) {
          next[a] = std::clamp(next[a], first[a] - 2, first[a] + 2);
          change = std::max(change, std::abs(next[a] - xi[a]));
        }
        for (std::size_t a = d; a < xi.size(); ++a) next[a] = std::clamp(next[a], -2.0, 2.0);
        xi = next;
      }
      for (std::size_t a = 0; a < d; ++a) most = std::max(most, std::abs(xi[a] - first[a]));
    }
    return most;
  }

  // The mean over levels of E(b b'), b the effects under the levels' quadratic forms and this precision.
  // Their mean is not taken farther from the present effect than a quadratic form may be believed: far below
  // the mode of counts it would be hundreds of sds above it.
  [[nodiscard]] Eigen::MatrixXd expected_squares(const LevelReference& here, std::size_t k,
                                                 const Eigen::MatrixXd& omega) const {
    const LevelSums& sums = here.groups_[k];
    const std::size_t d = sums.d, levels = sums.g.size() / d;
    const double precision = here.precision_;
    const double* const b = here.at_.effects[k].data();
    Eigen::MatrixXd mean = Eigen::MatrixXd::Zero(index(d), index(d));
    if (d == 1) {
      double sum = 0;
      const double limit = farthest_[k][0];
      for (std::size_t l = 0; l < levels; ++l) {
        const double h = precision * sums.h[l];
        const double variance = 1 / std::max(std::abs(h + omega(0, 0)), 1e-12);
        const double at =
            b[l] + std::clamp(variance * (precision * sums.g[l] - omega(0, 0) * b[l]), -limit, limit);
        sum += at * at + variance;
      }
      mean(0, 0) = sum;
    } else {
      using Small = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, LevelRows::most_effects,
                                  LevelRows::most_effects>;
      using SmallColumn = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, LevelRows::most_effects, 1>;
      for (std::size_t l = 0; l < levels; ++l) {
        const Eigen::Map<const Eigen::VectorXd> effects(b + l * d, index(d)), g(&sums.g[l * d], index(d));
        const Small h = precision * Eigen::Map<const Eigen::MatrixXd>(&sums.h[l * d * d], index(d), index(d));
        Small c = h + omega;
        const Eigen::LLT<Small> llt(c);
        if (llt.info() == Eigen::Success)
          c = llt.matrixL();
        else
          c = positive_factor(c);
        Small inverse = Small::Identity(index(d), index(d));
        c.triangularView<Eigen::Lower>().solveInPlace(inverse);
        const Small variance = inverse.transpose() * inverse;
        const SmallColumn step = variance * (precision * g - omega * effects);
        const SmallColumn at = effects + step.cwiseMax(-farthest_[k]).cwiseMin(farthest_[k]);
        mean += at * at.transpose() + variance;
      }
    }
    mean /= static_cast<double>(levels);
    // Of variances below this the levels could not tell: a reference has no use for them.
    const double share = std::sqrt(0.5 / static_cast<double>(levels));
    for (std::size_t a = 0; a < d; ++a) {
      double information = 0;
      for (std::size_t l = 0; l < levels; ++l)
        information += std::abs(precision * sums.h[(l * d + a) * d + a]);
      const double least = 1e-12 + share * static_cast<double>(levels) / std::max(information, 1e-300);
      double& variance = mean(index(a), index(a));
      variance = std::max(variance, std::min(least, 1e12));
    }
    return mean;
  }

  // Of a gaussian response: what the effects' variances add to the sum of squared residuals, in units of
  // sigma. Without it, sigma would be 0 at the mode where every row has an effect of its own.
  [[nodiscard]] double expected_residuals(const LevelReference& here) const {
    if (!model_.family().spec().sums || here.groups_.size() > 1) return 0;
    const LevelSums& sums = here.groups_[0];
    const std::size_t d = sums.d;
    const Eigen::MatrixXd omega = model_.covariances()[0].precision(here.at_.covariances[0]);
    double sum = 0;
    for (std::size_t l = 0; l < sums.h.size() / (d * d); ++l) {
      if (d == 1) {
        const double h = here.precision_ * sums.h[l];
        sum += h / (h + omega(0, 0));
        continue;
      }
      const Eigen::MatrixXd h =
          here.precision_ * Eigen::Map<const Eigen::MatrixXd>(sums.h.data() + l * d * d, index(d), index(d));
      sum += Eigen::MatrixXd(h + omega).ldlt().solve(h).trace();
    }
    return sum;
  }

  [[nodiscard]] bool few_rows_per_level() const noexcept {
    std::size_t levels = 0;
    for (const Grouping& group : model_.rows().groups()) levels = std::max(levels, group.levels());
    return model_.rows().size() < 2 * levels;
  }
  static constexpr double furthest = 3;  // from the start, of the log of the second parameter

  // Newton's step for the log of the second parameter.
  double update_second(LevelReference& here) {
    if (!model_.family().estimates_second()) return 0;
    std::vector<double> theta(here.at_.coefficients);
    theta.push_back(here.at_.log_second);
    Derivatives d(theta.size());
    model_.layout().add_prior_derivatives(theta, d);
    const Eigen::Index last = d.gradient.size() - 1;
    const double owed = expected_residuals(here);
    const double slope = here.second_slope_ + d.gradient[last] + owed;
    const double curvature = -here.second_curvature_ + d.information(last, last) + 2 * owed;
    double step = std::clamp(curvature > 0 ? slope / curvature : std::copysign(0.5, slope), -1.0, 1.0);
    // With hardly more rows than levels the joint density may have no mode: every row is its own effect, and
    // what is left of it vanishes. A chain has to start somewhere all the same.
    const double start = model_.start().log_second;
    if (few_rows_per_level())
      step = std::clamp(here.at_.log_second + step, start - furthest, start + furthest) - here.at_.log_second;
    if (std::abs(step) < 1e-3) return 0;
    here.at_.log_second += step;
    return step;
  }

  [[nodiscard]] Step newton(const LevelReference& here) {
    const std::size_t q = model_.rows().columns(), k_count = here.groups_.size();
    std::vector<double> theta(here.at_.coefficients);
    theta.resize(model_.layout().dim(), here.at_.log_second);
    Derivatives prior(theta.size());
    model_.layout().add_prior_derivatives(theta, prior);
    const Eigen::VectorXd ga = here.precision_ * here.raw_gradient_ + prior.gradient.head(index(q));
    const Eigen::MatrixXd haa =
        here.precision_ * here.raw_information_ + prior.information.topLeftCorner(index(q), index(q));
    const LevelSolver solver(model_, here, pool_);
    LevelSolver::Effects gb(k_count);
    for (std::size_t k = 0; k < k_count; ++k) {
      const LevelSums& sums = here.groups_[k];
      const Eigen::MatrixXd omega = model_.covariances()[k].precision(here.at_.covariances[k]);
      const auto& b = here.at_.effects[k];
      gb[k].resize(b.size());
      const std::size_t d = sums.d;
      for (std::size_t r = 0; r < b.size(); ++r) {
        const std::size_t a = r % d, first = r - a;
        gb[k][r] = here.precision_ * sums.g[r];
        for (std::size_t e = 0; e < d; ++e) gb[k][r] -= omega(index(a), index(e)) * b[first + e];
      }
    }
    const auto times_ab = [&](const LevelSolver::Effects& v) {  // H_ab v
      Eigen::VectorXd out = Eigen::VectorXd::Zero(index(q));
      for (std::size_t k = 0; k < k_count; ++k)
        for (std::size_t r = 0; r < v[k].size(); ++r)
          for (std::size_t j = 0; j < q; ++j)
            out[index(j)] -= here.precision_ * here.groups_[k].hx[r * q + j] * v[k][r];
      return out;
    };
    const auto times_ba = [&](const Eigen::VectorXd& v) {
      LevelSolver::Effects out(k_count);
      for (std::size_t k = 0; k < k_count; ++k) {
        out[k].resize(here.at_.effects[k].size());
        for (std::size_t r = 0; r < out[k].size(); ++r) {
          double sum = 0;
          for (std::size_t j = 0; j < q; ++j) sum -= here.groups_[k].hx[r * q + j] * v[index(j)];
          out[k][r] = here.precision_ * sum;
        }
      }
      return out;
    };
    // The Schur complement with the levels' own blocks: exact for one grouping; otherwise the
    // preconditioner of conjugate gradients in all unknowns together.
    Eigen::MatrixXd schur = haa;
    for (std::size_t k = 0; k < k_count; ++k) {
      const LevelSums& sums = here.groups_[k];
      for (std::size_t j = 0; j < q; ++j) {
        LevelSolver::Effects column(k_count);
        for (std::size_t m = 0; m < k_count; ++m) column[m].assign(here.at_.effects[m].size(), 0);
        for (std::size_t r = 0; r < column[k].size(); ++r)
          column[k][r] = -here.precision_ * sums.hx[r * q + j];
        schur.col(index(j)) -=
            times_ab(solver.precondition(column)) / (k_count == 1 ? 1.0 : 2.0 * static_cast<double>(k_count));
      }
    }
    const Eigen::MatrixXd l = positive_factor(schur);
    const auto solve_a = [&](Eigen::VectorXd v) {
      l.triangularView<Eigen::Lower>().solveInPlace(v);
      l.transpose().triangularView<Eigen::Upper>().solveInPlace(v);
      return v;
    };
    Step out;
    if (k_count == 1) {
      const LevelSolver::Effects c = solver.precondition(gb);
      out.coefficients = solve_a(ga - times_ab(c));
      LevelSolver::Effects right = gb;
      const LevelSolver::Effects shift = times_ba(out.coefficients);
      for (std::size_t r = 0; r < right[0].size(); ++r) right[0][r] -= shift[0][r];
      out.effects = solver.precondition(right);
    } else {
      conjugate_gradients(haa, ga, gb, solver, times_ab, times_ba, solve_a, out);
    }
    double square = out.coefficients.dot(ga);
    for (std::size_t k = 0; k < k_count; ++k)
      for (std::size_t r = 0; r < gb[k].size(); ++r) square += out.effects[k][r] * gb[k][r];
    out.decrement = std::sqrt(std::max(0.0, square));
    return out;
  }

  template <class Ab, class Ba, class SolveA>
  void conjugate_gradients(const Eigen::MatrixXd& haa, const Eigen::VectorXd& ga,
                           const LevelSolver::Effects& gb, const LevelSolver& solver, const Ab& times_ab,
                           const Ba& times_ba, const SolveA& solve_a, Step& out) const {
    struct Vector {
      Eigen::VectorXd a;
      LevelSolver::Effects b;
    };
    const auto dot = [](const Vector& u, const Vector& v) {
      double sum = u.a.dot(v.a);
      for (std::size_t k = 0; k < u.b.size(); ++k)
        for (std::size_t r = 0; r < u.b[k].size(); ++r) sum += u.b[k][r] * v.b[k][r];
      return sum;
    };
    const auto add = [](Vector& to, double f, const Vector& v) {
      to.a += f * v.a;
      for (std::size_t k = 0; k < to.b.size(); ++k)
        for (std::size_t r = 0; r < to.b[k].size(); ++r) to.b[k][r] += f * v.b[k][r];
    };
    const auto times = [&](const Vector& v) {
      Vector hv{haa * v.a + times_ab(v.b), solver.product(v.b)};
      const LevelSolver::Effects ba = times_ba(v.a);
      for (std::size_t k = 0; k < ba.size(); ++k)
        for (std::size_t r = 0; r < ba[k].size(); ++r) hv.b[k][r] += ba[k][r];
      return hv;
    };
    const auto precondition = [&](const Vector& v) { return Vector{solve_a(v.a), solver.precondition(v.b)}; };
    Vector r{ga, gb}, x{Eigen::VectorXd::Zero(ga.size()), gb};
    for (auto& b : x.b) std::fill(b.begin(), b.end(), 0);
    Vector z = precondition(r), p = z;
    double rz = dot(r, z);
    const double first = rz;
    for (int iteration = 0; iteration < 300 && rz > 1e-5 * first && rz > 1e-4; ++iteration) {
      const Vector hp = times(p);
      const double curvature = dot(p, hp);
      if (!(curvature > 0)) break;
      const double step = rz / curvature;
      add(x, step, p);
      add(r, -step, hp);
      z = precondition(r);
      const double next = dot(r, z), factor = next / rz;
      rz = next;
      Vector q = z;
      add(q, factor, p);
      p = std::move(q);
    }
    out.coefficients = std::move(x.a);
    out.effects = std::move(x.b);
  }

  [[nodiscard]] static GroupedPoint stepped(const GroupedPoint& from, const Step& step, double length) {
    GroupedPoint to = from;
    for (std::size_t j = 0; j < to.coefficients.size(); ++j)
      to.coefficients[j] += length * step.coefficients[index(j)];
    for (std::size_t k = 0; k < to.effects.size(); ++k)
      for (std::size_t r = 0; r < to.effects[k].size(); ++r) to.effects[k][r] += length * step.effects[k][r];
    return to;
  }

  const GroupedModel& model_;
  ThreadPool& pool_;
  double share_ = 1;
  std::vector<Eigen::VectorXd> farthest_;  // by grouping and kind of effect
  HugeVector<LevelReference::Bend>& bends_;
  HugeVector<double>& eta_;
};

GroupedPoint find_reference(const GroupedModel& model, ThreadPool& pool, double& passes, LevelRoom* room) {
  LevelRoom own;
  return LevelSearch(model, pool, room != nullptr ? *room : own).run(passes);
}

}  // namespace mlo
