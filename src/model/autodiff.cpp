// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/autodiff.hpp"

#include <cmath>

namespace mlo {

void add_numerical_derivatives(const std::function<double(Params)>& f, Params theta, Derivatives& d) {
  std::vector<double> at(theta.begin(), theta.end());
  const auto step = [&](std::size_t j) { return 1e-4 * (1 + std::abs(theta[j])); };
  // f with parameters j and k moved by a and b steps.
  const auto moved = [&](std::size_t j, double a, std::size_t k, double b) {
    at[j] += a * step(j);
    at[k] += b * step(k);
    const double value = f(at);
    at[j] = theta[j];
    at[k] = theta[k];
    return value;
  };
  const double middle = f(theta);
  d.value += middle;
  for (std::size_t j = 0; j < theta.size(); ++j) {
    const auto row = static_cast<Eigen::Index>(j);
    const double up = moved(j, 1, j, 0), down = moved(j, -1, j, 0);
    d.gradient[row] += (up - down) / (2 * step(j));
    d.information(row, row) -= (up - 2 * middle + down) / (step(j) * step(j));
    for (std::size_t k = 0; k < j; ++k) {
      const auto column = static_cast<Eigen::Index>(k);
      const double mixed =
          (moved(j, 1, k, 1) - moved(j, 1, k, -1) - moved(j, -1, k, 1) + moved(j, -1, k, -1)) /
          (4 * step(j) * step(k));
      d.information(row, column) -= mixed;
      d.information(column, row) -= mixed;
    }
  }
}

}  // namespace mlo
