// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/subsample/expansion.hpp"

#include "mlo/base/special.hpp"

namespace mlo {
namespace {

// The largest value of (x'u)^2 |x'd| over unit vectors x, for unit vectors u and d with cosine w.
double spread(double cosine) {
  const double w = std::min(std::abs(cosine), 1.0);
  const double c = std::sqrt(2 + 0.25 * w * w) - 0.5 * w;
  const double top = (2 + w * c) / 3;
  return top * std::sqrt(top) / c;
}

}  // namespace

double pair_bound(int order, const PairGeometry& g) noexcept {
  const double from3 = g.from * g.from * g.from, to3 = g.to * g.to * g.to;
  if (order == 3) return std::min(g.step * (from3 + to3) / 12, (from3 * g.from + to3 * g.to) / 24);
  const double ends = (from3 + to3) / 6;
  // spread() is at least 0.38 for every cosine: where even that does not help, it need not be computed.
  const double plain = g.step * (g.from * g.from + g.to * g.to) / 4;
  if (0.3849 * plain >= ends || g.step == 0) return std::min(plain, ends);
  const auto end = [&](double length, double dot) {
    return length > 0 ? length * length * spread(dot / (length * g.step)) : 0;
  };
  return std::min(ends, g.step * (end(g.from, g.from_dot) + end(g.to, g.to_dot)) / 4);
}

double expected_pair_bound(int order, std::size_t dim) noexcept {
  const auto p = static_cast<double>(dim);
  if (order == 3) return p * (p + 2) / 12;
  return std::exp(1.5 * std::log(2.0) + log_gamma(0.5 * (p + 3)) - log_gamma(0.5 * p)) / 3;
}

int cheaper_order(std::size_t rows, std::size_t dim, double steps, double rows_order_2,
                  double rows_order_3) noexcept {
  constexpr double row = 45, product = 0.1, summand = 0.25;  // nanoseconds
  const auto p = static_cast<double>(dim);
  const double products = p * (p + 1) * (p + 2) / 6 + 4 * p * (p + 1);  // with what SIMD blocks waste
  const double with_2 = steps * row * rows_order_2;
  const double with_3 =
      steps * (row * rows_order_3 + product * products) + summand * products * static_cast<double>(rows);
  return dim <= CubicForm::max_dim && with_3 < with_2 ? 3 : 2;
}

namespace detail {

CubicForm sum_cubic(const WhiteRows& rows, const std::vector<float>& third, ThreadPool& pool) {
  using Eigen::Index;
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic>;
  const auto p = static_cast<Index>(rows.dim());
  // slices[j](l, k) for l >= k >= 0, of the columns from j on.
  using Slices = std::vector<Eigen::MatrixXd>;
  struct Tensor {
    Slices slices;
    Tensor& operator+=(const Tensor& other) {
      for (std::size_t j = 0; j < slices.size(); ++j) slices[j] += other.slices[j];
      return *this;
    }
  };
  Tensor zero;
  for (Index j = 0; j < p; ++j) zero.slices.emplace_back(Eigen::MatrixXd::Zero(p - j, p - j));
  constexpr std::size_t chunks = 16;
  const std::size_t chunk = (rows.size() + chunks - 1) / chunks;
  const Tensor tensor = block_sum(pool, rows.size(), chunk, zero, [&](std::size_t first, std::size_t count) {
    Tensor part = zero;
    // Few enough rows that sums in floats are good to 1e-6 and all fits into the second-level cache.
    constexpr std::size_t block = 256;
    Matrix weighted;
    std::vector<Matrix> sums;
    for (Index j = 0; j < p; ++j) sums.emplace_back(p - j, p - j);
    for (std::size_t at = first; at < first + count; at += block) {
      const auto size = static_cast<Index>(std::min(block, first + count - at));
      const Eigen::Map<const Matrix, 0, Eigen::OuterStride<>> w(
          rows.record(at), p, size, Eigen::OuterStride<>(static_cast<Index>(rows.stride())));
      const Eigen::Map<const Eigen::RowVectorXf> f(third.data() + at, size);
      for (Index j = 0; j < p; ++j) {
        const auto tail = w.bottomRows(p - j);
        weighted = tail.array().rowwise() * (f.array() * w.row(j).array());
        Matrix& sum = sums[static_cast<std::size_t>(j)];
        sum.setZero();
        sum.template triangularView<Eigen::Lower>() += weighted * tail.transpose();
        part.slices[static_cast<std::size_t>(j)] += sum.cast<double>();
      }
    }
    return part;
  });
  return {rows.dim(), [&](std::size_t j, std::size_t k, std::size_t l) {
            const double multiplicity = j == k && k == l ? 1 : j == k || k == l ? 3 : 6;
            return multiplicity / 6 * tensor.slices[j](static_cast<Index>(l - j), static_cast<Index>(k - j));
          }};
}

}  // namespace detail
}  // namespace mlo
