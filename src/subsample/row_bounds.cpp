// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/subsample/row_bounds.hpp"

#include <array>
#include <cassert>
#include <cmath>

#include "mlo/model/mode.hpp"
#include "mlo/model/row_store.hpp"

namespace mlo {
namespace {

// |v| is about sqrt(p) under the posterior, give or take 0.7; the outer shells are for chains on their way
// in.
constexpr std::array<double, 8> beyond{0, 1, 2, 3, 4, 6, 9, 12};

struct Largest {
  std::array<double, beyond.size()> size{};
  Largest& operator+=(const Largest& other) {
    for (std::size_t s = 0; s < size.size(); ++s) size[s] = std::max(size[s], other.size[s]);
    return *this;
  }
};

}  // namespace

RowBounds row_bounds(const CurvedRows& model, ThreadPool& pool, const Eigen::VectorXd& centre,
                     const Eigen::MatrixXd& cholesky, int order) {
  assert(order == 0 || order == 2);
  const std::size_t p = model.rows->dim();
  const auto dim = static_cast<Eigen::Index>(p);
  const Eigen::MatrixXd unwhiten =
      cholesky.transpose().triangularView<Eigen::Upper>().solve(Eigen::MatrixXd::Identity(dim, dim));
  std::array<double, beyond.size()> radii{};
  for (std::size_t s = 0; s < radii.size(); ++s) radii[s] = std::sqrt(static_cast<double>(p)) + beyond[s];

  const Largest largest = block_sum(
      pool, model.rows->size(), rows_per_block, Largest{}, [&](std::size_t first, std::size_t count) {
        Largest part;
        const Eigen::VectorXd lengths = model.rows->whitened(first, count, unwhiten).rowwise().norm();
        const Eigen::VectorXd eta = model.rows->predictors(first, count, centre);
        std::vector<RowShape> shapes(count);
        std::vector<double> y(count), e(count), length(count), radius(count), sup(count);
        model.rows->responses(Rows::range(first, count), y);
        model.shapes(first, {eta.data(), count}, y, shapes);
        for (std::size_t k = 0; k < count; ++k) {
          e[k] = shapes[k].e;
          length[k] = lengths[static_cast<Eigen::Index>(k)];
        }
        for (std::size_t s = 0; s < radii.size(); ++s) {
          if (order == 0) {
            for (std::size_t k = 0; k < count; ++k) radius[k] = length[k] * radii[s];
            model.curve->slopes(shapes, radius, sup);
            for (std::size_t k = 0; k < count; ++k) part.size[s] = std::max(part.size[s], length[k] * sup[k]);
          } else {
            for (std::size_t k = 0; k < count; ++k)
              radius[k] = std::abs(shapes[k].direction) * length[k] * radii[s];
            model.curve->suprema(3, e, radius, sup);
            for (std::size_t k = 0; k < count; ++k) {
              const double reach = std::abs(shapes[k].direction) * length[k];
              part.size[s] = std::max(part.size[s], shapes[k].scale * reach * reach * reach * sup[k]);
            }
          }
        }
        return part;
      });

  RowBounds out{.order = order, .centre = centre, .whiten = cholesky.transpose(), .shells = {}};
  constexpr double margin = 1 + 1e-6;  // remainders are good to 1e-7 of their leading term
  for (std::size_t s = 0; s < radii.size(); ++s) out.shells.push_back({radii[s], largest.size[s] * margin});
  return out;
}

}  // namespace mlo
