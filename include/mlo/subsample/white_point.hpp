// Copyright (c) the mlo authors. BSD-3-Clause.
// Points of a chain in whitened coordinates, and the rows whose remainders are evaluated at two of them.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "mlo/model/model.hpp"
#include "mlo/subsample/white_rows.hpp"

namespace mlo {

// A point in the parameter space, in whitened coordinates.
struct WhitePoint {
  std::vector<double> v;
  std::vector<float> padded;  // v as floats, padded with zeros; rows are multiplied by it
  double square = 0;          // |v|^2
  WhitePoint(std::size_t dim, std::size_t stride) : v(dim), padded(stride, 0.0F) {}

  // Fills in the members that are derived from v; returns slope'v. In one loop, which is not vectorised (v
  // might overlap `square`) and must not be: v has just been written number by number, and reading two of
  // them at once would wait until both have arrived in the cache, a twentieth of a step.
  double derive(const double* slope) noexcept {
    double product = 0;
    square = 0;
    for (std::size_t j = 0; j < v.size(); ++j) {
      square += v[j] * v[j];
      product += slope[j] * v[j];
      padded[j] = static_cast<float>(v[j]);
    }
    return product;
  }
};

// r_i = d_i(to) - d_i(from) of some rows, and room to work in.
struct RowChanges {
  // Rows evaluated together, so that their memory accesses overlap.
  static constexpr std::size_t batch = 128;
  std::array<float, batch> from_dots, to_dots;
  std::array<double, batch> e, second, from, to, r;

  // w_i'v at both points.
  void multiply(const WhiteRows& rows, std::span<const RowId> ids, const WhitePoint& here,
                const WhitePoint& there) noexcept {
    rows.dots(ids, here.padded.data(), there.padded.data(), from_dots.data(), to_dots.data());
    for (std::size_t k = 0; k < ids.size(); ++k) {
      e[k] = rows.e(ids[k]);
      from[k] = static_cast<double>(from_dots[k]);
      to[k] = static_cast<double>(to_dots[k]);
    }
  }
};

}  // namespace mlo
