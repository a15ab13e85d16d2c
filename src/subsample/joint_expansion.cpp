// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/subsample/joint_expansion.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "mlo/base/random.hpp"
#include "mlo/base/special.hpp"
#include "subsample/joint_rows.hpp"

namespace mlo {
namespace {

using Eigen::Index;

constexpr double factorial(int k) noexcept { return k <= 1 ? 1 : k * factorial(k - 1); }

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
  std::array<double, most_monomials> unit{};
  for (std::size_t m = 0; m < terms.size(); ++m)
    unit[m] = 1 / (factorial(terms[m].j) * factorial(terms[m].k) * expected[m]);
  const auto powers = [](double x) { return std::array{1.0, x, x * x, x * x * x, x * x * x * x}; };
  Stream stream({.seed = 1, .chain = 0, .purpose = Purpose::rows, .iteration = 0});
  constexpr int pairs = 256;
  std::vector<double> point(p + 1);
  double sum = 0;
  for (int i = 0; i < pairs; ++i) {
    std::array<double, most_monomials> sizes{};
    for (int end = 0; end < 2; ++end) {
      normals(stream, point);
      double square = 0;
      for (std::size_t j = 0; j < p; ++j) square += point[j] * point[j];
      const auto r = powers(std::sqrt(square)), u = powers(std::abs(point[p]));
      for (std::size_t m = 0; m < terms.size(); ++m)
        sizes[m] +=
            r[static_cast<std::size_t>(terms[m].j)] * u[static_cast<std::size_t>(terms[m].k)] * unit[m];
    }
    sum += *std::max_element(sizes.begin(), sizes.end());
  }
  return sum / pairs;
}

// A row that a step would draw more often than `always_from` is always read.
JointTerms terms_of(JointOrder order, std::size_t p, double sd, const JointOptions& options) {
  return {order, expected_sizes(order, p, sd), options.always_from / expected_largest(order, p)};
}

// Rows per step, from some blocks of rows: to predict costs.
double estimated_rows(const JointRows& maker, const JointTerms& terms, double largest, std::size_t n) {
  constexpr std::size_t most = 16;
  const std::size_t blocks = DrawnRows::blocks_of(n), some = std::min(blocks, most);
  double sum = 0, rows = 0;
  JointBatch batch;
  for (std::size_t i = 0; i < some; ++i) {
    const std::size_t first = i * blocks / some * DrawnRows::block_rows;
    const std::size_t count = std::min(DrawnRows::block_rows, n - first);
    maker.load(first, count, batch);
    maker.bound(terms, count, batch);
    for (std::size_t k = 0; k < count; ++k)
      sum += batch.bounds[k] > 0 ? static_cast<double>(batch.bounds[k]) * largest : 1;
    rows += static_cast<double>(count);
  }
  return sum / rows * static_cast<double>(n);
}

// The order that makes the run cheaper, set-up included. Figures in nanoseconds, which need only be roughly
// right: a row read, one that is made when it is drawn, a row of the pass, of one that makes all records and
// of the sums that take u along, a product of the cubic form in the pass and in a step.
JointOrder choose_joint_order(const JointRows& maker, const JointOptions& options, double sd, std::size_t n) {
  if (options.order) return *options.order;
  constexpr double row = 200, made = 1500, pass_row = 75, kept_row = 40, mixed_row = 30, product = 0.1;
  const std::size_t p = maker.dim();
  const double dim = static_cast<double>(p), all = static_cast<double>(n), square = dim * dim;
  const double products = dim * (dim + 1) * (dim + 2) / 6;
  JointOrder best = JointOrder::two;
  double least = std::numeric_limits<double>::infinity();
  const auto consider = [&](JointOrder order, double pass, double step) {
    const double rows = estimated_rows(maker, terms_of(order, p, sd, options), expected_largest(order, p), n);
    const double reads = options.steps * std::min(rows, all);
    const double cost =
        pass * all + options.steps * step + row * reads + std::min(made * reads, kept_row * all);
    if (!(cost < least)) return;
    best = order;
    least = cost;
  };
  consider(JointOrder::two, pass_row, 0);
  consider(JointOrder::mixed, pass_row + mixed_row + 0.3 * square, 0.5 * square);
  if (p < CubicForm::max_dim)  // the form has one variable more
    consider(JointOrder::three, pass_row + mixed_row + 0.3 * square + product * products,
             product * (products + 4 * dim * (dim + 1)));
  return best;
}

}  // namespace

double JointExpansion::expected_rows() const noexcept {
  return total_bound * expected_largest(order, dim() - 1) + static_cast<double>(always_read());
}

// As in WhitePoint: one number at a time, because v was written so.
double JointExpansion::derive(Point& point, const double* slope) const noexcept {
  const std::size_t p = dim() - 1;
  double shift = 0, product = 0;
  point.square = 0;
  for (std::size_t j = 0; j < p; ++j) {
    const double v = point.v[j];
    point.square += v * v;
    shift += u_of_v[j] * v;
    product += slope[j] * v;
    point.padded[j] = point.form[j] = static_cast<float>(v);
  }
  const double last = point.v[p];
  point.radius = std::sqrt(point.square);
  point.square += last * last;
  point.u = shift + u_of_v[p] * last;
  point.form[p] = static_cast<float>(point.u);
  const double r = point.radius, u = std::abs(point.u), rr = r * r, uu = u * u;
  const auto& e = inverse_expected;
  switch (order) {
    case JointOrder::two:
      point.sizes = {rr * r * e[0], rr * u * e[1], r * uu * e[2], uu * u * e[3], 0};
      break;
    case JointOrder::mixed:
      point.sizes = {rr * r * e[0], rr * uu * e[1], r * uu * u * e[2], uu * uu * e[3], 0};
      break;
    case JointOrder::three:
      point.sizes = {rr * rr * e[0], rr * r * u * e[1], rr * uu * e[2], r * uu * u * e[3], uu * uu * e[4]};
      break;
  }
  return product + slope[p] * last;
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

double JointExpansion::terms_of_second(double u) const {
  return weight * surface->common(u) + (prior_of_second ? prior_of_second(u) : 0);
}

// In a function of its own: hardly any data set has such rows.
[[gnu::noinline]] double JointExpansion::always_at(const Point& point) const noexcept {
  RowChanges changes;
  std::array<RowId, RowChanges::batch> ids;
  double sum = 0;
  for (std::size_t first = 0; first < always.size(); first += ids.size()) {
    const std::size_t size = std::min(ids.size(), always.size() - first);
    for (std::size_t k = 0; k < size; ++k) ids[k] = static_cast<RowId>(first + k);
    evaluate(always, {ids.data(), size}, origin, point, changes);
    for (std::size_t k = 0; k < size; ++k) sum += changes.r[k];
  }
  return sum;
}

double JointExpansion::higher(const Point& point) const noexcept {
  const double u = point.u;
  double sum = along_second.covers(u) ? along_second(u) : terms_of_second(u);
  if (always.size() > 0) sum += always_at(point);
  if (order == JointOrder::two) return sum;
  if (order == JointOrder::three) return sum + cubic(point.form.data());
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
  return sum + u * (0.5 * quadratic + u * (0.5 * slope + u * third / 6));
}

void JointExpansion::place(const Point& point, Eigen::VectorXd& theta,
                           Eigen::VectorXd& /*room*/) const noexcept {
  to_beta(point.v.data(), theta.data());
  theta[theta.size() - 1] = centre[centre.size() - 1] + point.u;
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
  std::vector<JointBox> boxes{{root + 3, 4 * sd, 1}, {root + 6, 8 * sd, 1}, {root + 12, 16 * sd, 1}};
  const auto made =
      std::make_shared<const JointRows>(model, mode.evaluated_at, beta_of_v, boxes, options.bound_factor);
  const JointOrder order = choose_joint_order(*made, options, sd, n);
  const JointTerms terms = terms_of(order, p, sd, options);
  JointSums sums = sum_jointly(*made, terms, beta_of_v, n, pool);
  double passes = 1;
  for (std::size_t s = 0; s < box_count; ++s) boxes[s].factor = sums.factors[s];
  const double total = sums.total;
  // Where the sum of the bounds overflows no row is ever drawn: every step reads all. Nor is one where all
  // are always read.
  if (!(total > 0 && std::isfinite(total))) std::fill(sums.blocks.begin(), sums.blocks.end(), 1.0);

  constexpr std::size_t most_bytes = 512'000'000;
  const bool at_once = options.at_once.value_or(n * made->stride() * sizeof(float) <= most_bytes &&
                                                options.steps * total * expected_largest(order, p) >
                                                    2 * static_cast<double>(sums.blocks.size()));
  DrawnRows rows(n, made->record_dim(), sums.blocks, drawn_jointly(made, terms, std::move(sums.bounds)),
                 at_once ? &pool : nullptr);
  if (at_once) ++passes;
  std::array<double, most_monomials> inverse{};
  const auto all = monomials(order);
  for (std::size_t m = 0; m < all.size(); ++m)
    inverse[m] = 1 / (terms.expected[m] * factorial(all[m].j) * factorial(all[m].k));

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
  JointExpansion out{.surface = model.surface,
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
                     .always = records_of(*made, sums.always),
                     .cubic = std::move(sums.cubic),
                     .square = std::move(sums.square),
                     .linear = std::move(sums.linear),
                     .third = sums.third,
                     .weight = weight,
                     .total_bound = total,
                     .inverse_expected = inverse,
                     .origin = JointPoint(p + 1, made->stride()),
                     .boxes = std::move(boxes),
                     .prior_of_second = std::move(prior),
                     .along_second = {},
                     .sd_of_second = sd,
                     .constant = mode.likelihood.value,
                     .passes = passes};
  // As precise as the sum of as many terms is.
  out.along_second = IntervalPolynomial([&out](double u) { return out.terms_of_second(u); },
                                        out.boxes[0].width, 1e-10 + 1e-15 * weight);
  return out;
}

}  // namespace mlo
