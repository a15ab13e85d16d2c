// Copyright (c) the mlo authors. BSD-3-Clause.
// One bound for the terms of all rows. A method that draws rows by their bounds needs an Expansion; for one
// that only asks how large a term can be, a few numbers are enough.
//
// In whitened coordinates v = L'(theta - centre), t_i = w_i'v, and for |v|, |v'| within a radius R:
//   order 0: |D_i| = |f_i(w_i'v') - f_i(w_i'v)| <= |w_i| sup |f_i'| |v' - v|
//   order 2: |r_i| <= |w_i|^3 sup |f_i'''| M(v, v'), r_i the remainder of D_i after quadratic expansions
// with the suprema over |t| <= |w_i| R. Only the largest factor before |v' - v| and M over all rows is kept,
// for a few radii.
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <limits>
#include <vector>

#include "mlo/base/thread_pool.hpp"
#include "mlo/model/curve.hpp"
#include "mlo/subsample/expansion.hpp"

namespace mlo {

struct RowBounds {
  int order = 0;  // of the expansion that is subtracted from the terms: 0 or 2
  Eigen::VectorXd centre;
  Eigen::MatrixXd whiten;     // L'
  std::vector<Shell> shells;  // by radius; beyond the last there is no bound

  // No row's term is larger in absolute value, for a move from one point of the pair to the other.
  [[nodiscard]] double operator()(const PairGeometry& g) const noexcept {
    const double radius = std::max(g.from, g.to);
    for (const Shell& shell : shells)
      if (radius <= shell.radius) return shell.factor * (order == 0 ? g.step : pair_bound(2, g));
    return std::numeric_limits<double>::infinity();  // also if the radius is not a number
  }
};

// One pass over the rows. `cholesky` is L of the information L L'.
[[nodiscard]] RowBounds row_bounds(const CurvedRows& model, ThreadPool& pool, const Eigen::VectorXd& centre,
                                   const Eigen::MatrixXd& cholesky, int order);

}  // namespace mlo
