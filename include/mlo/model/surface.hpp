// Copyright (c) the mlo authors. BSD-3-Clause.
// The row terms of a family whose second parameter is estimated, seen from the mode: surfaces over two
// numbers, t = x_i'(beta - centre) and u = the second parameter's working coordinate, its log or logit, minus
// its centre. After a Taylor polynomial is taken away a remainder d_i(t, u) is left, which exact subsampling
// needs in two ways: its value, without cancellation, and bounds on derivatives over a box.
// docs/methods/exact.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace mlo {

// What the polynomial holds: all products of degree 2 at most; besides them t^2 u, t u^2 and u^3, whose sums
// over the rows cost a matrix; or all of degree 3, which costs a tensor.
enum class JointOrder : std::uint8_t { two, mixed, three };

// t^j u^k. The remainder of a row is at most the sum over the order's monomials of
//   sup |d^j/dt^j d^k/du^k f| |t|^j |u|^k / (j! k!).
struct Monomial {
  int j, k;
};
inline constexpr std::size_t most_monomials = 5;
inline constexpr std::array<Monomial, 4> monomials_of_two{{{3, 0}, {2, 1}, {1, 2}, {0, 3}}};
inline constexpr std::array<Monomial, 4> monomials_of_mixed{{{3, 0}, {2, 2}, {1, 3}, {0, 4}}};
inline constexpr std::array<Monomial, 5> monomials_of_three{{{4, 0}, {3, 1}, {2, 2}, {1, 3}, {0, 4}}};
[[nodiscard]] constexpr std::span<const Monomial> monomials(JointOrder order) noexcept {
  if (order == JointOrder::two) return monomials_of_two;
  if (order == JointOrder::mixed) return monomials_of_mixed;
  return monomials_of_three;
}

// A row: two numbers that say which surface it is, how often it counts, and what multiplies x'(beta - centre)
// to make t.
struct SurfaceShape {
  double a, b, scale, direction;
};

// Some rows, by their two numbers.
struct SurfaceRows {
  std::span<const double> a, b;
  [[nodiscard]] std::size_t size() const noexcept { return a.size(); }
};

// Third derivatives at t = u = 0: by t three times, twice, once and not at all.
struct SurfaceThirds {
  std::span<double> ttt, ttu, tuu, uuu;
};

// The two ends of a move: a t per row, and u.
struct SurfaceMove {
  std::span<const double> from, to;
  double from_u, to_u;
};

// A family's rows as surfaces about one value of the second parameter; a batch of rows per call.
class RowSurface {
 public:
  RowSurface() = default;
  virtual ~RowSurface() = default;
  RowSurface(const RowSurface&) = delete;
  RowSurface& operator=(const RowSurface&) = delete;

  virtual void shapes(std::span<const double> eta, std::span<const double> y,
                      std::span<SurfaceShape> out) const noexcept = 0;
  // Bounds on the derivatives of the order's monomials over |t| <= reach, |u| <= width: for monomial m and
  // row i out[m * rows.size() + i].
  virtual void suprema(JointOrder order, const SurfaceRows& rows, std::span<const double> reach, double width,
                       std::span<double> out) const noexcept = 0;
  virtual void thirds(const SurfaceRows& rows, const SurfaceThirds& out) const noexcept = 0;
  // d(to) - d(from).
  virtual void changes(JointOrder order, const SurfaceRows& rows, const SurfaceMove& move,
                       std::span<double> out) const noexcept = 0;
  // A term that all rows have in common is no part of the surfaces: what it is at u, without its Taylor
  // polynomial of degree 2.
  [[nodiscard]] virtual double common(double /*u*/) const noexcept { return 0; }
};

// A model's rows, and what they are as surfaces: what `exact` asks of a model whose second parameter is
// estimated.
class RowStore;
struct SurfacedRows {
  const RowStore* rows;
  std::shared_ptr<const RowSurface> surface;
};

}  // namespace mlo
