// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/subsample/weights.hpp"

#include <fmt/format.h>

#include "mlo/base/errors.hpp"
#include "mlo/model/row_store.hpp"

namespace mlo {

void to_probabilities(std::span<double> sizes, double uniform_share) {
  double total = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!std::isfinite(sizes[i]))
      throw ModelError(
          fmt::format("subsampling weights: row {} of the rows used has weight {}; choose another point with "
                      "`weights-at`",
                      i + 1, sizes[i]));
    total += sizes[i];
  }
  const double n = static_cast<double>(sizes.size());
  const double floor = total > 0 ? uniform_share / n : 1 / n;
  const double share = total > 0 ? (1 - uniform_share) / total : 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    sizes[i] = floor + share * sizes[i];
    if (!(sizes[i] > 0))
      throw ModelError(
          fmt::format("subsampling weights: row {} of the rows used has probability 0, so that the estimate "
                      "would be biased; give a `uniform-share` above 0 (default {})",
                      i + 1, usual_uniform_share));
  }
}

std::vector<double> remainder_probabilities(const CurvedRows& model, ThreadPool& pool, Params centre,
                                            const Eigen::MatrixXd& cholesky, double uniform_share) {
  struct Node {
    double x, weight;
  };
  constexpr std::array<Node, 3> nodes{{{0.616706590192594, 0.408828469556029},
                                       {1.889175877753711, 0.088615746041915},
                                       {3.324257433552119, 0.002555784402056}}};  // and -x with each
  const Eigen::VectorXd at = vector(centre);
  std::vector<double> sizes(model.rows->size());
  pool.run((sizes.size() + rows_per_block - 1) / rows_per_block, [&](std::size_t b) {
    const std::size_t first = b * rows_per_block;
    const std::size_t count = std::min(rows_per_block, sizes.size() - first);
    const Eigen::VectorXd eta = model.rows->predictors(first, count, at);
    const Eigen::VectorXd lengths = model.rows->white_lengths(first, count, cholesky);
    std::vector<RowShape> shapes(count);
    std::vector<double> y(count), e(count), t(count), d(count), mean_square(count, 0.0);
    model.rows->responses(Rows::range(first, count), y);
    model.shapes(first, {eta.data(), count}, y, shapes);
    for (std::size_t k = 0; k < count; ++k) e[k] = shapes[k].e;
    for (const Node& node : nodes)
      for (const double x : {node.x, -node.x}) {
        for (std::size_t k = 0; k < count; ++k)
          t[k] = x * (std::abs(shapes[k].direction) * lengths[static_cast<Eigen::Index>(k)]);
        model.curve->remainders(e, t, d);
        for (std::size_t k = 0; k < count; ++k) mean_square[k] += node.weight * d[k] * d[k];
      }
    for (std::size_t k = 0; k < count; ++k)
      sizes[first + k] = std::isfinite(mean_square[k]) ? shapes[k].scale * std::sqrt(mean_square[k]) : 0;
  });
  to_probabilities(sizes, uniform_share);
  return sizes;
}

}  // namespace mlo
