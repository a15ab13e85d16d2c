// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/subsample/expansion.hpp"

#include <array>

#include "mlo/base/special.hpp"
#include "mlo/model/row_store.hpp"

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
  // spread() is at least 0.38 for every cosine; where even 0.38 would not help, it need not be computed.
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
  const double products = p * (p + 1) * (p + 2) / 6 + 4 * p * (p + 1);  // including what SIMD blocks waste
  const double with_2 = steps * row * rows_order_2;
  const double with_3 =
      steps * (row * rows_order_3 + product * products) + summand * products * static_cast<double>(rows);
  return dim <= CubicForm::max_dim && with_3 < with_2 ? 3 : 2;
}

namespace {

// Sums of f_i''' w_ij w_ik w_il / 6, each distinct triple once with its multiplicity. A fixed number of
// chunks, added in order: the same for any number of threads.
CubicForm sum_cubic(const WhiteRows& rows, const std::vector<float>& third, ThreadPool& pool) {
  using Eigen::Index;
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic>;
  const auto p = static_cast<Index>(rows.dim());
  // slices[j](l, k) for l >= k >= 0, over the columns from j on.
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
    // Few enough rows that sums in floats have errors of at most 1e-6 and everything fits into the
    // second-level cache.
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
        sum.triangularView<Eigen::Lower>() += weighted * tail.transpose();
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

constexpr std::size_t shell_count = 3;
constexpr std::size_t orders = 2;  // 2 and 3

// Over rows: the sums of their bounds, and the factors that cover the increase of every row in wider shells.
struct BoundSums {
  std::array<double, orders> total{};
  std::array<std::array<double, shell_count>, orders> factor{{{1, 1, 1}, {1, 1, 1}}};
  BoundSums& operator+=(const BoundSums& other) {
    for (std::size_t o = 0; o < orders; ++o) {
      total[o] += other.total[o];
      for (std::size_t s = 0; s < shell_count; ++s) factor[o][s] = std::max(factor[o][s], other.factor[o][s]);
    }
    return *this;
  }
};

// A block of rows on their way into the expansion.
struct RowBlock {
  std::vector<RowShape> shapes;
  std::vector<double> y, e, squares, reach;
  std::array<std::vector<double>, shell_count> suprema;
  explicit RowBlock(std::size_t count) : shapes(count), y(count), e(count), squares(count), reach(count) {
    suprema.fill(std::vector<double>(count));
  }
};

// Fills in the records of rows first..first+count-1 but for their bounds, and for both orders the bounds in
// the innermost shell.
BoundSums expand_block(const CurvedRows& model, const Eigen::VectorXd& centre,
                       const Eigen::MatrixXd& unwhiten, const Apart& apart, std::span<const Shell> shells,
                       double bound_factor, std::size_t first, std::size_t count, WhiteRows& rows,
                       std::array<std::vector<double>, orders>& bounds) {
  BoundSums sums;
  RowBlock block(count);
  const RowStore::Matrix white = model.rows->whitened(first, count, unwhiten, apart.remaining);
  const Eigen::VectorXd eta = model.rows->predictors(first, count, centre);
  model.rows->responses(Rows::range(first, count), block.y);
  model.curve->shapes({eta.data(), count}, block.y, block.shapes);
  // A row of scale 0 has no remainder and is never drawn.
  for (auto row = std::lower_bound(apart.rows.begin(), apart.rows.end(), first);
       row != apart.rows.end() && *row < first + count; ++row)
    block.shapes[*row - first].scale = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const RowShape& shape = block.shapes[k];
    float* record = rows.record(first + k);
    double squares = 0;
    for (std::size_t j = 0; j < rows.dim(); ++j) {
      record[j] = static_cast<float>(shape.direction *
                                     white(static_cast<Eigen::Index>(k), static_cast<Eigen::Index>(j)));
      squares += static_cast<double>(record[j]) * static_cast<double>(record[j]);
    }
    rows.e(first + k) = static_cast<float>(shape.e);
    rows.scale(first + k) = static_cast<float>(shape.scale);
    block.e[k] = static_cast<double>(static_cast<float>(shape.e));
    block.squares[k] = squares;
  }
  for (std::size_t o = 0; o < orders; ++o) {
    const int order = 2 + static_cast<int>(o);
    for (std::size_t s = 0; s < shell_count; ++s) {
      for (std::size_t k = 0; k < count; ++k) block.reach[k] = std::sqrt(block.squares[k]) * shells[s].radius;
      model.curve->suprema(order + 1, block.e, block.reach, block.suprema[s]);
    }
    for (std::size_t k = 0; k < count; ++k) {
      const double squares = block.squares[k], length = std::sqrt(squares);
      const double scale = std::as_const(rows).scale(first + k);
      // No row's innermost bound is below a hundredth of the next shell's: it keeps that shell's factor
      // small.
      const double inner = std::max(block.suprema[0][k], 0.01 * block.suprema[1][k]);
      // Rounded up by more than float arithmetic can be wrong by.
      constexpr double margin = 1 + 1e-5;
      const double size = inner * scale * squares * (order == 2 ? length : squares) * margin * bound_factor;
      bounds[o][first + k] = std::nextafter(static_cast<float>(size), std::numeric_limits<float>::infinity());
      sums.total[o] += bounds[o][first + k];
      for (std::size_t s = 1; s < shell_count; ++s)
        if (scale > 0 && block.suprema[s][k] > 0)
          sums.factor[o][s] = std::max(sums.factor[o][s], block.suprema[s][k] / inner);
    }
  }
  return sums;
}

CubicForm cubic_form(const CurvedRows& model, const WhiteRows& rows, ThreadPool& pool) {
  std::vector<float> third(rows.size());
  pool.run((rows.size() + rows_per_block - 1) / rows_per_block, [&](std::size_t b) {
    const std::size_t first = b * rows_per_block, count = std::min(rows_per_block, rows.size() - first);
    std::vector<double> e(count), f(count);
    for (std::size_t k = 0; k < count; ++k) e[k] = rows.e(first + k);
    model.curve->third(e, f);
    for (std::size_t k = 0; k < count; ++k)
      third[first + k] = static_cast<float>(f[k] * rows.scale(first + k));
  });
  return sum_cubic(rows, third, pool);
}

}  // namespace

namespace {

// The sums of the rows that are left.
Derivatives likelihood_of_others(const Mode& mode, const Apart& apart, const ExpansionOptions& options) {
  if (apart.empty()) return mode.likelihood;
  Derivatives all = mode.likelihood;
  const Derivatives theirs = options.derivatives(Rows(apart.rows));
  all.gradient -= theirs.gradient;
  all.information -= theirs.information;
  Derivatives out(apart.remaining.size());
  out.gradient = all.gradient(apart.remaining);
  out.information = all.information(apart.remaining, apart.remaining);
  return out;
}

}  // namespace

void Expansion::place(const double* v, Eigen::VectorXd& theta, Eigen::VectorXd& room) const {
  if (apart.empty()) {
    to_theta(v, theta.data());
    return;
  }
  to_theta(v, room.data());
  apart.place(room.data(), theta);
}

Eigen::VectorXd Expansion::white(const Eigen::VectorXd& theta) const {
  return whiten * (apart.others(theta) - apart.others(centre));
}

Expansion expand(const CurvedRows& model, ThreadPool& pool, const Mode& mode,
                 const ExpansionOptions& options) {
  Apart apart = keep_apart(options.apart, mode.information);
  const std::size_t n = model.rows->size(), p = apart.empty() ? model.rows->dim() : apart.remaining.size();
  const auto dim = static_cast<Eigen::Index>(p);
  const Eigen::MatrixXd upper =
      Eigen::LLT<Eigen::MatrixXd>(apart.empty() ? mode.information : apart.information).matrixU();
  const Eigen::MatrixXd unwhiten =
      upper.triangularView<Eigen::Upper>().solve(Eigen::MatrixXd::Identity(dim, dim));
  const double root = std::sqrt(static_cast<double>(p));
  std::vector<Shell> shells{{root + 3, 1}, {root + 6, 1}, {root + 12, 1}};

  // Rows, and for both orders the bounds in the innermost shell and how much wider shells would need.
  WhiteRows rows(n, p);
  std::array<std::vector<double>, orders> bounds{std::vector<double>(n),
                                                 std::vector<double>(n)};  // floats, exactly
  const BoundSums sums =
      block_sum(pool, n, rows_per_block, BoundSums{}, [&](std::size_t first, std::size_t count) {
        return expand_block(model, mode.evaluated_at, unwhiten, apart, shells, options.bound_factor, first,
                            count, rows, bounds);
      });

  const int order = options.order != 0
                        ? options.order
                        : cheaper_order(n, p, options.steps, sums.total[0] * expected_pair_bound(2, p),
                                        sums.total[1] * expected_pair_bound(3, p));
  const auto o = static_cast<std::size_t>(order - 2);
  for (std::size_t s = 0; s < shell_count; ++s) shells[s].factor = sums.factor[o][s];
  for (std::size_t i = 0; i < n; ++i) rows.bound(i) = static_cast<float>(bounds[o][i]);
  AliasTable table(bounds[o]);
  CubicForm cubic = order == 3 ? cubic_form(model, rows, pool) : CubicForm();
  const auto lower = upper.transpose().triangularView<Eigen::Lower>();
  const Derivatives likelihood = likelihood_of_others(mode, apart, options);
  const Unwhitening to_theta(apart.others(mode.evaluated_at), unwhiten);
  const Eigen::MatrixXd half = lower.solve(likelihood.information);
  return {.curve = model.curve,
          .order = order,
          .centre = mode.evaluated_at,
          .apart = std::move(apart),
          .whiten = upper,
          .unwhiten = unwhiten,
          .to_theta = to_theta,
          .gradient = lower.solve(likelihood.gradient),
          .information = lower.solve(half.transpose()),
          .rows = std::move(rows),
          .cubic = std::move(cubic),
          .total_bound = sums.total[o],
          .table = std::move(table),
          .shells = std::move(shells),
          .passes = order == 3 ? 2.0 : 1.0};
}

}  // namespace mlo
