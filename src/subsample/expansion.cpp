// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/subsample/expansion.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>

#include "mlo/base/special.hpp"
#include "mlo/model/row_store.hpp"
#include "mlo/model/whitening.hpp"
#include "subsample/cubic_sums.hpp"
#include "subsample/white_records.hpp"

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

constexpr std::size_t shell_count = 3;

// Rows at a time: what is known of them on the way stays in the first-level cache.
constexpr std::size_t batch_rows = 4 * DrawnRows::block_rows;
static_assert(DrawnRows::block_rows == Whitening::batch && rows_per_block % batch_rows == 0);

struct RowBatch {
  std::array<double, batch_rows> eta, y, e, scale, direction, lengths, reach;
  std::array<RowShape, batch_rows> shapes;
  std::array<std::array<double, batch_rows>, shell_count> suprema;
  std::array<float, batch_rows> bounds;
};

using ShellFactors = std::array<double, shell_count>;

// Rows on their way into the expansion. The same row gives the same numbers whatever rows it comes with, so a
// block that is made later has the bounds that were summed.
class BoundedRows {
 public:
  BoundedRows(const CurvedRows& model, const Mode& mode, const Eigen::MatrixXd& unwhiten, const Apart& apart,
              std::span<const Shell> shells, double bound_factor)
      : model_(model),
        centre_(params(mode.evaluated_at), *model.rows),
        whitening_(*model.rows, unwhiten, apart.remaining),
        apart_(apart.rows),
        bound_factor_(bound_factor) {
    for (std::size_t s = 0; s < shell_count; ++s) radii_[s] = shells[s].radius;
  }

  [[nodiscard]] std::size_t dim() const noexcept { return whitening_.dim(); }
  [[nodiscard]] std::size_t stride() const noexcept { return WhiteRows::stride_of(dim()); }

  // Rows first..first+count-1, at most batch_rows. `white` has room for the whitened rows of one block, or is
  // empty.
  void load(std::size_t first, std::size_t count, RowBatch& batch, std::span<double> white = {}) const {
    const Rows rows = Rows::range(first, count);
    model_.rows->predictors(centre_, rows, {batch.eta.data(), count});
    model_.rows->responses(rows, {batch.y.data(), count});
    model_.shapes(first, {batch.eta.data(), count}, {batch.y.data(), count}, {batch.shapes.data(), count});
    for (std::size_t k = 0; k < count; k += Whitening::batch)
      whitening_(first + k, std::min(Whitening::batch, count - k), std::span(batch.lengths).subspan(k),
                 white);
    for (std::size_t k = 0; k < count; ++k) {
      const RowShape& shape = batch.shapes[k];
      batch.e[k] = static_cast<double>(static_cast<float>(shape.e));
      batch.scale[k] = static_cast<double>(static_cast<float>(shape.scale));
      batch.direction[k] = shape.direction;
      batch.lengths[k] = std::sqrt(batch.lengths[k]) * std::abs(shape.direction);
    }
    // A row of scale 0 has no remainder and is never drawn.
    for (auto row = std::lower_bound(apart_.begin(), apart_.end(), first);
         row != apart_.end() && *row < first + count; ++row)
      batch.scale[*row - first] = 0;
  }

  // The bounds of loaded rows in the innermost shell; the factors, if asked for, become large enough for
  // them.
  void bound(int order, std::size_t count, RowBatch& batch, ShellFactors* factors = nullptr) const {
    // More than floats can be wrong by: those of the record, and those that its products are computed in.
    constexpr double margin = 1 + 1e-5, wider = 1 + 1e-6;
    for (std::size_t s = 0; s < (factors != nullptr ? shell_count : 2); ++s) {
      const double radius = radii_[s] * wider;
      for (std::size_t k = 0; k < count; ++k) batch.reach[k] = batch.lengths[k] * radius;
      model_.curve->suprema(order + 1, {batch.e.data(), count}, {batch.reach.data(), count},
                            {batch.suprema[s].data(), count});
    }
    const double factor = margin * bound_factor_;
    for (std::size_t k = 0; k < count; ++k) {
      // No row's innermost bound is below a hundredth of the next shell's: it keeps that shell's factor
      // small.
      const double inner = std::max(batch.suprema[0][k], 0.01 * batch.suprema[1][k]);
      batch.suprema[0][k] = inner;
      const double length = batch.lengths[k], square = length * length;
      const double size = inner * batch.scale[k] * square * (order == 2 ? length : square) * factor;
      // No bound is 0, also where floats underflow.
      batch.bounds[k] = std::max(static_cast<float>(size), std::numeric_limits<float>::min());
    }
    if (factors == nullptr) return;
    for (std::size_t s = 1; s < shell_count; ++s) {
      double& most = (*factors)[s];
      for (std::size_t k = 0; k < count; ++k)
        if (batch.suprema[s][k] > most * batch.suprema[0][k] && batch.scale[k] > 0)
          most = batch.suprema[s][k] / batch.suprema[0][k];
    }
  }

  // The records of one block of rows, with their bounds.
  void make(int order, std::size_t first, std::size_t count, float* records) const {
    RowBatch batch;
    load_records(first, count, batch, records);
    bound(order, count, batch);
    const std::size_t stride = WhiteRows::stride_of(dim());
    for (std::size_t k = 0; k < count; ++k) records[k * stride + dim() + 2] = batch.bounds[k];
  }

  // The records of one block of rows, without bounds, and the third derivatives of their terms.
  void make_with_third(std::size_t first, std::size_t count, float* records, float* third) const {
    RowBatch batch;
    load_records(first, count, batch, records);
    model_.curve->third({batch.e.data(), count}, {batch.reach.data(), count});
    for (std::size_t k = 0; k < count; ++k) third[k] = static_cast<float>(batch.reach[k] * batch.scale[k]);
  }

 private:
  void load_records(std::size_t first, std::size_t count, RowBatch& batch, float* records) const {
    write_white_records(whitening_, first, count, stride(), batch.direction.data(), records,
                        [&](std::span<double> white) { load(first, count, batch, white); });
    for (std::size_t k = 0; k < count; ++k) {
      float* facts = records + k * stride() + dim();
      facts[0] = static_cast<float>(batch.e[k]);
      facts[1] = static_cast<float>(batch.scale[k]);
    }
  }

  CurvedRows model_;
  Coefficients centre_;
  Whitening whitening_;
  std::vector<RowId> apart_;  // ascending
  std::array<double, shell_count> radii_{};
  double bound_factor_;
};

// The same with the bounds of one order.
class OrderedRows final : public RowMaker {
 public:
  OrderedRows(std::shared_ptr<const BoundedRows> rows, int order) : rows_(std::move(rows)), order_(order) {}
  void bounds(std::size_t first, std::size_t count, float* out) const override {
    RowBatch batch;
    rows_->load(first, count, batch);
    rows_->bound(order_, count, batch);
    std::copy_n(batch.bounds.begin(), count, out);
  }
  void records(std::size_t first, std::size_t count, float* out) const override {
    rows_->make(order_, first, count, out);
  }

 private:
  std::shared_ptr<const BoundedRows> rows_;
  int order_;
};

// The bounds of all rows, as far as a chain needs them before it runs.
struct BoundSums {
  std::vector<double> blocks;  // the sums of the blocks
  double total = 0;
  ShellFactors factors{1, 1, 1};
};

BoundSums sum_bounds(const BoundedRows& maker, int order, std::size_t n, ThreadPool& pool) {
  struct Factors {
    ShellFactors most{1, 1, 1};
    Factors& operator+=(const Factors& other) {
      for (std::size_t s = 0; s < shell_count; ++s) most[s] = std::max(most[s], other.most[s]);
      return *this;
    }
  };
  BoundSums out;
  out.blocks.resize(DrawnRows::blocks_of(n));
  const Factors factors =
      block_sum(pool, n, rows_per_block, Factors{}, [&](std::size_t first, std::size_t count) {
        Factors part;
        RowBatch batch;
        for (std::size_t at = 0; at < count; at += batch_rows) {
          const std::size_t size = std::min(batch_rows, count - at);
          maker.load(first + at, size, batch);
          maker.bound(order, size, batch, &part.most);
          for (std::size_t k = 0; k < size; k += DrawnRows::block_rows) {
            double sum = 0;
            for (std::size_t m = k; m < std::min(k + DrawnRows::block_rows, size); ++m)
              sum += static_cast<double>(batch.bounds[m]);
            out.blocks[(first + at + k) / DrawnRows::block_rows] = sum;
          }
        }
        return part;
      });
  out.factors = factors.most;
  for (const double sum : out.blocks) out.total += sum;
  return out;
}

// The bounds of the order that makes the run cheaper. Those of order 3 are summed only if order 3 would pay
// were it to read no rows at all.
struct Chosen {
  int order;
  BoundSums sums;
  double passes;
};
Chosen choose_order(const BoundedRows& maker, const ExpansionOptions& options, std::size_t n,
                    ThreadPool& pool) {
  if (options.order != 0) return {options.order, sum_bounds(maker, options.order, n, pool), 1};
  const std::size_t p = maker.dim();
  Chosen out{2, sum_bounds(maker, 2, n, pool), 1};
  const double rows = out.sums.total * expected_pair_bound(2, p);
  if (cheaper_order(n, p, options.steps, rows, 0) == 2) return out;
  BoundSums third = sum_bounds(maker, 3, n, pool);
  out.passes = 2;
  if (cheaper_order(n, p, options.steps, rows, third.total * expected_pair_bound(3, p)) == 3) {
    out.order = 3;
    out.sums = std::move(third);
  }
  return out;
}

// The sums of the rows that are left.
Derivatives likelihood_of_others(const Mode& mode, const Apart& apart, const ExpansionOptions& options) {
  if (apart.empty()) return mode.likelihood;
  Derivatives all = mode.likelihood;
  const Derivatives theirs = options.derivatives(Rows(apart.rows));
  all.gradient -= theirs.gradient;
  all.information -= theirs.information;
  Derivatives out(apart.remaining.size());
  out.value = all.value - theirs.value;
  out.gradient = all.gradient(apart.remaining);
  out.information = all.information(apart.remaining, apart.remaining);
  return out;
}

}  // namespace

void Expansion::place_with_apart(const double* v, Eigen::VectorXd& theta, Eigen::VectorXd& room) const {
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
  const auto rows_made =
      std::make_shared<const BoundedRows>(model, mode, unwhiten, apart, shells, options.bound_factor);
  Chosen chosen = choose_order(*rows_made, options, n, pool);
  const int order = chosen.order;
  const double total = chosen.sums.total;
  for (std::size_t s = 0; s < shell_count; ++s) shells[s].factor = chosen.sums.factors[s];
  // Where the sum of the bounds overflows no row is ever drawn: every step reads all.
  if (!std::isfinite(total)) std::fill(chosen.sums.blocks.begin(), chosen.sums.blocks.end(), 1.0);
  CubicForm cubic = order == 3 ? sum_cubic(*rows_made, n, pool) : CubicForm();
  if (order == 3) ++chosen.passes;

  // With two draws per block, six blocks in seven would get a table anyway. But records of hundreds of
  // columns would take more memory than the data: they are made whenever they are read.
  constexpr std::size_t most_bytes = 512'000'000;
  const bool at_once = options.at_once.value_or(n * WhiteRows::stride_of(p) * sizeof(float) <= most_bytes &&
                                                options.steps * total * expected_pair_bound(order, p) >
                                                    2 * static_cast<double>(chosen.sums.blocks.size()));
  DrawnRows rows(n, p, chosen.sums.blocks, std::make_shared<const OrderedRows>(rows_made, order),
                 at_once ? &pool : nullptr);
  if (at_once) ++chosen.passes;
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
          .total_bound = total,
          .shells = std::move(shells),
          .passes = chosen.passes,
          .constant = likelihood.value};
}

}  // namespace mlo
