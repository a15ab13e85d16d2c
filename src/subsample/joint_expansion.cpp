// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/subsample/joint_expansion.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "mlo/base/random.hpp"
#include "mlo/base/special.hpp"
#include "mlo/model/whitening.hpp"
#include "subsample/cubic_sums.hpp"
#include "subsample/white_records.hpp"

namespace mlo {
namespace {

using Eigen::Index;

constexpr std::size_t box_count = 2;
constexpr std::size_t part_rows = 4 * DrawnRows::block_rows;
static_assert(DrawnRows::block_rows == Whitening::batch && rows_per_block % part_rows == 0);

constexpr double factorial(int k) noexcept { return k <= 1 ? 1 : k * factorial(k - 1); }

struct JointBatch {
  std::array<double, part_rows> eta, y, a, b, scale, direction, lengths, reach, powers;
  std::array<SurfaceShape, part_rows> shapes;
  std::array<double, most_monomials * part_rows> suprema;
  std::array<std::array<double, part_rows>, box_count> sizes;
  std::array<float, part_rows> bounds;
};

// Rows on their way into the expansion; as BoundedRows of expansion.cpp.
class JointRows {
 public:
  JointRows(SurfacedRows model, const Eigen::VectorXd& centre, const Eigen::MatrixXd& unwhiten,
            std::span<const JointBox> boxes, double bound_factor)
      : model_(std::move(model)),
        centre_(params(centre), *model_.rows),
        whitening_(*model_.rows, unwhiten),
        boxes_(boxes.begin(), boxes.end()),
        bound_factor_(bound_factor) {}

  [[nodiscard]] std::size_t dim() const noexcept { return whitening_.dim(); }
  [[nodiscard]] std::size_t record_dim() const noexcept { return dim() + 1; }
  [[nodiscard]] std::size_t stride() const noexcept { return WhiteRows::stride_of(record_dim()); }

  void load(std::size_t first, std::size_t count, JointBatch& batch, std::span<double> white = {}) const {
    const Rows rows = Rows::range(first, count);
    model_.rows->predictors(centre_, rows, {batch.eta.data(), count});
    model_.rows->responses(rows, {batch.y.data(), count});
    model_.surface->shapes({batch.eta.data(), count}, {batch.y.data(), count}, {batch.shapes.data(), count});
    if (model_.rows->design().has_weight) {
      model_.rows->weights(rows, {batch.powers.data(), count});
      for (std::size_t k = 0; k < count; ++k) batch.shapes[k].scale *= batch.powers[k];
    }
    for (std::size_t k = 0; k < count; k += Whitening::batch)
      whitening_(first + k, std::min(Whitening::batch, count - k), std::span(batch.lengths).subspan(k),
                 white);
    const auto rounded = [](double x) { return static_cast<double>(static_cast<float>(x)); };
    for (std::size_t k = 0; k < count; ++k) {
      const SurfaceShape& shape = batch.shapes[k];
      batch.a[k] = rounded(shape.a);
      batch.b[k] = rounded(shape.b);
      batch.scale[k] = rounded(shape.scale);
      batch.direction[k] = shape.direction;
      batch.lengths[k] = std::sqrt(batch.lengths[k]) * std::abs(shape.direction);
    }
  }

  // The bounds of loaded rows in the smallest box; the factor, if asked for, becomes large enough for the
  // others.
  void bound(JointOrder order, std::span<const double> expected, std::size_t count, JointBatch& batch,
             double* factor = nullptr) const {
    // More than floats can be wrong by: those of the record, and those that its products are computed in.
    constexpr double margin = 1 + 1e-5, wider = 1 + 1e-6;
    const std::span<const Monomial> terms = monomials(order);
    for (std::size_t s = 0; s < (factor != nullptr ? box_count : 1); ++s) {
      const double radius = boxes_[s].radius * wider;
      for (std::size_t k = 0; k < count; ++k) batch.reach[k] = batch.lengths[k] * radius;
      model_.surface->suprema(order, {{batch.a.data(), count}, {batch.b.data(), count}},
                              {batch.reach.data(), count}, boxes_[s].width * wider,
                              {batch.suprema.data(), terms.size() * count});
      auto& size = batch.sizes[s];
      std::fill_n(size.begin(), count, 0.0);
      for (std::size_t m = 0; m < terms.size(); ++m)
        for (std::size_t k = 0; k < count; ++k) {
          double power = expected[m] * batch.suprema[m * count + k];
          for (int j = 0; j < terms[m].j; ++j) power *= batch.lengths[k];
          size[k] += power;
        }
    }
    for (std::size_t k = 0; k < count; ++k)
      batch.bounds[k] =
          std::max(static_cast<float>(batch.sizes[0][k] * batch.scale[k] * margin * bound_factor_),
                   std::numeric_limits<float>::min());
    if (factor == nullptr) return;
    for (std::size_t k = 0; k < count; ++k)
      if (batch.sizes[1][k] > *factor * batch.sizes[0][k] && batch.scale[k] > 0)
        *factor = batch.sizes[1][k] / batch.sizes[0][k];
  }

  // The records of one block of rows, without bounds.
  void make(std::size_t first, std::size_t count, JointBatch& batch, float* records) const {
    write_white_records(whitening_, first, count, stride(), batch.direction.data(), records,
                        [&](std::span<double> white) { load(first, count, batch, white); });
    for (std::size_t k = 0; k < count; ++k) {
      float* facts = records + k * stride() + dim();
      facts[0] = static_cast<float>(batch.b[k]);
      facts[1] = static_cast<float>(batch.a[k]);
      facts[2] = static_cast<float>(batch.scale[k]);
    }
  }

  // For the cubic form.
  void make_with_third(std::size_t first, std::size_t count, float* records, float* third) const {
    JointBatch batch;
    make(first, count, batch, records);
    Thirds f;
    thirds(count, batch, f);
    for (std::size_t k = 0; k < count; ++k) third[k] = static_cast<float>(f.ttt[k] * batch.scale[k]);
  }

  struct Thirds {
    std::array<double, part_rows> ttt, ttu, tuu, uuu;
  };
  void thirds(std::size_t count, const JointBatch& batch, Thirds& f) const {
    model_.surface->thirds(
        {{batch.a.data(), count}, {batch.b.data(), count}},
        {{f.ttt.data(), count}, {f.ttu.data(), count}, {f.tuu.data(), count}, {f.uuu.data(), count}});
  }

  [[nodiscard]] const RowStore& store() const noexcept { return *model_.rows; }

 private:
  SurfacedRows model_;
  Coefficients centre_;
  Whitening whitening_;
  std::vector<JointBox> boxes_;
  double bound_factor_;
};

class OrderedJointRows final : public RowMaker {
 public:
  OrderedJointRows(std::shared_ptr<const JointRows> rows, JointOrder order,
                   std::array<double, most_monomials> expected)
      : rows_(std::move(rows)), order_(order), expected_(expected) {}
  void bounds(std::size_t first, std::size_t count, float* out) const override {
    JointBatch batch;
    rows_->load(first, count, batch);
    rows_->bound(order_, expected_, count, batch);
    std::copy_n(batch.bounds.begin(), count, out);
  }
  void records(std::size_t first, std::size_t count, float* out) const override {
    JointBatch batch;
    rows_->make(first, count, batch, out);
    rows_->bound(order_, expected_, count, batch);
    for (std::size_t k = 0; k < count; ++k)
      out[k * rows_->stride() + rows_->record_dim() + 2] = batch.bounds[k];
  }

 private:
  std::shared_ptr<const JointRows> rows_;
  JointOrder order_;
  std::array<double, most_monomials> expected_;
};

struct JointSums {
  std::vector<double> blocks;
  double total = 0, factor = 1;
};

JointSums sum_joint_bounds(const JointRows& maker, JointOrder order, std::span<const double> expected,
                           std::size_t n, ThreadPool& pool) {
  struct Largest {
    double factor = 1;
    Largest& operator+=(const Largest& other) {
      factor = std::max(factor, other.factor);
      return *this;
    }
  };
  JointSums out;
  out.blocks.resize(DrawnRows::blocks_of(n));
  out.factor = block_sum(pool, n, rows_per_block, Largest{}, [&](std::size_t first, std::size_t count) {
                 Largest part;
                 JointBatch batch;
                 for (std::size_t at = 0; at < count; at += part_rows) {
                   const std::size_t size = std::min(part_rows, count - at);
                   maker.load(first + at, size, batch);
                   maker.bound(order, expected, size, batch, &part.factor);
                   for (std::size_t k = 0; k < size; k += DrawnRows::block_rows) {
                     double sum = 0;
                     for (std::size_t m = k; m < std::min(k + DrawnRows::block_rows, size); ++m)
                       sum += static_cast<double>(batch.bounds[m]);
                     out.blocks[(first + at + k) / DrawnRows::block_rows] = sum;
                   }
                 }
                 return part;
               }).factor;
  for (const double sum : out.blocks) out.total += sum;
  return out;
}

// The sums of t^2 u, t u^2 and u^3 in white coordinates.
struct MixedSums {
  Eigen::MatrixXd square;
  Eigen::VectorXd linear;
  double third = 0;
};
MixedSums sum_mixed(const JointRows& maker, const Eigen::MatrixXd& unwhiten, std::size_t n,
                    ThreadPool& pool) {
  const auto p = static_cast<Index>(maker.dim());
  struct Part {
    Eigen::VectorXd gradient;
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> information;
    double third = 0;
    Part& operator+=(const Part& other) {
      gradient += other.gradient;
      information += other.information;
      third += other.third;
      return *this;
    }
  };
  const Part zero{Eigen::VectorXd::Zero(p), Eigen::MatrixXd::Zero(p, p), 0};
  const Part sums =
      block_sum(pool, n, rows_per_matrix(maker.dim()), zero, [&](std::size_t first, std::size_t count) {
        Part part = zero;
        JointBatch batch;
        JointRows::Thirds f;
        MomentSums moments(maker.store(), true);
        for (std::size_t at = 0; at < count; at += part_rows) {
          const std::size_t size = std::min(part_rows, count - at);
          maker.load(first + at, size, batch);
          maker.thirds(size, batch, f);
          for (std::size_t k = 0; k < size; ++k) {
            const double d = batch.direction[k], weight = batch.scale[k];
            f.tuu[k] *= weight * d;
            f.ttu[k] *= weight * d * d;
            part.third += weight * f.uuu[k];
          }
          moments.add(Rows::range(first + at, size), {f.tuu.data(), size}, {f.ttu.data(), size});
        }
        moments.finish({part.gradient.data(), static_cast<std::size_t>(p)},
                       {part.information.data(), static_cast<std::size_t>(p * p)});
        return part;
      });
  const Eigen::MatrixXd full = sums.information.selfadjointView<Eigen::Upper>();
  return {unwhiten.transpose() * full * unwhiten, unwhiten.transpose() * sums.gradient, sums.third};
}

// E r^j, r the length of p standard normal numbers; E |z|^k is that for p = 1.
double mean_power(std::size_t p, int j) {
  const double half = 0.5 * static_cast<double>(p);
  return std::exp(0.5 * j * std::log(2.0) + log_gamma(half + 0.5 * j) - log_gamma(half));
}

std::array<double, most_monomials> expected_sizes(JointOrder order, std::size_t p, double sd) {
  std::array<double, most_monomials> out{};
  const auto terms = monomials(order);
  for (std::size_t m = 0; m < terms.size(); ++m) {
    const auto [j, k] = terms[m];
    out[m] = 2 * mean_power(p, j) * mean_power(1, k) * std::pow(sd, k) / (factorial(j) * factorial(k));
  }
  return out;
}

// E max over monomials of (m(v) + m(v')) / E m for independent points: from 1.3 to 2, by the number of
// coefficients. Only used to predict costs.
double expected_largest(JointOrder order, std::size_t p) {
  const auto terms = monomials(order);
  const auto expected = expected_sizes(order, p, 1);
  Stream stream({.seed = 1, .chain = 0, .purpose = Purpose::rows, .iteration = 0});
  constexpr int pairs = 256;
  double sum = 0;
  for (int i = 0; i < pairs; ++i) {
    std::array<double, most_monomials> sizes{};
    for (int end = 0; end < 2; ++end) {
      double square = 0;
      for (std::size_t j = 0; j < p; ++j) square += std::pow(normal(stream), 2);
      const double r = std::sqrt(square), u = std::abs(normal(stream));
      for (std::size_t m = 0; m < terms.size(); ++m)
        sizes[m] += std::pow(r, terms[m].j) * std::pow(u, terms[m].k) /
                    (factorial(terms[m].j) * factorial(terms[m].k) * expected[m]);
    }
    sum += *std::max_element(sizes.begin(), sizes.end());
  }
  return sum / pairs;
}

struct ChosenOrder {
  JointOrder order;
  JointSums sums;
  double rows, passes;
};

// The order that makes the run cheaper, set-up included. Figures in nanoseconds, which need only be roughly
// right: a row read, a row of a pass, a product of the cubic form.
ChosenOrder choose_joint_order(const JointRows& maker, const JointOptions& options, double sd, std::size_t n,
                               ThreadPool& pool) {
  const std::size_t p = maker.dim();
  const auto with = [&](JointOrder order) {
    ChosenOrder out{order, sum_joint_bounds(maker, order, expected_sizes(order, p, sd), n, pool), 0, 1};
    out.rows = out.sums.total * expected_largest(order, p);
    return out;
  };
  if (options.order) return with(*options.order);
  constexpr double row = 150, pass_row = 40, product = 0.1, summand = 0.25;
  const double dim = static_cast<double>(p), all = static_cast<double>(n);
  const double products = dim * (dim + 1) * (dim + 2) / 6 + 4 * dim * (dim + 1);
  ChosenOrder best = with(JointOrder::two);
  double passes = 1, cost = options.steps * row * best.rows;
  const auto try_order = [&](JointOrder order, double setup, double step) {
    setup += pass_row * all;  // its bounds
    if (setup + options.steps * step >= cost) return;
    ChosenOrder other = with(order);
    ++passes;
    const double price = setup + options.steps * (step + row * other.rows);
    if (price < cost) {
      best = std::move(other);
      cost = price;
    }
  };
  try_order(JointOrder::mixed, (pass_row + 0.3 * dim * dim) * all, 0.5 * dim * dim);
  if (p <= CubicForm::max_dim)
    try_order(JointOrder::three, (2 * pass_row + 0.3 * dim * dim + summand * products) * all,
              0.5 * dim * dim + product * products);
  best.passes = passes;
  return best;
}

}  // namespace

double JointExpansion::expected_rows() const noexcept {
  return total_bound * expected_largest(order, dim() - 1);
}

void JointExpansion::derive(Point& point) const noexcept {
  const std::size_t p = dim() - 1;
  double length = 0, shift = 0;
  for (std::size_t j = 0; j < p; ++j) {
    length += point.v[j] * point.v[j];
    shift += u_of_v[j] * point.v[j];
    point.padded[j] = static_cast<float>(point.v[j]);
  }
  point.square = length + point.v[p] * point.v[p];
  point.radius = std::sqrt(length);
  point.u = shift + u_of_v[p] * point.v[p];
  const double r = point.radius, u = std::abs(point.u);
  std::array<double, 5> rs{1, r, r * r, r * r * r, r * r * r * r};
  std::array<double, 5> us{1, u, u * u, u * u * u, u * u * u * u};
  const auto terms = monomials(order);
  for (std::size_t m = 0; m < terms.size(); ++m)
    point.sizes[m] = rs[static_cast<std::size_t>(terms[m].j)] * us[static_cast<std::size_t>(terms[m].k)] *
                     inverse_expected[m];
}

void JointExpansion::evaluate(const WhiteRows& some, std::span<const RowId> ids, const Point& here,
                              const Point& there, RowChanges& changes) const noexcept {
  const std::size_t size = ids.size(), p = dim() - 1;
  changes.multiply(some, ids, here, there);
  for (std::size_t k = 0; k < size; ++k) changes.second[k] = static_cast<double>(some.record(ids[k])[p]);
  surface->changes(order, {{changes.e.data(), size}, {changes.second.data(), size}},
                   {{changes.from.data(), size}, {changes.to.data(), size}, here.u, there.u},
                   {changes.r.data(), size});
  for (std::size_t k = 0; k < size; ++k) changes.r[k] *= some.scale(ids[k]);
}

double JointExpansion::higher(const Point& point) const noexcept {
  const double u = point.u;
  double sum = weight * surface->common(u);
  if (prior_of_second) sum += prior_of_second(u);
  if (order == JointOrder::two) return sum;
  const auto p = static_cast<Index>(dim() - 1);
  double quadratic = 0, slope = 0;
  for (Index j = 0; j < p; ++j) {
    const double* column = square.data() + j * p;
    double product = 0;
    for (Index i = 0; i < p; ++i) product += column[i] * point.v[static_cast<std::size_t>(i)];
    const double v = point.v[static_cast<std::size_t>(j)];
    quadratic += product * v;
    slope += linear[j] * v;
  }
  sum += u * (0.5 * quadratic + u * (0.5 * slope + u * third / 6));
  if (order == JointOrder::three) sum += cubic(point.padded.data());
  return sum;
}

void JointExpansion::place(const double* v, Eigen::VectorXd& theta,
                           Eigen::VectorXd& /*room*/) const noexcept {
  to_beta(v, theta.data());
  double u = 0;
  for (std::size_t j = 0; j < u_of_v.size(); ++j) u += u_of_v[j] * v[j];
  theta[theta.size() - 1] = centre[centre.size() - 1] + u;
}

JointExpansion expand_jointly(const SurfacedRows& model, ThreadPool& pool, const Mode& mode,
                              const JointOptions& options) {
  const std::size_t n = model.rows->size(), p = model.rows->dim();
  const auto dim = static_cast<Index>(p);
  const Eigen::MatrixXd& h = mode.information;
  // H = L L' with the second parameter first: l_00, the column l_b0 and the triangle L_bb.
  const double first = std::sqrt(h(dim, dim));
  const Eigen::VectorXd column = h.col(dim).head(dim) / first;
  const Eigen::MatrixXd triangle =
      Eigen::LLT<Eigen::MatrixXd>(h.topLeftCorner(dim, dim) - column * column.transpose()).matrixU();
  const Eigen::MatrixXd beta_of_v =
      triangle.triangularView<Eigen::Upper>().solve(Eigen::MatrixXd::Identity(dim, dim));
  Eigen::MatrixXd whiten = Eigen::MatrixXd::Zero(dim + 1, dim + 1);
  whiten.topLeftCorner(dim, dim) = triangle;
  whiten.row(dim).head(dim) = column.transpose();
  whiten(dim, dim) = first;
  Eigen::MatrixXd unwhiten = Eigen::MatrixXd::Zero(dim + 1, dim + 1);
  unwhiten.topLeftCorner(dim, dim) = beta_of_v;
  unwhiten.row(dim).head(dim) = -(column.transpose() * beta_of_v) / first;
  unwhiten(dim, dim) = 1 / first;

  const double sd = unwhiten.row(dim).norm(), root = std::sqrt(static_cast<double>(p));
  std::vector<JointBox> boxes{{root + 3, 4 * sd, 1}, {root + 6, 8 * sd, 1}};
  const auto made =
      std::make_shared<const JointRows>(model, mode.evaluated_at, beta_of_v, boxes, options.bound_factor);
  ChosenOrder chosen = choose_joint_order(*made, options, sd, n, pool);
  const JointOrder order = chosen.order;
  boxes[1].factor = chosen.sums.factor;
  const double total = chosen.sums.total;
  // Where the sum of the bounds overflows no row is ever drawn: every step reads all.
  if (!std::isfinite(total)) std::fill(chosen.sums.blocks.begin(), chosen.sums.blocks.end(), 1.0);
  MixedSums mixed;
  if (order != JointOrder::two) {
    mixed = sum_mixed(*made, beta_of_v, n, pool);
    ++chosen.passes;
  }
  CubicForm cubic = order == JointOrder::three ? sum_cubic(*made, n, pool) : CubicForm();
  if (order == JointOrder::three) ++chosen.passes;

  constexpr std::size_t most_bytes = 512'000'000;
  const bool at_once = options.at_once.value_or(n * made->stride() * sizeof(float) <= most_bytes &&
                                                options.steps * chosen.rows >
                                                    2 * static_cast<double>(chosen.sums.blocks.size()));
  const auto expected = expected_sizes(order, p, sd);
  DrawnRows rows(n, made->record_dim(), chosen.sums.blocks,
                 std::make_shared<const OrderedJointRows>(made, order, expected), at_once ? &pool : nullptr);
  if (at_once) ++chosen.passes;
  std::array<double, most_monomials> inverse{};
  const auto terms = monomials(order);
  for (std::size_t m = 0; m < terms.size(); ++m)
    inverse[m] = 1 / (expected[m] * factorial(terms[m].j) * factorial(terms[m].k));

  std::function<double(double)> prior;
  if (options.prior_of_second) {
    const double centre = mode.evaluated_at[dim];
    prior = [whole = options.prior_of_second, centre, at = options.prior_of_second(centre),
             slope = options.prior_slope, curvature = options.prior_curvature](double u) {
      return whole(centre + u) - at - u * (slope - 0.5 * curvature * u);
    };
  }
  double weight = static_cast<double>(n);
  if (model.rows->design().has_weight)
    weight = block_sum(pool, n, rows_per_block, 0.0, [&](std::size_t from, std::size_t count) {
      std::vector<double> weights(count);
      model.rows->weights(Rows::range(from, count), weights);
      double sum = 0;
      for (const double w : weights) sum += w;
      return sum;
    });
  const Eigen::VectorXd gradient = unwhiten.transpose() * mode.likelihood.gradient;
  const Eigen::MatrixXd information = unwhiten.transpose() * mode.likelihood.information * unwhiten;
  const Eigen::VectorXd last = unwhiten.row(dim);
  return {.surface = model.surface,
          .order = order,
          .centre = mode.evaluated_at,
          .apart = {},
          .whiten = std::move(whiten),
          .unwhiten = std::move(unwhiten),
          .to_beta = Unwhitening(mode.evaluated_at.head(dim), beta_of_v),
          .u_of_v = std::vector<double>(last.begin(), last.end()),
          .gradient = gradient,
          .information = information,
          .rows = std::move(rows),
          .cubic = std::move(cubic),
          .square = std::move(mixed.square),
          .linear = std::move(mixed.linear),
          .third = mixed.third,
          .weight = weight,
          .total_bound = total,
          .inverse_expected = inverse,
          .boxes = std::move(boxes),
          .prior_of_second = std::move(prior),
          .sd_of_second = sd,
          .constant = mode.likelihood.value,
          .passes = chosen.passes};
}

}  // namespace mlo
