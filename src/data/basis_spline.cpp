// Copyright (c) the mlo authors. BSD-3-Clause.
// bs() and ns(): B-splines by the recurrence of de Boor and Cox (C. de Boor, A Practical Guide to Splines,
// 1978).
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <string_view>

#include "data/basis.hpp"
#include "data/basis_state.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/base/text.hpp"

namespace mlo::basis {
namespace {

constexpr std::size_t highest_spline_degree = 20;
constexpr std::size_t cubic = 3;
using Few = std::array<double, highest_spline_degree + 2>;

// All B-splines of one degree on a sequence of knots, each boundary knot degree + 1 times.
class BSplines {
 public:
  BSplines(std::size_t degree, double low, double high, std::span<const double> inner)
      : degree_(degree), low_(low), high_(high) {
    knots_.assign(degree + 1, low);
    knots_.insert(knots_.end(), inner.begin(), inner.end());
    knots_.insert(knots_.end(), degree + 1, high);
  }

  [[nodiscard]] std::size_t count() const { return knots_.size() - degree_ - 1; }
  [[nodiscard]] double low() const { return low_; }
  [[nodiscard]] double high() const { return high_; }

  // The index i of the piece [t_i, t_{i+1}) that x lies in; the first or the last one if x is outside.
  // Splines i - degree .. i are not zero there.
  [[nodiscard]] std::size_t piece(double x) const {
    const double* const first = knots_.data() + degree_ + 1;
    const double* const last = knots_.data() + count();
    return degree_ + static_cast<std::size_t>(std::upper_bound(first, last, x) - first);
  }

  // The values at x of the splines i - degree .. i, each as the polynomial that it is on piece i.
  void values(std::size_t i, double x, Few& out) const { values(degree_, i, x, out); }

  // Their m-th derivatives, m <= degree: those of degree k are differences of those of degree k - 1.
  void derivatives(std::size_t m, std::size_t i, double x, Few& out) const {
    values(degree_ - m, i, x, out);
    for (std::size_t k = degree_ - m + 1; k <= degree_; ++k) {
      // out[r] is that of spline i - (k - 1) + r of degree k - 1, r < k; becomes that of spline i - k + r.
      const double* const t = knots_.data() + i - k;
      double before = 0;
      for (std::size_t r = 0; r <= k; ++r) {
        const double next = r < k ? out[r] / (t[r + 1 + k] - t[r + 1]) : 0;
        out[r] = static_cast<double>(k) * (before - next);
        before = next;
      }
    }
  }

 private:
  void values(std::size_t degree, std::size_t i, double x, Few& out) const {
    const double* const t = knots_.data() + i;
    Few left, right;
    out[0] = 1;
    for (std::size_t j = 1; j <= degree; ++j) {
      left[j] = x - t[1 - static_cast<std::ptrdiff_t>(j)];
      right[j] = t[j] - x;
      double saved = 0;
      for (std::size_t r = 0; r < j; ++r) {
        const double share = out[r] / (right[r + 1] + left[j - r]);
        out[r] = saved + right[r + 1] * share;
        saved = left[j - r] * share;
      }
      out[j] = saved;
    }
  }

  std::size_t degree_;
  double low_, high_;
  std::vector<double> knots_;
};

struct Knots {
  double low = 0, high = 0;
  std::vector<double> inner;
};

void check_inner(std::string_view function, const Knots& knots, std::size_t degree) {
  for (std::size_t k = 0; k < knots.inner.size(); ++k) {
    const double knot = knots.inner[k];
    if (!(knot > knots.low && knot < knots.high)) {
      throw UsageError(fmt::format("{}(): a knot must lie between the boundary knots, {} and {} (got {})",
                                   function, knots.low, knots.high, knot));
    }
    if (k >= degree && knots.inner[k - degree] == knot) {
      throw UsageError(fmt::format("{}(): a knot may be given at most {} times (got {} more often)", function,
                                   degree, knot));
    }
  }
}

// Where many values are equal, quantiles may be equal too. Splines with such knots would have columns of
// zeros, or jumps that nobody asked for.
void check_quantiles(std::string_view function, const Knots& knots, std::size_t degree) {
  const auto refuse = [&](const std::string& why) {
    throw UsageError(fmt::format(
        "{}(): the {} inner knots that df asks for are quantiles of the values, and {}; give fewer df, or choose "
        "the knots with knots = c(...)",
        function, knots.inner.size(), why));
  };
  for (std::size_t k = 0; k < knots.inner.size(); ++k) {
    const double knot = knots.inner[k];
    if (knot == knots.low) refuse(fmt::format("many values are {}, the lower boundary knot", knot));
    if (knot == knots.high) refuse(fmt::format("many values are {}, the upper boundary knot", knot));
    if (k >= degree && knots.inner[k - degree] == knot) {
      refuse(fmt::format("more than {} of them are {}", degree, knot));
    }
  }
}

// `fixed`: the number of columns without inner knots.
Knots learn_knots(std::string_view function, std::span<const double> x, const SplineOptions& options,
                  std::size_t degree, std::size_t fixed) {
  check_values(function, x);
  Knots knots;
  if (options.boundary) {
    knots.low = (*options.boundary)[0];
    knots.high = (*options.boundary)[1];
    if (!std::isfinite(knots.low) || !std::isfinite(knots.high) || !(knots.low < knots.high)) {
      throw UsageError(
          fmt::format("{}(): the first of Boundary.knots must be less than the second (got {} and {})",
                      function, knots.low, knots.high));
    }
  } else {
    const auto [low, high] = std::minmax_element(x.begin(), x.end());
    knots.low = *low;
    knots.high = *high;
    if (!(knots.low < knots.high)) {
      throw UsageError(fmt::format(
          "{}(): the values must not all be equal (got {} values, all equal to {}); leave the term out",
          function, grouped(x.size()), knots.low));
    }
  }
  if (options.df) {
    const double most = static_cast<double>(std::max(x.size(), fixed));
    if (!is_whole(*options.df, static_cast<double>(fixed), most)) {
      throw UsageError(fmt::format(
          "{}(): df must be a whole number between {} (the columns without inner knots) and {} (the number of values) (got {})",
          function, fixed, most, *options.df));
    }
  }
  if (options.knots) {
    knots.inner = *options.knots;
    for (const double knot : knots.inner) {
      if (std::isnan(knot))
        throw UsageError(fmt::format("{}(): a knot must be a number (got {})", function, knot));
    }
    std::sort(knots.inner.begin(), knots.inner.end());
    check_inner(function, knots, degree);
    if (options.df && *options.df != static_cast<double>(fixed + knots.inner.size())) {
      throw UsageError(
          fmt::format("{}(): df must be what the knots give, {} (got {}); give df or knots, not both",
                      function, fixed + knots.inner.size(), *options.df));
    }
  } else if (options.df) {
    const std::size_t inner = static_cast<std::size_t>(*options.df) - fixed;
    std::vector<double> inside;
    inside.reserve(x.size());
    for (const double value : x) {
      if (value >= knots.low && value <= knots.high) inside.push_back(value);
    }
    if (inside.empty() && inner > 0) {
      throw UsageError(fmt::format("{}(): no value lies between the boundary knots, {} and {}", function,
                                   knots.low, knots.high));
    }
    std::vector<double> probabilities;
    for (std::size_t k = 1; k <= inner; ++k) {
      probabilities.push_back(static_cast<double>(k) / static_cast<double>(inner + 1));
    }
    if (inner > 0) knots.inner = quantiles(inside, probabilities);
    check_quantiles(function, knots, degree);
  }
  return knots;
}

// Boundary and inner knots of a state, from `first` on.
Knots read_knots(std::string_view function, const std::vector<double>& numbers, std::size_t first) {
  if (numbers.size() < first + 2) damaged(function);
  Knots knots{numbers[first], numbers[first + 1], {}};
  knots.inner.assign(numbers.begin() + static_cast<std::ptrdiff_t>(first) + 2, numbers.end());
  if (!std::isfinite(knots.low) || !std::isfinite(knots.high) || !(knots.low < knots.high)) damaged(function);
  double last = knots.low;
  for (const double knot : knots.inner) {
    if (!(knot >= last && knot < knots.high && knot > knots.low)) damaged(function);
    last = knot;
  }
  return knots;
}

State spline_state(std::vector<double> head, const Knots& knots) {
  head.push_back(knots.low);
  head.push_back(knots.high);
  head.insert(head.end(), knots.inner.begin(), knots.inner.end());
  return {std::move(head)};
}

struct BsState {
  std::size_t degree;
  bool intercept;
  Knots knots;
};
BsState read_bs(const State& state) {
  const std::vector<double>& s = state.numbers;
  if (s.size() < 4 || !is_whole(s[0], 1, highest_spline_degree) || !is_whole(s[1], 0, 1)) damaged("bs");
  return {static_cast<std::size_t>(s[0]), s[1] == 1, read_knots("bs", s, 2)};
}

struct NsState {
  bool intercept;
  Knots knots;
};
NsState read_ns(const State& state) {
  if (state.numbers.size() < 3 || !is_whole(state.numbers[0], 0, 1)) damaged("ns");
  return {state.numbers[0] == 1, read_knots("ns", state.numbers, 1)};
}

std::size_t count_outside(const Knots& knots, std::span<const double> x) {
  return static_cast<std::size_t>(
      std::count_if(x.begin(), x.end(), [&](double v) { return v < knots.low || v > knots.high; }));
}

// From cubic B-splines to natural splines. The natural splines are the combinations of B-splines whose second
// derivatives at both boundary knots are 0: the complement of two vectors, which two Householder reflections
// turn into the first two axes. R's basis is the other axes, turned back.
class NaturalSplines {
 public:
  explicit NaturalSplines(const NsState& state)
      : splines_(cubic, state.knots.low, state.knots.high, state.knots.inner),
        width_(state.knots.inner.size() + (state.intercept ? 2 : 1)) {
    const std::size_t all = splines_.count(), skip = state.intercept ? 0 : 1, size = all - skip;
    std::vector<double> low = boundary(splines_.low(), 2, skip), high = boundary(splines_.high(), 2, skip);
    const std::vector<double> first = reflection(low, 0);
    reflect(first, high);
    const std::vector<double> second = reflection(high, 1);
    // Row s of Q: the reflections are symmetric, so it is H2 H1 e_s. Axes 2, 3, ... remain.
    map_.assign(all * width_, 0.0);
    for (std::size_t s = 0; s < size; ++s) {
      std::vector<double> row(size, 0.0);
      row[s] = 1;
      reflect(first, row);
      reflect(second, row);
      std::copy(row.begin() + 2, row.end(), map_.begin() + static_cast<std::ptrdiff_t>((s + skip) * width_));
    }
    low_value_ = at_boundary(splines_.low(), 0);
    low_slope_ = at_boundary(splines_.low(), 1);
    high_value_ = at_boundary(splines_.high(), 0);
    high_slope_ = at_boundary(splines_.high(), 1);
  }

  void apply(std::span<const double> x, std::span<double> out) const {
    for (std::size_t i = 0; i < x.size(); ++i) {
      double* const to = out.data() + i;
      if (x[i] < splines_.low()) {
        line(low_value_, low_slope_, x[i] - splines_.low(), to, x.size());
      } else if (x[i] > splines_.high()) {
        line(high_value_, high_slope_, x[i] - splines_.high(), to, x.size());
      } else if (std::isnan(x[i])) {
        for (std::size_t j = 0; j < width_; ++j) to[j * x.size()] = x[i];
      } else {
        const std::size_t piece = splines_.piece(x[i]);
        Few b;
        splines_.values(piece, x[i], b);
        const double* const row = map_.data() + (piece - cubic) * width_;
        for (std::size_t j = 0; j < width_; ++j) {
          to[j * x.size()] = b[0] * row[j] + b[1] * row[width_ + j] + b[2] * row[2 * width_ + j] +
                             b[3] * row[3 * width_ + j];
        }
      }
    }
  }

 private:
  // The m-th derivatives of all B-splines but the first `skip` at a boundary knot.
  [[nodiscard]] std::vector<double> boundary(double x, std::size_t m, std::size_t skip) const {
    const std::size_t piece = splines_.piece(x);
    Few few;
    splines_.derivatives(m, piece, x, few);
    std::vector<double> out(splines_.count(), 0.0);
    for (std::size_t r = 0; r <= cubic; ++r) out[piece - cubic + r] = few[r];
    out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(skip));
    return out;
  }
  [[nodiscard]] std::vector<double> at_boundary(double x, std::size_t m) const {
    const std::vector<double> all = boundary(x, m, 0);
    std::vector<double> out(width_, 0.0);
    for (std::size_t s = 0; s < all.size(); ++s)
      for (std::size_t j = 0; j < width_; ++j) out[j] += all[s] * map_[s * width_ + j];
    return out;
  }

  // The vector v of the reflection I - v v' / v_k that turns `column`, from entry k on, into a multiple of
  // axis k. The sign is the one that adds to entry k; if that is 0, plus. A reflection does not depend on the
  // length of `column`.
  [[nodiscard]] static std::vector<double> reflection(const std::vector<double>& column, std::size_t k) {
    double largest = 0;  // the derivatives may be as large as 1 / (distance of knots)^2
    for (std::size_t s = k; s < column.size(); ++s) largest = std::max(largest, std::fabs(column[s]));
    double squares = 0;
    for (std::size_t s = k; s < column.size(); ++s) squares += std::pow(column[s] / largest, 2);
    const double norm = largest * (column[k] < 0 ? -std::sqrt(squares) : std::sqrt(squares));
    std::vector<double> v(column.size(), 0.0);
    for (std::size_t s = k; s < column.size(); ++s) v[s] = column[s] / norm;
    v[k] += 1;
    // Scaled so that the reflection is I - v v'.
    const double root = std::sqrt(v[k]);
    for (double& entry : v) entry /= root;
    return v;
  }
  static void reflect(const std::vector<double>& v, std::vector<double>& x) {
    double product = 0;
    for (std::size_t s = 0; s < v.size(); ++s) product += v[s] * x[s];
    for (std::size_t s = 0; s < v.size(); ++s) x[s] -= product * v[s];
  }

  static void line(const std::vector<double>& value, const std::vector<double>& slope, double distance,
                   double* to, std::size_t stride) {
    for (std::size_t j = 0; j < value.size(); ++j) to[j * stride] = value[j] + distance * slope[j];
  }

  BSplines splines_;
  std::size_t width_;
  std::vector<double> map_;  // row s: B-spline s in the natural splines
  std::vector<double> low_value_, low_slope_, high_value_, high_slope_;
};

}  // namespace

State learn_bs(std::span<const double> x, const SplineOptions& options) {
  const std::size_t degree = whole("bs", "degree", options.degree, 1, highest_spline_degree);
  const double intercept = options.intercept ? 1 : 0;
  const std::size_t fixed = degree + (options.intercept ? 1 : 0);
  return spline_state({static_cast<double>(degree), intercept}, learn_knots("bs", x, options, degree, fixed));
}

std::size_t bs_width(const State& state) {
  const BsState bs = read_bs(state);
  return bs.knots.inner.size() + bs.degree + (bs.intercept ? 1 : 0);
}

void apply_bs(const State& state, std::span<const double> x, std::span<double> out) {
  const BsState bs = read_bs(state);
  const BSplines splines(bs.degree, bs.knots.low, bs.knots.high, bs.knots.inner);
  const std::size_t skip = bs.intercept ? 0 : 1, width = splines.count() - skip;
  assert(out.size() == width * x.size());
  std::fill(out.begin(), out.end(), 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i])) {
      for (std::size_t j = 0; j < width; ++j) out[j * x.size() + i] = x[i];
      continue;
    }
    const std::size_t piece = splines.piece(x[i]), first = piece - bs.degree;
    Few b;
    splines.values(piece, x[i], b);
    for (std::size_t r = first == 0 ? skip : 0; r <= bs.degree; ++r)
      out[(first + r - skip) * x.size() + i] = b[r];
  }
}

State learn_ns(std::span<const double> x, const SplineOptions& options) {
  const double intercept = options.intercept ? 1 : 0;
  return spline_state({intercept}, learn_knots("ns", x, options, cubic, options.intercept ? 2 : 1));
}

std::size_t ns_width(const State& state) {
  const NsState ns = read_ns(state);
  return ns.knots.inner.size() + (ns.intercept ? 2 : 1);
}

void apply_ns(const State& state, std::span<const double> x, std::span<double> out) {
  assert(out.size() == ns_width(state) * x.size());
  NaturalSplines(read_ns(state)).apply(x, out);
}

std::size_t outside_bs(const State& state, std::span<const double> x) {
  return count_outside(read_bs(state).knots, x);
}
std::size_t outside_ns(const State& state, std::span<const double> x) {
  return count_outside(read_ns(state).knots, x);
}

}  // namespace mlo::basis
