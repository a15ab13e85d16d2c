// Copyright (c) the mlo authors. BSD-3-Clause.
// scale(), poly() and quantiles. The splines are in basis_spline.cpp.
#include "data/basis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include "data/basis_state.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/base/text.hpp"

namespace mlo::basis {
namespace {

// Rows per block: sums are taken within blocks, then over blocks, so that 10^7 values lose no digits; a block
// of a few columns stays in the first-level cache.
constexpr std::size_t sum_block = 1024;

template <class F>
double sum_of(std::span<const double> x, F f) {
  double total = 0;
  for (std::size_t first = 0; first < x.size(); first += sum_block) {
    double block = 0;
    for (const double value : x.subspan(first, std::min(sum_block, x.size() - first))) block += f(value);
    total += block;
  }
  return total;
}

// The mean, corrected by the mean of what is left over.
double mean_of(std::span<const double> x) {
  const auto n = static_cast<double>(x.size());
  const double mean = sum_of(x, [&](double v) { return v / n; });  // the sum itself may overflow
  return mean + sum_of(x, [&](double v) { return v - mean; }) / n;
}

// ---- poly

constexpr double highest_degree = 100;
// Of columns with norm 1. Rounding alone gives some 1e-15 for degrees that people use.
constexpr double orthogonality = 1e-9;

// The numbers of a state of orthogonal polynomials, where they are.
struct Recurrence {
  std::size_t degree;
  double n, centre, unit;
  const double* a;  // a[k], k = 0 .. degree - 1
  const double* r;  // r[k], k = 1 .. degree
};
constexpr std::size_t poly_head = 5;  // raw, degree, n, centre, unit

Recurrence recurrence_of(const std::vector<double>& numbers) {
  const auto degree = static_cast<std::size_t>(numbers[1]);
  const double* const a = numbers.data() + poly_head;
  return {degree, numbers[2], numbers[3], numbers[4], a, a + degree - 1};
}

// Writes p_1 .. p_degree of a block of at most sum_block values to columns that are `stride` apart.
void recur(const Recurrence& p, std::size_t degree, std::span<const double> x, double* out,
           std::size_t stride) {
  const double first = 1 / std::sqrt(p.n), inverse_unit = 1 / p.unit;  // exact: unit is a power of two
  std::array<double, sum_block> u;
  for (std::size_t i = 0; i < x.size(); ++i) u[i] = (x[i] - p.centre) * inverse_unit;
  for (std::size_t k = 1; k <= degree; ++k) {
    double* const column = out + (k - 1) * stride;
    const double a = p.a[k - 1], before = k > 1 ? p.r[k - 1] : 0, inverse = 1 / p.r[k];
    if (k == 1) {
      for (std::size_t i = 0; i < x.size(); ++i) column[i] = (u[i] - a) * first * inverse;
    } else if (k == 2) {
      const double* const last = column - stride;
      for (std::size_t i = 0; i < x.size(); ++i)
        column[i] = ((u[i] - a) * last[i] - before * first) * inverse;
    } else {
      const double* const last = column - stride;
      const double* const previous = last - stride;
      for (std::size_t i = 0; i < x.size(); ++i)
        column[i] = ((u[i] - a) * last[i] - before * previous[i]) * inverse;
    }
  }
}

// At least `wanted` distinct values? Keeps no more than that many.
std::size_t distinct_up_to(std::span<const double> x, std::size_t wanted) {
  std::vector<double> seen;
  for (const double value : x) {
    const auto at = std::lower_bound(seen.begin(), seen.end(), value);
    if (at != seen.end() && *at == value) continue;
    seen.insert(at, value);
    if (seen.size() == wanted) break;
  }
  return seen.size();
}

// One pass over the values: calls visit(columns p_1 .. p_degree of a block, its values, its size).
template <class Visit>
void for_each_block(const Recurrence& p, std::size_t degree, std::span<const double> x, const Visit& visit) {
  std::vector<double> columns(sum_block * std::max<std::size_t>(degree, 1));
  for (std::size_t first = 0; first < x.size(); first += sum_block) {
    const auto block = x.subspan(first, std::min(sum_block, x.size() - first));
    recur(p, degree, block, columns.data(), sum_block);
    visit(columns.data(), block);
  }
}

// The largest |<p_j, p_k> - (j == k)| over j, k >= 0.
double defect(const Recurrence& p, std::span<const double> x) {
  const std::size_t d = p.degree;
  std::vector<double> gram(d * (d + 1), 0.0);  // [k (k + 1) / 2 + j] for j <= k, and the sums of p_k behind
  const std::size_t sums = d * (d + 1) / 2;
  for_each_block(p, d, x, [&](const double* columns, std::span<const double> block) {
    for (std::size_t k = 0; k < d; ++k) {
      const double* const left = columns + k * sum_block;
      double total = 0;
      for (std::size_t i = 0; i < block.size(); ++i) total += left[i];
      gram[sums + k] += total / std::sqrt(p.n);
      for (std::size_t j = 0; j <= k; ++j) {
        const double* const right = columns + j * sum_block;
        double product = 0;
        for (std::size_t i = 0; i < block.size(); ++i) product += left[i] * right[i];
        gram[k * (k + 1) / 2 + j] += product;
      }
    }
  });
  double largest = 0;
  for (std::size_t k = 0; k < d; ++k) {
    largest = std::max(largest, std::fabs(gram[sums + k]));
    for (std::size_t j = 0; j <= k; ++j)
      largest = std::max(largest, std::fabs(gram[k * (k + 1) / 2 + j] - (j == k ? 1 : 0)));
  }
  return largest;
}

}  // namespace

void check_values(std::string_view function, std::span<const double> x) {
  if (x.empty()) throw UsageError(fmt::format("{}(): there are no values: all are missing", function));
  for (const double value : x) {
    if (!std::isfinite(value)) {
      throw UsageError(fmt::format("{}(): all values must be finite (got {})", function, value));
    }
  }
}

std::size_t whole(std::string_view function, std::string_view argument, double value, double from,
                  double to) {
  if (value >= from && value <= to && std::floor(value) == value) return static_cast<std::size_t>(value);
  throw UsageError(fmt::format("{}(): {} must be a whole number between {} and {} (got {})", function,
                               argument, from, to, value));
}

void damaged(std::string_view function) {
  throw DataError(fmt::format("the state of {}() in this run is damaged; fit the model again", function));
}

bool is_whole(double value, double from, double to) {
  return value >= from && value <= to && std::floor(value) == value;
}

State learn_scale(std::span<const double> x, const ScaleOptions& options) {
  check_values("scale", x);
  const double centre = options.centre ? mean_of(x) : 0;
  if (!options.scale) return {{centre, 1}};
  // Divided by the largest, so that no square overflows or vanishes.
  double largest = 0;
  for (const double value : x) largest = std::max(largest, std::fabs(value - centre));
  const double squares =
      largest == 0 ? 0 : sum_of(x, [&](double v) { return std::pow((v - centre) / largest, 2); });
  const double divisor = largest * std::sqrt(squares / std::max(1.0, static_cast<double>(x.size()) - 1));
  if (!(divisor > 0)) {
    throw UsageError(fmt::format(
        "scale(): the values must not all be {} (got {} values, all equal to {}); leave the term out",
        options.centre ? "equal" : "0", grouped(x.size()), x[0]));
  }
  if (!std::isfinite(divisor))
    throw UsageError("scale(): the standard deviation of the values is too large for a double");
  return {{centre, divisor}};
}

void apply_scale(const State& state, std::span<const double> x, std::span<double> out) {
  assert(out.size() == x.size());
  if (state.numbers.size() != 2 || !std::isfinite(state.numbers[0]) || !(state.numbers[1] > 0))
    damaged("scale");
  const double centre = state.numbers[0], divisor = state.numbers[1];
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = (x[i] - centre) / divisor;
}

// Stieltjes' procedure: each pass over the values yields a_k and r_{k+1} from p_k, which is computed again in
// each pass, block by block, rather than stored.
State learn_poly(std::span<const double> x, const PolyOptions& options) {
  check_values("poly", x);
  const std::size_t degree = whole("poly", "degree", options.degree, 1, highest_degree);
  if (options.raw) return {{1, static_cast<double>(degree)}};
  if (const std::size_t distinct = distinct_up_to(x, degree + 1); distinct <= degree) {
    throw UsageError(fmt::format(
        "poly(): degree must be less than the number of distinct values, {} (got {})", distinct, degree));
  }
  const double centre = mean_of(x);
  double largest = 0;
  for (const double value : x) largest = std::max(largest, std::fabs(value - centre));
  if (!(largest > 1e-300 && largest < 1e300)) {
    throw UsageError(
        fmt::format("poly(): the values must differ from their mean by 1e-300 to 1e300 (got {})", largest));
  }
  const double unit = std::exp2(std::ceil(std::log2(largest)));

  State state{{0, static_cast<double>(degree), static_cast<double>(x.size()), centre, unit}};
  state.numbers.resize(poly_head + 2 * degree, 1.0);
  double* const a = state.numbers.data() + poly_head;
  double* const r = a + degree - 1;
  const Recurrence p = recurrence_of(state.numbers);
  const double first = 1 / std::sqrt(p.n);
  for (std::size_t k = 0; k < degree; ++k) {
    // a_k = <u p_k, p_k>; r_{k+1} is the norm of what recur() yields for p_{k+1} while r_{k+1} is still 1.
    double mean = 0;
    for_each_block(p, k, x, [&](const double* columns, std::span<const double> block) {
      double total = 0;
      for (std::size_t i = 0; i < block.size(); ++i) {
        const double last = k == 0 ? first : columns[(k - 1) * sum_block + i];
        total += (block[i] - centre) / unit * last * last;
      }
      mean += total;
    });
    a[k] = mean;
    double squares = 0;
    for_each_block(p, k + 1, x, [&](const double* columns, std::span<const double> block) {
      const double* const column = columns + k * sum_block;
      double total = 0;
      for (std::size_t i = 0; i < block.size(); ++i) total += column[i] * column[i];
      squares += total;
    });
    r[k + 1] = std::sqrt(squares);
    if (!(r[k + 1] > 1e-150)) break;  // the last a and r stay 1, and the check says no
  }
  const double error = r[degree] > 1e-150 ? defect(p, x) : 1;
  if (!(error <= orthogonality)) {
    throw UsageError(fmt::format(
        "poly(): degree {} is too high for these values: in double precision the columns are orthogonal to {:.1g} only, and "
        "{:.0g} is needed; use a lower degree, or bs()",
        degree, error, orthogonality));
  }
  return state;
}

std::size_t poly_width(const State& state) {
  const std::vector<double>& s = state.numbers;
  if (s.size() < 2 || (s[0] != 0 && s[0] != 1) || !is_whole(s[1], 1, highest_degree)) damaged("poly");
  const auto degree = static_cast<std::size_t>(s[1]);
  if (s.size() != (s[0] == 1 ? 2 : poly_head + 2 * degree)) damaged("poly");
  for (const double number : s) {
    if (!std::isfinite(number)) damaged("poly");
  }
  return degree;
}

void apply_poly(const State& state, std::span<const double> x, std::span<double> out) {
  const std::size_t degree = poly_width(state);
  assert(out.size() == degree * x.size());
  if (state.numbers[0] == 1) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      double power = x[i];
      for (std::size_t k = 0; k < degree; ++k, power *= x[i]) out[k * x.size() + i] = power;
    }
    return;
  }
  const Recurrence p = recurrence_of(state.numbers);
  for (std::size_t first = 0; first < x.size(); first += sum_block) {
    recur(p, degree, x.subspan(first, std::min(sum_block, x.size() - first)), out.data() + first, x.size());
  }
}

PolyCoefficients poly_coefficients(const State& state) {
  const std::size_t degree = poly_width(state);
  if (state.numbers[0] == 1) return {};
  const Recurrence p = recurrence_of(state.numbers);
  PolyCoefficients out;
  out.norm2 = {1, p.n};
  for (std::size_t k = 0; k < degree; ++k) {
    out.alpha.push_back(p.centre + p.unit * p.a[k]);
    out.norm2.push_back(out.norm2.back() * std::pow(p.r[k + 1] * p.unit, 2));
  }
  return out;
}

namespace {

// Puts the order statistics at `ranks` (ascending, counted from `first`) in their places.
void select(std::span<double> x, std::size_t first, std::span<const std::size_t> ranks) {
  if (ranks.empty()) return;
  const std::size_t middle = ranks.size() / 2, at = ranks[middle] - first;
  std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(at), x.end());
  select(x.first(at), first, ranks.first(middle));
  select(x.subspan(at + 1), ranks[middle] + 1, ranks.subspan(middle + 1));
}

}  // namespace

std::vector<double> quantiles(std::span<double> x, std::span<const double> p) {
  assert(!x.empty());
  const auto last = static_cast<double>(x.size() - 1);
  std::vector<std::size_t> ranks;
  for (const double probability : p) {
    const double h = last * probability;
    ranks.push_back(static_cast<std::size_t>(std::floor(h)));
    ranks.push_back(static_cast<std::size_t>(std::ceil(h)));
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  select(x, 0, ranks);
  std::vector<double> out;
  for (const double probability : p) {
    const double h = last * probability, share = h - std::floor(h);
    const double low = x[static_cast<std::size_t>(std::floor(h))];
    const double high = x[static_cast<std::size_t>(std::ceil(h))];
    out.push_back(low == high ? low : (1 - share) * low + share * high);
  }
  return out;
}

}  // namespace mlo::basis
