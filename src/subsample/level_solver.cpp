// Copyright (c) the mlo authors. BSD-3-Clause.
#include "subsample/level_solver.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "subsample/level_passes.hpp"

namespace mlo {
namespace {

using Eigen::Index;

double dot(const LevelSolver::Effects& a, const LevelSolver::Effects& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k)
    for (std::size_t i = 0; i < a[k].size(); ++i) sum += a[k][i] * b[k][i];
  return sum;
}

void add(LevelSolver::Effects& to, double factor, const LevelSolver::Effects& v) {
  for (std::size_t k = 0; k < to.size(); ++k)
    for (std::size_t i = 0; i < to[k].size(); ++i) to[k][i] += factor * v[k][i];
}

// out = block v, for the blocks of all levels.
void multiply(const std::vector<double>& blocks, std::size_t d, const std::vector<double>& v,
              std::vector<double>& out) {
  out.resize(v.size());
  if (d == 1) {
    for (std::size_t l = 0; l < v.size(); ++l) out[l] = blocks[l] * v[l];
    return;
  }
  for (std::size_t l = 0; l < v.size() / d; ++l)
    for (std::size_t a = 0; a < d; ++a) {
      double sum = 0;
      for (std::size_t b = 0; b < d; ++b) sum += blocks[(l * d + a) * d + b] * v[l * d + b];
      out[l * d + a] = sum;
    }
}

}  // namespace

LevelSolver::LevelSolver(const GroupedModel& model, const LevelReference& reference, ThreadPool& pool)
    : model_(&model),
      reference_(&reference),
      pool_(&pool),
      precision_(model.precision(reference.at().log_second)) {
  for (std::size_t k = 0; k < model.covariances().size(); ++k) {
    omega_.push_back(model.covariances()[k].precision(reference.at().covariances[k]));
    const LevelSums& sums = reference.groups()[k];
    const std::size_t d = sums.d;
    std::vector<double> inverse(sums.h.size());
    for (std::size_t l = 0; l < sums.h.size() / (d * d); ++l) {
      const Eigen::Map<const Eigen::MatrixXd> h(sums.h.data() + l * d * d, index(d), index(d));
      const Eigen::MatrixXd c = positive_factor(precision_ * h + omega_[k]);
      Eigen::MatrixXd one = Eigen::MatrixXd::Identity(index(d), index(d));
      c.triangularView<Eigen::Lower>().solveInPlace(one);
      Eigen::Map<Eigen::MatrixXd>(inverse.data() + l * d * d, index(d), index(d)) = one.transpose() * one;
    }
    inverse_.push_back(std::move(inverse));
  }
}

LevelSolver::Effects LevelSolver::precondition(const Effects& r) const {
  Effects out(r.size());
  for (std::size_t k = 0; k < r.size(); ++k) multiply(inverse_[k], reference_->groups()[k].d, r[k], out[k]);
  return out;
}

LevelSolver::Effects LevelSolver::product(const Effects& v) const {
  const LevelRows& rows = model_->rows();
  const std::size_t k_count = v.size();
  Effects out(k_count);
  for (std::size_t k = 0; k < k_count; ++k) {
    const LevelSums& sums = reference_->groups()[k];
    const std::size_t d = sums.d;
    multiply(sums.h, d, v[k], out[k]);
    for (std::size_t l = 0; l < v[k].size() / d; ++l)
      for (std::size_t a = 0; a < d; ++a) {
        double sum = precision_ * out[k][l * d + a];
        for (std::size_t b = 0; b < d; ++b) sum += omega_[k](index(a), index(b)) * v[k][l * d + b];
        out[k][l * d + a] = sum;
      }
    if (k_count == 1) continue;
    const Grouping& group = rows.groups()[k];
    if (rows.plain()) {
      const LevelCells::Of& cells = rows.cells().of[k];
      const CellSums& of = reference_->cells()[k];
      pool_->run((group.levels() + 1023) / 1024, [&](std::size_t chunk) {
        for (std::size_t l = chunk * 1024; l < std::min(group.levels(), chunk * 1024 + 1024); ++l) {
          double sum = 0;
          for (std::size_t c = cells.starts[l]; c < cells.starts[l + 1]; ++c) {
            double gamma = 0;
            for (std::size_t j = 0, other = 0; j < k_count; ++j)
              if (j != k) gamma += v[j][cells.levels_in(other++)[c]];
            sum += static_cast<double>(of.f2[c]) * gamma;
          }
          out[k][l] -= precision_ * sum;
        }
      });
      continue;
    }
    over_levels(*pool_, group, Nothing{}, [&](std::size_t level, Nothing&) {
      std::array<double, LevelRows::most_effects> z, other;
      for (std::size_t place = group.starts[level]; place < group.starts[level + 1]; ++place) {
        const std::size_t i = group.row(place);
        double gamma = 0;
        for (std::size_t j = 0; j < k_count; ++j) {
          if (j == k) continue;
          const Grouping& g = rows.groups()[j];
          g.multipliers(i, other.data());
          for (std::size_t a = 0; a < g.dim(); ++a) gamma += other[a] * v[j][g.codes[i] * g.dim() + a];
        }
        group.multipliers(i, z.data());
        const double w = precision_ * static_cast<double>(reference_->bend(i).f2) * gamma;
        for (std::size_t a = 0; a < d; ++a) out[k][level * d + a] -= w * z[a];
      }
    });
  }
  return out;
}

LevelSolver::Effects LevelSolver::solve(const Effects& right, double tolerance) const {
  Effects x = precondition(right);
  if (right.size() == 1) return x;
  Effects r = right;
  add(r, -1, product(x));
  Effects z = precondition(r), p = z;
  const double scale = dot(right, precondition(right));
  double rz = dot(r, z);
  for (int iteration = 0; iteration < 200 && rz > tolerance * tolerance * scale; ++iteration) {
    const Effects hp = product(p);
    const double curvature = dot(p, hp);
    if (!(curvature > 0)) break;  // not concave here: what there is will do
    const double step = rz / curvature;
    add(x, step, p);
    add(r, -step, hp);
    z = precondition(r);
    const double next = dot(r, z);
    const double factor = next / rz;
    rz = next;
    for (std::size_t k = 0; k < p.size(); ++k)
      for (std::size_t i = 0; i < p[k].size(); ++i) p[k][i] = z[k][i] + factor * p[k][i];
  }
  return x;
}

}  // namespace mlo
