// Copyright (c) the mlo authors. BSD-3-Clause.
#include "subsample/level_passes.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace mlo {

void predictors_of(const LevelRows& rows, const GroupedPoint& at, std::size_t first, std::span<double> eta) {
  const std::size_t q = rows.columns();
  for (std::size_t k = 0; k < eta.size(); ++k) {
    const float* const x = rows.x(first + k);
    double sum = rows.offset(first + k);
    for (std::size_t j = 0; j < q; ++j) sum += at.coefficients[j] * static_cast<double>(x[j]);
    eta[k] = sum;
  }
  for (std::size_t g = 0; g < rows.groups().size(); ++g) {
    const Grouping& group = rows.groups()[g];
    const std::size_t d = group.dim();
    const double* const b = at.effects[g].data();
    if (group.plain()) {
      for (std::size_t k = 0; k < eta.size(); ++k) eta[k] += b[group.codes[first + k]];
      continue;
    }
    std::array<double, LevelRows::most_effects> z;
    for (std::size_t k = 0; k < eta.size(); ++k) {
      group.multipliers(first + k, z.data());
      const double* const of = b + group.codes[first + k] * d;
      for (std::size_t j = 0; j < d; ++j) eta[k] += z[j] * of[j];
    }
  }
}

void decoupled_row(const LevelRows& rows, const std::vector<LevelSums>& groups, std::size_t row,
                   std::span<double> out) noexcept {
  const float* const x = rows.x(row);
  const std::size_t q = out.size();
  for (std::size_t j = 0; j < q; ++j) out[j] = static_cast<double>(x[j]);
  std::array<double, LevelRows::most_effects> z;
  for (std::size_t k = 0; k < groups.size(); ++k) {
    const Grouping& group = rows.groups()[k];
    const std::size_t d = group.dim();
    const double* m = groups[k].m.data() + group.codes[row] * d * q;
    if (group.plain()) {
      for (std::size_t j = 0; j < q; ++j) out[j] -= m[j];
      continue;
    }
    group.multipliers(row, z.data());
    for (std::size_t a = 0; a < d; ++a, m += q)
      for (std::size_t j = 0; j < q; ++j) out[j] -= z[a] * m[j];
  }
}

void sum_cells(const GroupedModel& model, std::span<const LevelReference::Bend> bends,
               std::vector<CellSums>& cells) {
  const LevelCells& of = model.rows().cells();
  if (of.size() == 0) return;
  const std::size_t count = of.size();
  HugeVector<float> f1(count), f2(count), f3(count);
  for (std::size_t c = 0; c < count; ++c) {
    double s1 = 0, s2 = 0, s3 = 0;
    for (std::size_t i = of.starts[c]; i < of.starts[c + 1]; ++i) {
      s1 += static_cast<double>(bends[i].f1);
      s2 += static_cast<double>(bends[i].f2);
      s3 += static_cast<double>(bends[i].f3);
    }
    f1[c] = static_cast<float>(s1);
    f2[c] = static_cast<float>(s2);
    f3[c] = static_cast<float>(s3);
  }
  cells.resize(of.of.size());
  for (std::size_t k = 0; k < cells.size(); ++k) {
    CellSums& to = cells[k];
    const bool last = cells.size() > 2 && k + 1 == cells.size();
    constexpr std::size_t pad = LevelCells::pad;
    if (last) to.f1.resize(count + pad);
    to.f2.resize(count + pad);
    to.f3.resize(count + pad);
    to.count.resize(count + pad);
    for (std::size_t c = 0; c < count; ++c) {
      const std::size_t id = of.of[k].ids[c];
      if (last) to.f1[c] = f1[id];
      to.f2[c] = f2[id];
      to.f3[c] = f3[id];
      to.count[c] = static_cast<float>(of.starts[id + 1] - of.starts[id]);
    }
  }
}

Eigen::MatrixXd prior_information(const GroupedModel& model, const GroupedPoint& at) {
  const std::size_t q = model.rows().columns();
  std::vector<double> theta(at.coefficients);
  theta.resize(model.layout().dim(), at.log_second);
  Derivatives d(theta.size());
  model.layout().add_prior_derivatives(theta, d);
  return d.information.topLeftCorner(static_cast<Eigen::Index>(q), static_cast<Eigen::Index>(q));
}

Eigen::MatrixXd positive_factor(const Eigen::MatrixXd& a) {
  if (a.rows() == 1) return Eigen::MatrixXd::Constant(1, 1, std::sqrt(std::max(std::abs(a(0, 0)), 1e-12)));
  Eigen::LLT<Eigen::MatrixXd> llt(a);
  if (llt.info() == Eigen::Success) return llt.matrixL();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(a);
  // Where the curvature has the wrong sign (a likelihood that is not log-concave), its size is still a guess
  // of how far to go; nearly nothing in its place would make Newton's steps endless.
  const Eigen::VectorXd sizes = eigen.eigenvalues().cwiseAbs();
  const double least = std::max(1e-12, 1e-3 * sizes.maxCoeff());
  const Eigen::MatrixXd raised =
      eigen.eigenvectors() * sizes.cwiseMax(least).asDiagonal() * eigen.eigenvectors().transpose();
  return raised.llt().matrixL();
}

Eigen::MatrixXd concave_part(const Eigen::MatrixXd& h) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(h);
  return eigen.eigenvectors() * eigen.eigenvalues().cwiseMax(0).asDiagonal() *
         eigen.eigenvectors().transpose();
}

}  // namespace mlo
