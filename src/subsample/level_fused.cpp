// Copyright (c) the mlo authors. BSD-3-Clause.
// The sums of a model with one grouping in one pass: M of a level depends on its own rows alone, which are
// still in the cache when it is known. Nothing is stored per row but the curves.
#include <algorithm>
#include <array>
#include <cmath>

#include "subsample/level_passes.hpp"

namespace mlo {
namespace {

// Rows of a level that a pass over a part of the rows takes: the first ones.
std::size_t taken_rows(std::size_t rows, double share) noexcept {
  constexpr double fewest = 16;
  const double wanted = std::max(fewest, std::ceil(static_cast<double>(rows) * share));
  return std::min(rows, static_cast<std::size_t>(wanted));
}

struct RowsOfLevel {
  const float* x;
  const double *f1, *f2, *f3;
  std::size_t count;
};

// Of a level with an intercept alone.
template <std::size_t Q>
class PlainLevel {
 public:
  PlainLevel(LevelSums& sums, std::size_t level) noexcept : sums_(sums), level_(level) {}
  void add_raw(const RowsOfLevel& rows) noexcept {
    const std::size_t q = Q == 0 ? sums_.q : Q;
    double g = 0, h = 0;
    std::array<double, Q == 0 ? 1 : Q> local{};
    double* const hx = Q == 0 ? sums_.hx.data() + level_ * q : local.data();
    const float* x = rows.x;
    for (std::size_t r = 0; r < rows.count; ++r, x += q) {
      g += rows.f1[r];
      h -= rows.f2[r];
      for (std::size_t j = 0; j < q; ++j) hx[j] += rows.f2[r] * static_cast<double>(x[j]);
    }
    sums_.g[level_] = g;
    sums_.h[level_] = h;
    if constexpr (Q > 0) std::copy(local.begin(), local.end(), sums_.hx.data() + level_ * q);
  }
  void add_decoupled(const RowsOfLevel& rows) noexcept {
    const std::size_t q = Q == 0 ? sums_.q : Q;
    const double* const m = sums_.m.data() + level_ * q;
    double c = 0, skew = 0;
    std::array<double, Q == 0 ? 1 : Q> local_hx{}, local_s{};
    double* const hx = Q == 0 ? sums_.hx.data() + level_ * q : local_hx.data();
    double* const s = Q == 0 ? sums_.s.data() + level_ * q : local_s.data();
    if constexpr (Q == 0) std::fill_n(hx, q, 0.0);
    const float* x = rows.x;
    for (std::size_t r = 0; r < rows.count; ++r, x += q) {
      const double f2 = rows.f2[r], f3 = rows.f3[r];
      c += f3;
      skew += std::abs(f3);
      for (std::size_t j = 0; j < q; ++j) {
        const double v = static_cast<double>(x[j]) - m[j];
        hx[j] += f2 * v;
        s[j] += f3 * v;
      }
    }
    sums_.c[level_] = c;
    sums_.skew[level_] = skew;
    if constexpr (Q > 0) {
      std::copy(local_hx.begin(), local_hx.end(), sums_.hx.data() + level_ * q);
      std::copy(local_s.begin(), local_s.end(), sums_.s.data() + level_ * q);
    }
  }

 private:
  LevelSums& sums_;
  std::size_t level_;
};

// Of a level with any effects, its rows from `first` on.
class AnyLevel {
 public:
  AnyLevel(LevelSums& sums, const Grouping& group, std::size_t level) noexcept
      : sums_(sums), group_(group), level_(level) {}
  void add_raw(const RowsOfLevel& rows, std::size_t first) noexcept {
    const std::size_t d = sums_.d, q = sums_.q;
    double* const g = sums_.g.data() + level_ * d;
    double* const h = sums_.h.data() + level_ * d * d;
    double* const hx = sums_.hx.data() + level_ * d * q;
    for (std::size_t r = 0; r < rows.count; ++r) {
      group_.multipliers(first + r, z_.data());
      const float* const x = rows.x + r * q;
      for (std::size_t a = 0; a < d; ++a) {
        g[a] += rows.f1[r] * z_[a];
        for (std::size_t b = 0; b < d; ++b) h[a * d + b] -= rows.f2[r] * z_[a] * z_[b];
        for (std::size_t j = 0; j < q; ++j) hx[a * q + j] += rows.f2[r] * z_[a] * static_cast<double>(x[j]);
      }
    }
  }
  void add_decoupled(const RowsOfLevel& rows, std::size_t first, std::vector<double>& row, DenseSums& dense) {
    const std::size_t d = sums_.d, q = sums_.q;
    double* const c = sums_.c.data() + level_ * d * d * d;
    double* const hx = sums_.hx.data() + level_ * d * q;
    double* const s = sums_.s.data() + level_ * d * d * q;
    const double* const m = sums_.m.data() + level_ * d * q;
    std::fill_n(hx, d * q, 0.0);
    row.resize(q);
    for (std::size_t r = 0; r < rows.count; ++r) {
      group_.multipliers(first + r, z_.data());
      const double f2 = rows.f2[r], f3 = rows.f3[r];
      for (std::size_t j = 0; j < q; ++j) {
        row[j] = static_cast<double>(rows.x[r * q + j]);
        for (std::size_t a = 0; a < d; ++a) row[j] -= z_[a] * m[a * q + j];
      }
      for (std::size_t a = 0; a < d; ++a) {
        for (std::size_t j = 0; j < q; ++j) hx[a * q + j] += f2 * z_[a] * row[j];
        for (std::size_t b = 0; b < d; ++b) {
          const double fzz = f3 * z_[a] * z_[b];
          for (std::size_t j = 0; j < q; ++j) s[(a * d + b) * q + j] += fzz * row[j];
          for (std::size_t e = 0; e < d; ++e) c[(a * d + b) * d + e] += fzz * z_[e];
        }
      }
      if (d == 1) sums_.skew[level_] += std::abs(f3 * z_[0] * z_[0] * z_[0]);
      dense.add(row.data(), rows.f1[r], f2);
    }
  }

 private:
  LevelSums& sums_;
  const Grouping& group_;
  std::size_t level_;
  std::array<double, LevelRows::most_effects> z_{};
};

// M = (h + omega)^-1 times minus hx.
void set_m(LevelSums& sums, std::size_t level, double precision, const Eigen::MatrixXd& omega, bool concave) {
  const std::size_t d = sums.d, q = sums.q;
  double* const m = sums.m.data() + level * d * q;
  const double* const hx = sums.hx.data() + level * d * q;
  if (d == 1) {
    const double inverse = 1 / std::max(std::abs(precision * sums.h[level] + omega(0, 0)), omega(0, 0));
    for (std::size_t j = 0; j < q; ++j) m[j] = -inverse * precision * hx[j];
    return;
  }
  const Eigen::Map<const Eigen::MatrixXd> h(sums.h.data() + level * d * d, index(d), index(d));
  const Eigen::MatrixXd c = positive_factor(precision * (concave ? h : concave_part(h)) + omega);
  using ByRows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::MatrixXd right = -precision * Eigen::Map<const ByRows>(hx, index(d), index(q));
  c.triangularView<Eigen::Lower>().solveInPlace(right);
  c.transpose().triangularView<Eigen::Upper>().solveInPlace(right);
  Eigen::Map<ByRows>(m, index(d), index(q)) = right;
}

}  // namespace

// With share < 1 from a part of each level's rows, which stand for the others. `decoupled`: the sums of a
// reference; otherwise those of a search.
void LevelReference::sum_one_grouping(ThreadPool& pool, Third third, bool decoupled, double share) {
  const LevelRows& rows = model_->rows();
  const Grouping& group = rows.groups()[0];
  const std::size_t q = rows.columns(), d = group.dim(), levels = group.levels();
  groups_.resize(1);
  LevelSums& sums = groups_[0];
  sums.d = d;
  sums.q = q;
  sums.g.assign(levels * d, 0);
  sums.h.assign(levels * d * d, 0);
  sums.hx.assign(levels * d * q, 0);
  if (decoupled) {
    sums.c.assign(levels * d * d * d, 0);
    sums.s.assign(levels * d * d * q, 0);
    sums.m.assign(levels * d * q, 0);
    sums.skew.assign(levels, 0);
  }
  const Eigen::MatrixXd omega = model_->covariances()[0].precision(at_.covariances[0]);
  const bool concave = model_->family().spec().log_concave;
  const std::vector<double> zero(q, 0);
  struct Part {
    Totals totals{};
    DenseSums dense;
    Part& operator+=(const Part& other) {
      totals += other.totals;
      dense += other.dense;
      return *this;
    }
  };
  const auto body = [&]<std::size_t Q>(std::integral_constant<std::size_t, Q>) {
    const Part total = over_chunks(
        pool, group, Part{.dense = DenseSums(q)}, [&](std::size_t first, std::size_t last, Part& part) {
          const std::size_t begin = group.starts[first], count = group.starts[last] - begin;
          std::vector<double> f1(count), f2(count), f3(count), row;
          const auto derive = [&](std::size_t at, std::size_t number, Totals& totals) {
            const std::size_t to = at - begin;
            derivatives_of(at, number, third, {f1.data() + to, f2.data() + to, f3.data() + to}, totals);
          };
          if (share >= 1) derive(begin, count, part.totals);
          for (std::size_t level = first; level < last; ++level) {
            const std::size_t at = group.starts[level], from = at - begin;
            const std::size_t taken = taken_rows(group.size(level), share);
            if (share < 1) {
              Totals own;
              derive(at, taken, own);
              const double factor = static_cast<double>(group.size(level)) / static_cast<double>(taken);
              part.totals += own.times(factor);
              for (std::size_t r = from; r < from + taken; ++r) {
                f1[r] *= factor;
                f2[r] *= factor;
              }
            }
            const RowsOfLevel its{rows.x(at), f1.data() + from, f2.data() + from, f3.data() + from, taken};
            if (group.plain()) {
              PlainLevel<Q> of(sums, level);
              of.add_raw(its);
              if (decoupled) {
                set_m(sums, level, precision_, omega, concave);
                of.add_decoupled(its);
              }
              part.dense.template add_rows<Q>(its.x, decoupled ? sums.m.data() + level * q : zero.data(),
                                              its.f1, its.f2, taken);
            } else {
              AnyLevel of(sums, group, level);
              of.add_raw(its, at);
              if (decoupled) {
                set_m(sums, level, precision_, omega, concave);
                of.add_decoupled(its, at, row, part.dense);
              } else {
                part.dense.template add_rows<Q>(its.x, zero.data(), its.f1, its.f2, taken);
              }
            }
          }
        });
    take_totals(total.totals);
    (decoupled ? gradient_ : raw_gradient_) = total.dense.gradient();
    (decoupled ? information_ : raw_information_) = total.dense.information();
  };
  with_columns(q, body);
}

}  // namespace mlo
