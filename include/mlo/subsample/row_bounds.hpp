// Copyright (c) the mlo authors. BSD-3-Clause.
// A bound that holds for the terms of all rows at once. A method that draws rows by their bounds needs an
// Expansion; one that only asks how large a term can be needs a few numbers.
//
// In whitened coordinates v = L'(theta - centre), t_i = w_i'v, and for |v|, |v'| within a radius R:
//   order 0: |D_i| = |f_i(w_i'v') - f_i(w_i'v)| <= |w_i| sup |f_i'| |v' - v|
//   order 2: |r_i|, of D_i what quadratic expansions leave, <= |w_i|^3 sup |f_i'''| M(v, v')
// the suprema over |t| <= |w_i| R. Of what comes before |v' - v| and M only the largest over all rows is
// kept, for a few radii.
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <vector>

#include "mlo/base/thread_pool.hpp"
#include "mlo/model/curve.hpp"
#include "mlo/model/glm.hpp"
#include "mlo/model/mode.hpp"
#include "mlo/subsample/expansion.hpp"

namespace mlo {

struct RowBounds {
  int order = 0;  // of the expansion about the centre that is taken away from the terms: 0 or 2
  Eigen::VectorXd centre;
  Eigen::MatrixXd whiten;     // L'
  std::vector<Shell> shells;  // by radius; beyond the last there is no bound

  // No row's term is larger, from one point of the pair to the other.
  [[nodiscard]] double operator()(const PairGeometry& g) const noexcept {
    const double radius = std::max(g.from, g.to);
    for (const Shell& shell : shells)
      if (radius <= shell.radius) return shell.factor * (order == 0 ? g.step : pair_bound(2, g));
    return std::numeric_limits<double>::infinity();  // also if the radius is no number
  }
};

// One pass over the rows. `cholesky` is L of the information L L'.
template <Family F>
requires BoundedRemainder<F>
[[nodiscard]] RowBounds row_bounds(const Glm<F>& model, ThreadPool& pool, const Eigen::VectorXd& centre,
                                   const Eigen::MatrixXd& cholesky, int order) {
  assert(order == 0 || order == 2);
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Design& design = model.design();
  const auto dim = static_cast<Eigen::Index>(model.dim());
  const auto curve = CurveOf<F>::curve(model.family());
  const Eigen::MatrixXd unwhiten =
      cholesky.transpose().template triangularView<Eigen::Upper>().solve(Eigen::MatrixXd::Identity(dim, dim));
  // |v| is about sqrt(p) under the posterior, give or take 0.7; the outer shells are for chains on their way
  // in.
  constexpr std::size_t count = 8;
  constexpr std::array<double, count> beyond{0, 1, 2, 3, 4, 6, 9, 12};
  std::array<double, count> radii{};
  for (std::size_t s = 0; s < count; ++s) radii[s] = std::sqrt(static_cast<double>(model.dim())) + beyond[s];

  struct Largest {
    std::array<double, count> size{};
    Largest& operator+=(const Largest& other) {
      for (std::size_t s = 0; s < count; ++s) size[s] = std::max(size[s], other.size[s]);
      return *this;
    }
  };
  const Largest largest =
      block_sum(pool, model.rows(), rows_per_block, Largest{}, [&](std::size_t first, std::size_t block) {
        Largest part;
        const Eigen::Map<const Matrix, 0, Eigen::OuterStride<>> x(
            design.row(first), static_cast<Eigen::Index>(block), dim,
            Eigen::OuterStride<>(static_cast<Eigen::Index>(design.stride)));
        const Eigen::VectorXd lengths =
            (x * unwhiten.template triangularView<Eigen::Upper>()).rowwise().norm();
        const Eigen::VectorXd eta = x * centre;
        for (std::size_t k = 0; k < block; ++k) {
          const std::size_t i = first + k;
          const auto row = static_cast<Eigen::Index>(k);
          const RowShape shape = CurveOf<F>::shape(
              model.family(), eta[row] + (design.has_offset ? design.offset(i) : 0), design.y(i));
          const double length = lengths[row], reach = std::abs(shape.direction) * length;
          for (std::size_t s = 0; s < count; ++s) {
            const double size = order == 0 ? length * steepest(curve, shape, length * radii[s])
                                           : shape.scale * reach * reach * reach *
                                                 supremum(curve, 3, shape.e, reach * radii[s]);
            part.size[s] = std::max(part.size[s], size);
          }
        }
        return part;
      });

  RowBounds out{.order = order, .centre = centre, .whiten = cholesky.transpose(), .shells = {}};
  constexpr double margin = 1 + 1e-6;  // remainders are good to 1e-7 of their leading term
  for (std::size_t s = 0; s < count; ++s) out.shells.push_back({radii[s], largest.size[s] * margin});
  return out;
}

}  // namespace mlo
