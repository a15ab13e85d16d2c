// Copyright (c) the mlo authors. BSD-3-Clause.
// Functions of a whole column: scale(), poly(), bs() and ns(), as R defines them.
//
// Each has two halves. learn_NAME looks at the complete values of a column (none is NaN) and returns a state
// of a few numbers, which a run keeps. apply_NAME turns values, of the same column or of new data, into
// columns. Learning costs O(n log K) for K knots and a copy of the values; applying allocates nothing per
// row.
//
// `out` has width * x.size() places, column after column. A NaN gives NaN in all columns.
//
// Mistakes of the user throw UsageError: "bs(): df must be ...". The caller knows the formula and its
// position. A state that no learn function can have made (a damaged run) throws DataError.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace mlo::basis {

struct State {
  std::vector<double> numbers;  // what they are is said at each learn function
};

// ---- scale(x, center = , scale = )
// State: centre, divisor. The divisor is the root of sum (x - centre)^2 / (n - 1), which is the standard
// deviation if x is centred. Throws UsageError: no values, a value that is not finite, a divisor of 0.
struct ScaleOptions {
  bool centre = true;
  bool scale = true;
};
[[nodiscard]] State learn_scale(std::span<const double> x, const ScaleOptions& options);
void apply_scale(const State& state, std::span<const double> x, std::span<double> out);

// ---- poly(x, degree, raw = )
// Orthonormal polynomials of degree 1 to `degree` over the values, with positive leading coefficients, or
// with `raw` the powers themselves. State: raw (0 or 1), degree; and if not raw: n, centre, unit, a_0 ..
// a_{d-1}, r_1 .. r_d. With u = (x - centre) / unit, which lies in [-1, 1], the columns are p_1 .. p_d of
//   p_0 = 1 / sqrt(n),   r_{k+1} p_{k+1} = (u - a_k) p_k - r_k p_{k-1}.
// Values near 10^9 that differ by a few units lose no digits this way, as they would with powers of x.
// Throws UsageError: a degree that is not a whole number from 1 to 100, or not below the number of distinct
// values, or so high that the columns are not orthogonal to 1e-9 in double precision.
struct PolyOptions {
  double degree = 1;
  bool raw = false;
};
[[nodiscard]] State learn_poly(std::span<const double> x, const PolyOptions& options);
[[nodiscard]] std::size_t poly_width(const State& state);
void apply_poly(const State& state, std::span<const double> x, std::span<double> out);

// The same polynomials as R keeps them, attr(poly(x, d), "coefs"): P_{k+1} = (x - alpha_k) P_k - norm2_{k+1}
// / norm2_k P_{k-1} and column k is P_k / sqrt(norm2_{k+1}). norm2 starts with 1 and n. Empty if raw.
struct PolyCoefficients {
  std::vector<double> alpha;
  std::vector<double> norm2;
};
[[nodiscard]] PolyCoefficients poly_coefficients(const State& state);

// ---- bs(x, df = , knots = , degree = , intercept = , Boundary.knots = )
// ---- ns(x, df = , knots = , intercept = , Boundary.knots = )
struct SplineOptions {
  std::optional<double> df;  // as many knots as give this number of columns, at quantiles of x (R's type 7)
  std::optional<std::vector<double>> knots;       // inner knots, in any order; with neither, there are none
  double degree = 3;                              // of bs() only
  bool intercept = false;                         // whether the columns also span the constant
  std::optional<std::array<double, 2>> boundary;  // default: the range of x
};

// B-splines. Outside the boundary knots the first and the last polynomial piece go on, as in R.
// State: degree, intercept (0 or 1), lower and upper boundary knot, then the inner knots in ascending order.
// Width: inner knots + degree + intercept.
// Throws UsageError: no values, a value that is not finite, all values equal and no boundary; degree not a
// whole number from 1 to 20; df not a whole number, less than degree + intercept, more than the number of
// values, or not what the knots give; a knot that is not strictly between the boundary knots, or that is
// there more than `degree` times, be it given or a quantile. (R 4.2 makes columns of zeros of such knots;
// later versions move them a little.)
[[nodiscard]] State learn_bs(std::span<const double> x, const SplineOptions& options);
[[nodiscard]] std::size_t bs_width(const State& state);
void apply_bs(const State& state, std::span<const double> x, std::span<double> out);

// Natural cubic splines: their second derivative is 0 at the boundary knots, and they are linear beyond them.
// The cubic B-splines times the last columns of Q, where Q R is the QR factorization by Householder
// reflections of their second derivatives at the boundary knots: R's choice of a basis. State: intercept (0
// or 1), lower and upper boundary knot, inner knots in ascending order. Width: inner knots + 1 + intercept.
// Throws UsageError as learn_bs does.
[[nodiscard]] State learn_ns(std::span<const double> x, const SplineOptions& options);
[[nodiscard]] std::size_t ns_width(const State& state);
void apply_ns(const State& state, std::span<const double> x, std::span<double> out);

// How many values lie outside the boundary knots of a bs() or ns() state: R warns of them.
[[nodiscard]] std::size_t outside_bs(const State& state, std::span<const double> x);
[[nodiscard]] std::size_t outside_ns(const State& state, std::span<const double> x);

// ---- Quantiles of type 7 (Hyndman and Fan 1996; R's default): with h = (n - 1) p, the value between the
// order statistics floor(h) and floor(h) + 1, linearly. `p` ascends within [0, 1]; x is reordered. O(n log
// |p|).
[[nodiscard]] std::vector<double> quantiles(std::span<double> x, std::span<const double> p);

}  // namespace mlo::basis
