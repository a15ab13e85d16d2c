// Copyright (c) the mlo authors. BSD-3-Clause.
// Student's law: f = -c/2 log(1 + z^2 / nu) - u with c = nu + 1 and z = (a + t) e^-u, where a is the
// standardised residual at the centre. Derivatives are e^-ju times polynomials in z and B = nu / (nu + z^2),
// in which nothing cancels far out: with D = z d/dz, D B = -2 B (1 - B), d/du (e^-ju g(z)) = -e^-ju (j + D)
// g.
#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/surfaces.hpp"

namespace mlo {
namespace {

// d^j/dt^j d^k/du^k f at u = 0, as a function of z.
struct StudentTerms {
  double c, nu;

  struct Powers {
    double z, b;
  };
  [[nodiscard]] Powers at(double z) const noexcept { return {z, nu / (nu + z * z)}; }

  [[nodiscard]] double operator()(int j, int k, const Powers& at) const noexcept {
    const auto [z, b] = at;
    const double b2 = b * b, one = c / nu, two = 2 * c / (nu * nu);
    switch (10 * j + k) {
      case 1:
        return c * (1 - b);  // without the -1 of -u
      case 2:
        return -2 * c * b * (1 - b);
      case 3:
        return -c * b * (4 + b * (-12 + b * 8));
      case 4:
        return c * b * (-8 + b * (56 + b * (-96 + b * 48)));
      case 10:
        return -one * z * b;
      case 11:
        return 2 * one * z * b2;
      case 12:
        return one * z * b2 * (4 - 8 * b);
      case 13:
        return one * z * b2 * (8 + b * (-48 + b * 48));
      case 20:
        return one * b * (1 - 2 * b);
      case 21:
        return one * b2 * (-6 + 8 * b);
      case 22:
        return -one * b2 * (12 + b * (-56 + b * 48));
      case 30:
        return two * z * b2 * (4 * b - 1);
      case 31:
        return two * z * b2 * b * (12 - 24 * b);
      default:
        return two * b2 * (3 + b * (-24 + b * 24));  // 40
    }
  }
};

// Where |F_jk| has its local maxima over z >= 0, and how large it is there.
struct Peaks {
  std::vector<double> at, height;
};

// z = sqrt(nu) tan(angle): over the angle F_jk is a trigonometric polynomial of degree 10 at most.
constexpr std::size_t angle_cells = 4000;
constexpr double last_angle = 0.5 * std::numbers::pi * (1 - 1e-9), angle_step = last_angle / angle_cells;
double z_at(const StudentTerms& f, double angle) {
  return std::sqrt(f.nu) * std::tan(std::min(angle, last_angle));
}

// `places` are those at the cells' ends.
Peaks peaks_of(const StudentTerms& f, int j, int k, const std::vector<StudentTerms::Powers>& places) {
  const auto size = [&](double angle) { return std::abs(f(j, k, f.at(z_at(f, angle)))); };
  std::array<double, angle_cells + 1> sizes;
  for (std::size_t i = 0; i <= angle_cells; ++i) sizes[i] = std::abs(f(j, k, places[i]));
  Peaks out;
  for (std::size_t i = 0; i < angle_cells; ++i) {
    if (sizes[i] < sizes[i == 0 ? 1 : i - 1] || sizes[i] < sizes[i + 1]) continue;
    const double centre = static_cast<double>(i) * angle_step;
    double low = std::max(centre - angle_step, 0.0), high = std::min(centre + angle_step, last_angle);
    for (int halving = 0; halving < 60; ++halving) {
      const double left = low + (high - low) / 3, right = high - (high - low) / 3;
      (size(left) < size(right) ? low : high) = size(left) < size(right) ? left : right;
    }
    out.at.push_back(z_at(f, 0.5 * (low + high)));
    out.height.push_back(size(0.5 * (low + high)) * (1 + 1e-9));
  }
  return out;
}

class StudentSurface final : public RowSurface {
 public:
  StudentSurface(double freedom, double log_sigma)
      : terms_{freedom + 1, freedom}, inverse_(std::exp(-log_sigma)), root_(std::sqrt(freedom)) {
    std::vector<StudentTerms::Powers> places(angle_cells + 1);
    for (std::size_t i = 0; i < places.size(); ++i)
      places[i] = terms_.at(z_at(terms_, static_cast<double>(i) * angle_step));
    for (int j = 0; j <= 4; ++j)
      for (int k = 0; k <= 4; ++k)
        if (j + k == 3 || j + k == 4) peaks_[index(j, k)] = peaks_of(terms_, j, k, places);
  }

  void shapes(std::span<const double> eta, std::span<const double> y,
              std::span<SurfaceShape> out) const noexcept override {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = {(y[i] - eta[i]) * inverse_, 0, 1, -inverse_};
  }

  void suprema(JointOrder order, const SurfaceRows& rows, std::span<const double> reach, double width,
               std::span<double> out) const noexcept override {
    if (order == JointOrder::two)
      suprema_of<JointOrder::two>(rows, reach, width, out);
    else if (order == JointOrder::mixed)
      suprema_of<JointOrder::mixed>(rows, reach, width, out);
    else
      suprema_of<JointOrder::three>(rows, reach, width, out);
  }

  void thirds(const SurfaceRows& rows, const SurfaceThirds& out) const noexcept override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto at = terms_.at(rows.a[i]);
      out.ttt[i] = terms_(3, 0, at);
      out.ttu[i] = terms_(2, 1, at);
      out.tuu[i] = terms_(1, 2, at);
      out.uuu[i] = terms_(0, 3, at);
    }
  }

  void changes(JointOrder order, const SurfaceRows& rows, const SurfaceMove& move,
               std::span<double> out) const noexcept override {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = remainder(order, rows.a[i], move.to[i], move.to_u) -
               remainder(order, rows.a[i], move.from[i], move.from_u);
  }

 private:
  static constexpr std::size_t index(int j, int k) noexcept { return static_cast<std::size_t>(5 * j + k); }

  // In parts, one monomial after the other: loops without branches, which compilers vectorise.
  template <JointOrder order>
  void suprema_of(const SurfaceRows& rows, std::span<const double> reach, double width,
                  std::span<double> out) const noexcept {
    constexpr std::size_t part = 64;
    constexpr std::span<const Monomial> terms = monomials(order);
    const double wider = std::exp(width), narrower = 1 / wider;
    const std::size_t n = rows.size();
    std::array<StudentTerms::Powers, part> low, high;
    for (std::size_t first = 0; first < n; first += part) {
      const std::size_t count = std::min(part, n - first);
      for (std::size_t i = 0; i < count; ++i) {
        // |z| is between these.
        const double distance = std::abs(rows.a[first + i]), around = reach[first + i];
        low[i] = terms_.at(std::max(distance - around, 0.0) * narrower);
        high[i] = terms_.at((distance + around) * wider);
      }
      const auto monomial = [&]<std::size_t m>(std::integral_constant<std::size_t, m>) {
        constexpr int j = terms[m].j, k = terms[m].k;
        const double factor = std::pow(wider, j);
        double* const sup = out.data() + m * n + first;
        for (std::size_t i = 0; i < count; ++i)
          sup[i] = std::max(std::abs(terms_(j, k, low[i])), std::abs(terms_(j, k, high[i])));
        const Peaks& peaks = peaks_[index(j, k)];
        for (std::size_t q = 0; q < peaks.at.size(); ++q) {
          const double at = peaks.at[q], height = peaks.height[q];
          for (std::size_t i = 0; i < count; ++i) {
            const double from_low = low[i].z <= at ? height : 0.0;
            sup[i] = std::max(sup[i], at <= high[i].z ? from_low : 0.0);
          }
        }
        for (std::size_t i = 0; i < count; ++i) sup[i] *= factor;
      };
      [&]<std::size_t... m>(std::index_sequence<m...>) {
        (monomial(std::integral_constant<std::size_t, m>()), ...);
      }
      (std::make_index_sequence<terms.size()>());
    }
  }

  // As a function of the place on the line to (t, u), the fourth derivative has no pole within 1 / reach: the
  // error of three nodes is below 1e-9 where reach < 0.1, that of eight below 1e-13 where it is below 0.6.
  [[nodiscard]] double remainder(JointOrder order, double a, double t, double u) const noexcept {
    const auto centre = terms_.at(a);
    const double scale = std::max(root_, std::abs(a)), length = std::abs(t);
    double d = 0;
    if (length < 0.1 * scale && std::abs(u) < 0.1)
      d = by_quadrature(few_, a, t, u);
    else if (length < 0.6 * scale && std::abs(u) < 0.6)
      d = by_quadrature(many_, a, t, u);
    else
      d = by_difference(a, centre, t, u);
    if (order == JointOrder::three) return d;
    d += terms_(3, 0, centre) * t * t * t / 6;
    if (order == JointOrder::mixed) return d;
    return d + u * (0.5 * terms_(2, 1, centre) * t * t +
                    u * (0.5 * terms_(1, 2, centre) * t + u * terms_(0, 3, centre) / 6));
  }

  // After the terms of degree 3, by the integral of the fourth derivative along the line to (t, u).
  template <std::size_t count>
  [[nodiscard]] double by_quadrature(const LineRule<count>& rule, double a, double t,
                                     double u) const noexcept {
    double sum = 0;
    for (std::size_t q = 0; q < count; ++q) {
      const double s = rule.node[q], shrink = count > 3 ? std::exp(-s * u) : exp_near_0(-s * u);
      const double x = t * shrink;
      const auto at = terms_.at((a + s * t) * shrink);
      sum +=
          rule.weight[q] *
          (terms_(0, 4, at) * u * u * u * u +
           x * (4 * terms_(1, 3, at) * u * u * u +
                x * (6 * terms_(2, 2, at) * u * u + x * (4 * terms_(3, 1, at) * u + x * terms_(4, 0, at)))));
    }
    return sum;
  }
  // To 1e-13 for |x| < 0.1.
  [[nodiscard]] static double exp_near_0(double x) noexcept {
    double sum = 0;
    for (std::size_t k = 8; k-- > 0;) sum = sum * x + inverse_factorials[k];
    return sum;
  }

  [[nodiscard]] double by_difference(double a, const StudentTerms::Powers& at, double t,
                                     double u) const noexcept {
    const double z = (a + t) * std::exp(-u), nu = terms_.nu;
    // log((nu + z^2) / (nu + a^2))
    const double f = -0.5 * terms_.c * std::log1p((z - a) * (z + a) / (nu + a * a));
    const double first = terms_(1, 0, at) * t + terms_(0, 1, at) * u;
    const double second =
        0.5 * (terms_(2, 0, at) * t * t + 2 * terms_(1, 1, at) * t * u + terms_(0, 2, at) * u * u);
    const double third = (terms_(3, 0, at) * t * t * t + 3 * terms_(2, 1, at) * t * t * u +
                          3 * terms_(1, 2, at) * t * u * u + terms_(0, 3, at) * u * u * u) /
                         6;
    return f - first - second - third;
  }

  StudentTerms terms_;
  double inverse_, root_;
  const LineRule<3>& few_ = line_rule<3>();
  const LineRule<8>& many_ = line_rule<8>();
  std::array<Peaks, 25> peaks_;
};

// Golub and Welsch 1969: nodes are the eigenvalues of the matrix of the recurrence of Jacobi's polynomials,
// here with weight (1 - x)^3 on [-1, 1], x = 2 s - 1.
template <std::size_t count>
LineRule<count> make_line_rule() {
  constexpr double alpha = 3;
  Eigen::VectorXd diagonal(count), beside(count - 1);
  for (Eigen::Index k = 0; k < diagonal.size(); ++k) {
    const auto i = static_cast<double>(k);
    diagonal[k] = -alpha * alpha / ((2 * i + alpha) * (2 * i + alpha + 2));
  }
  for (Eigen::Index k = 0; k < beside.size(); ++k) {
    const auto i = static_cast<double>(k + 1);
    const double twice = 2 * i + alpha;
    beside[k] = 2 * i * (i + alpha) / (twice * std::sqrt((twice + 1) * (twice - 1)));
  }
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
  solver.computeFromTridiagonal(diagonal, beside);
  LineRule<count> rule{};
  for (std::size_t q = 0; q < count; ++q) {
    const auto at = static_cast<Eigen::Index>(q);
    const double first = solver.eigenvectors()(0, at);
    rule.node[q] = 0.5 * (solver.eigenvalues()[at] + 1);
    rule.weight[q] = first * first / 24;  // the integral of (1 - s)^3 / 6 is 1/24
  }
  return rule;
}

}  // namespace

template <std::size_t count>
const LineRule<count>& line_rule() {
  static const LineRule<count> rule = make_line_rule<count>();
  return rule;
}
template const LineRule<3>& line_rule<3>();
template const LineRule<8>& line_rule<8>();

std::shared_ptr<const RowSurface> student_surface(double freedom, double log_sigma) {
  return std::make_shared<StudentSurface>(freedom, log_sigma);
}

}  // namespace mlo
