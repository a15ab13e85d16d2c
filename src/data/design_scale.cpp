// Copyright (c) the mlo authors. BSD-3-Clause.
#include "data/design_scale.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "mlo/base/errors.hpp"
#include "mlo/base/hash.hpp"

namespace mlo {
namespace {

// Uniform on [-1, 1), a function of the row alone (SplitMix64, Steele et al. 2014). Used to tell columns
// apart, never to draw anything.
double row_weight(std::uint64_t row) {
  return static_cast<double>(mixed((row + 1) * 0x9E3779B97F4A7C15U) >> 11U) * 0x1p-52 - 1;
}

}  // namespace

void check_rows(const Design& design) {
  constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
  static_assert(most == 4'294'967'295);
  if (design.rows > most) {
    throw DataError(design.source.name,
                    "has more than 4,294,967,295 complete rows, the most that one fit can use; fit a part of "
                    "them");
  }
}

void check_columns(const Design& design, std::span<const Moments> moments, Scale scale) {
  for (std::size_t j = design.intercept ? 1 : 0; j < design.dim; ++j) {
    const Moments& column = moments[j];
    const std::string& name = design.names[j];
    if (column.constant && column.first == 0) {
      throw ModelError(fmt::format("column \"{}\" is 0 in every row: it says nothing; remove it", name));
    }
    if (column.constant && design.intercept) {
      throw ModelError(fmt::format(
          "column \"{}\" is constant ({}): it cannot be told from the intercept; remove it or the "
          "intercept",
          name, column.first));
    }
    if (column.constant && scale != Scale::none) {
      throw ModelError(
          fmt::format("column \"{}\" is constant ({}): its standard deviation is 0, so it cannot be scaled",
                      name, column.first));
    }
    // Squares of numbers above about 1e154 overflow, and those of numbers below about 1e-154 become 0.
    if (!column.constant && !std::isnormal(column.deviations)) {
      throw ModelError(
          fmt::format("column \"{}\": its variance is too {} for double precision; use another unit", name,
                      column.deviations < 1 ? "small" : "large"));
    }
  }
}

std::vector<double> scale_columns(Design& design, std::span<const Moments> moments, Scale scale) {
  const std::size_t dim = design.dim;
  if (scale == Scale::standard && !design.intercept && !design.blocks.empty())
    throw ModelError(
        "`scale standard` centres columns, and without an intercept the levels of a factor cannot be centred; keep "
        "the intercept, or use `scale sd`");
  design.centre.assign(dim, 0);
  design.scale.assign(dim, 1);
  design.sd.assign(dim, 0);
  // working = (x - shift) / divisor, with x the column as evaluated.
  design.shift.assign(dim, 0);
  design.divisor.assign(dim, 1);
  design.recipe.origin.assign(dim, 0);
  design.recipe.unit.assign(dim, 1);
  for (std::size_t j = design.intercept ? 1 : 0; j < dim; ++j) {
    const Moments& column = moments[j];
    const double sd = column.sd();
    const bool centred = design.intercept || scale == Scale::standard;
    design.shift[j] = centred ? column.mean : 0;
    // The mean square of a centred column is its variance with divisor n instead of n - 1.
    const double root_mean_square =
        centred ? sd * std::sqrt((column.count - 1) / column.count) : column.root_mean_square();
    design.divisor[j] = design.intercept ? sd : root_mean_square;

    const double unit = scale == Scale::none ? 1 : sd;  // one unit of the user's column, in units of x
    design.sd[j] = scale == Scale::none ? sd : 1;
    design.centre[j] = design.intercept && scale != Scale::standard ? column.mean / unit : 0;
    design.scale[j] = design.divisor[j] / unit;
    design.recipe.origin[j] = scale == Scale::standard ? column.mean : 0;
    design.recipe.unit[j] = unit;
    if (design.level_rows[j] > 0)
      design.typical[j] /= unit;
    else
      design.typical[j] = design.sd[j] > 0 ? design.sd[j] : design.scale[j];
  }
  if (design.intercept && dim > 0) design.typical[0] = 1;

  const std::size_t dense = design.dense.size();
  std::vector<double> shift(dense), divisor(dense), projections(dense, 0);
  for (std::size_t d = 0; d < dense; ++d) {
    // What is stored is the working column.
    shift[d] = std::exchange(design.shift[design.dense[d]], 0.0);
    divisor[d] = std::exchange(design.divisor[design.dense[d]], 1.0);
  }
  for (std::size_t i = 0; i < design.rows; ++i) {
    double* const row = design.x.data() + i * design.stride;
    const double weight = row_weight(i);
    for (std::size_t d = 0; d < dense; ++d) {
      row[d] = (row[d] - shift[d]) / divisor[d];
      projections[d] += weight * row[d];
    }
  }
  return projections;
}

// Working columns have unit mean square, so a correlation |r| > 1 - e means that the mean square of their
// difference (or sum) is below 2e. To find such pairs without reading all rows of all pairs, compare the
// projections of the columns on one random vector first. These differ by about sqrt(rows * mean square / 3),
// so other pairs pass with a probability near 1e-5.
// Columns of factors are left to the search for the mode, which finds any that are not of full rank.
void check_pairs(const Design& design, std::span<const Moments> moments,
                 std::span<const double> projections) {
  constexpr double tolerance = 2e-12;
  const auto rows = static_cast<double>(design.rows);
  const double near = 1e-5 * std::sqrt(rows);  // 12 standard deviations of that difference
  const auto equal = [&](std::size_t j, std::size_t k, double sign) {
    double sum = 0;
    for (std::size_t i = 0; i < design.rows && sum <= tolerance * rows; ++i) {
      const double difference = design.row(i)[j] - sign * design.row(i)[k];
      sum += difference * difference;
    }
    return sum <= tolerance * rows;
  };
  for (std::size_t k = design.intercept ? 1 : 0; k < design.dense.size(); ++k) {
    for (std::size_t j = design.intercept ? 1 : 0; j < k; ++j) {
      if (std::fabs(std::fabs(projections[j]) - std::fabs(projections[k])) > near) continue;
      const double sign = equal(j, k, 1) ? 1 : equal(j, k, -1) ? -1 : 0;
      if (sign == 0) continue;
      // In the columns as evaluated, k = slope * j + constant.
      const Moments& a = moments[design.dense[j]];
      const Moments& b = moments[design.dense[k]];
      const bool affine = design.intercept;
      const double slope = sign * (affine ? b.sd() / a.sd() : b.root_mean_square() / a.root_mean_square());
      const double constant = affine ? b.mean - slope * a.mean : 0;
      const std::string factor = fmt::format("{:.6g}", slope);
      std::string message = fmt::format("column \"{}\" equals {}\"{}\"", design.names[design.dense[k]],
                                        factor == "1" ? "" : factor + " x ", design.names[design.dense[j]]);
      // The slope is shown to 6 digits: a constant that is smaller than that is a rounding error.
      if (std::fabs(constant) > 1e-6 * (std::fabs(b.mean) + b.sd())) {
        message += fmt::format(" {} {:.6g}", constant < 0 ? '-' : '+', std::fabs(constant));
      }
      throw ModelError(message + ": their coefficients cannot be told apart; remove one of them");
    }
  }
}

}  // namespace mlo
