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

constexpr std::size_t box_count = 3;
// By which the bounds of the smallest box are multiplied.
using BoxFactors = std::array<double, box_count>;
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

  // Rows first..first+count-1, at most part_rows; into records too, without bounds, if asked for.
  void load(std::size_t first, std::size_t count, JointBatch& batch, float* records = nullptr) const {
    const Rows rows = Rows::range(first, count);
    model_.rows->predictors(centre_, rows, {batch.eta.data(), count});
    model_.rows->responses(rows, {batch.y.data(), count});
    model_.surface->shapes({batch.eta.data(), count}, {batch.y.data(), count}, {batch.shapes.data(), count});
    if (model_.rows->design().has_weight) {
      model_.rows->weights(rows, {batch.powers.data(), count});
      for (std::size_t k = 0; k < count; ++k) batch.shapes[k].scale *= batch.powers[k];
    }
    const auto rounded = [](double x) { return static_cast<double>(static_cast<float>(x)); };
    for (std::size_t k = 0; k < count; ++k) {
      const SurfaceShape& shape = batch.shapes[k];
      batch.a[k] = rounded(shape.a);
      batch.b[k] = rounded(shape.b);
      batch.scale[k] = rounded(shape.scale);
      batch.direction[k] = shape.direction;
    }
    for (std::size_t k = 0; k < count; k += Whitening::batch) {
      const std::size_t size = std::min(Whitening::batch, count - k);
      const auto whiten = [&](std::span<double> white) {
        whitening_(first + k, size, std::span(batch.lengths).subspan(k), white);
      };
      if (records == nullptr)
        whiten({});
      else
        write_white_records(whitening_, first + k, size, stride(), batch.direction.data() + k,
                            records + k * stride(), whiten);
    }
    for (std::size_t k = 0; k < count; ++k)
      batch.lengths[k] = std::sqrt(batch.lengths[k]) * std::abs(batch.direction[k]);
    for (std::size_t k = 0; k < count && records != nullptr; ++k) {
      float* facts = records + k * stride() + dim();
      facts[0] = static_cast<float>(batch.b[k]);
      facts[1] = static_cast<float>(batch.a[k]);
      facts[2] = static_cast<float>(batch.scale[k]);
    }
  }

  // The bounds of loaded rows in the smallest box; the factors, if asked for, become large enough for the
  // others.
  void bound(JointOrder order, std::span<const double> expected, std::size_t count, JointBatch& batch,
             BoxFactors* factors = nullptr) const {
    // More than floats can be wrong by: those of the record, and those that its products are computed in.
    constexpr double margin = 1 + 1e-5, wider = 1 + 1e-6;
    const std::span<const Monomial> terms = monomials(order);
    for (std::size_t s = 0; s < (factors != nullptr ? box_count : 1); ++s) {
      const double radius = boxes_[s].radius * wider;
      for (std::size_t k = 0; k < count; ++k) batch.reach[k] = batch.lengths[k] * radius;
      model_.surface->suprema(order, {{batch.a.data(), count}, {batch.b.data(), count}},
                              {batch.reach.data(), count}, boxes_[s].width * wider,
                              {batch.suprema.data(), terms.size() * count});
      auto& size = batch.sizes[s];
      std::fill_n(size.begin(), count, 0.0);
      for (std::size_t m = 0; m < terms.size(); ++m) {
        double* const power = batch.suprema.data() + m * count;
        for (std::size_t k = 0; k < count; ++k) power[k] *= expected[m];
        for (int j = 0; j < terms[m].j; ++j)
          for (std::size_t k = 0; k < count; ++k) power[k] *= batch.lengths[k];
        for (std::size_t k = 0; k < count; ++k) size[k] += power[k];
      }
    }
    for (std::size_t k = 0; k < count; ++k)
      batch.bounds[k] =
          std::max(static_cast<float>(batch.sizes[0][k] * batch.scale[k] * margin * bound_factor_),
                   std::numeric_limits<float>::min());
    if (factors == nullptr) return;
    for (std::size_t s = 1; s < box_count; ++s)
      for (std::size_t k = 0; k < count; ++k)
        if (batch.sizes[s][k] > (*factors)[s] * batch.sizes[0][k] && batch.scale[k] > 0)
          (*factors)[s] = batch.sizes[s][k] / batch.sizes[0][k];
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
  // `known`: the bounds of all rows, or nothing.
  OrderedJointRows(std::shared_ptr<const JointRows> rows, JointOrder order,
                   std::array<double, most_monomials> expected, std::vector<float> known)
      : rows_(std::move(rows)), order_(order), expected_(expected), known_(std::move(known)) {}
  void bounds(std::size_t first, std::size_t count, float* out) const override {
    if (!known_.empty()) {
      std::copy_n(known_.data() + first, count, out);
      return;
    }
    JointBatch batch;
    rows_->load(first, count, batch);
    rows_->bound(order_, expected_, count, batch);
    std::copy_n(batch.bounds.begin(), count, out);
  }
  void records(std::size_t first, std::size_t count, float* out) const override {
    JointBatch batch;
    rows_->load(first, count, batch, out);
    if (known_.empty()) rows_->bound(order_, expected_, count, batch);
    const float* const sizes = known_.empty() ? batch.bounds.data() : known_.data() + first;
    for (std::size_t k = 0; k < count; ++k) out[k * rows_->stride() + rows_->record_dim() + 2] = sizes[k];
  }

 private:
  std::shared_ptr<const JointRows> rows_;
  JointOrder order_;
  std::array<double, most_monomials> expected_;
  std::vector<float> known_;
};

// All that an order needs of the rows.
struct JointSums {
  std::vector<double> blocks;  // of the bounds
  std::vector<float> bounds;   // of all rows, where they take little memory; otherwise empty
  double total = 0;
  BoxFactors factors{};
  // In white coordinates, unless the order is two: sums of t^2 u, t u^2 and u^3.
  Eigen::MatrixXd square;
  Eigen::VectorXd linear;
  double third = 0;
  CubicForm cubic;  // for order three
};

// Its sums over some rows.
struct JointPart {
  explicit JointPart(std::size_t matrix, std::size_t tensor)
      : gradient(Eigen::VectorXd::Zero(static_cast<Index>(matrix))),
        information(Eigen::MatrixXd::Zero(gradient.size(), gradient.size())),
        cubic(tensor) {
    factors.fill(1);
  }
  BoxFactors factors;
  Eigen::VectorXd gradient;
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> information;
  double third = 0;
  CubicSums cubic;
  JointPart& operator+=(const JointPart& other) {
    for (std::size_t s = 0; s < box_count; ++s) factors[s] = std::max(factors[s], other.factors[s]);
    gradient += other.gradient;
    information += other.information;
    third += other.third;
    cubic += other.cubic;
    return *this;
  }
};

// In one pass: rows are loaded and whitened once.
JointSums sum_jointly(const JointRows& maker, JointOrder order, std::span<const double> expected,
                      const Eigen::MatrixXd& unwhiten, std::size_t n, ThreadPool& pool) {
  const bool mixed = order != JointOrder::two, cubed = order == JointOrder::three;
  const std::size_t p = maker.dim(), stride = maker.stride();
  if (cubed) check_cubic_variables(p + 1);
  JointSums out;
  out.blocks.resize(DrawnRows::blocks_of(n));
  // Suprema take longer than all else that a row's record needs.
  constexpr std::size_t most_kept = 1'000'000;
  if (n <= most_kept) out.bounds.resize(n);
  const JointPart zero(mixed ? p : 0, cubed ? p : 0);
  const std::size_t chunk = cubed ? CubicSums::chunk_rows(n) : mixed ? rows_per_matrix(p) : rows_per_block;
  const JointPart sums = block_sum(pool, n, chunk, zero, [&](std::size_t first, std::size_t count) {
    JointPart part = zero;
    JointBatch batch;
    JointRows::Thirds f;
    MomentSums moments(maker.store(), mixed);
    std::vector<float> records(cubed ? part_rows * stride : 0);
    std::array<float, part_rows> ttt;
    for (std::size_t at = first; at < first + count; at += part_rows) {
      const std::size_t size = std::min(part_rows, first + count - at);
      maker.load(at, size, batch, cubed ? records.data() : nullptr);
      maker.bound(order, expected, size, batch, &part.factors);
      if (!out.bounds.empty())
        std::copy_n(batch.bounds.begin(), size, out.bounds.begin() + static_cast<std::ptrdiff_t>(at));
      for (std::size_t k = 0; k < size; k += DrawnRows::block_rows) {
        double sum = 0;
        for (std::size_t m = k; m < std::min(k + DrawnRows::block_rows, size); ++m)
          sum += static_cast<double>(batch.bounds[m]);
        out.blocks[(at + k) / DrawnRows::block_rows] = sum;
      }
      if (!mixed) continue;
      maker.thirds(size, batch, f);
      for (std::size_t k = 0; k < size; ++k) {
        const double d = batch.direction[k], weight = batch.scale[k];
        ttt[k] = static_cast<float>(weight * f.ttt[k]);
        f.tuu[k] *= weight * d;
        f.ttu[k] *= weight * d * d;
        part.third += weight * f.uuu[k];
      }
      moments.add(Rows::range(at, size), {f.tuu.data(), size}, {f.ttu.data(), size});
      if (cubed) part.cubic.add(records.data(), stride, ttt.data(), size);
    }
    if (mixed) moments.finish({part.gradient.data(), p}, {part.information.data(), p * p});
    return part;
  });
  for (const double sum : out.blocks) out.total += sum;
  out.factors = sums.factors;
  if (!mixed) return out;
  const Eigen::MatrixXd full = sums.information.selfadjointView<Eigen::Upper>();
  out.square = unwhiten.transpose() * full * unwhiten;
  out.linear = unwhiten.transpose() * sums.gradient;
  out.third = sums.third;
  if (!cubed) return out;
  out.cubic = sums.cubic.form(p + 1, [&](std::size_t j, std::size_t k, std::size_t) {
    const auto a = static_cast<Index>(j), b = static_cast<Index>(k);
    if (j == p) return out.third / 6;
    return k == p ? 0.5 * out.linear[a] : (j == k ? 0.5 : 1.0) * out.square(a, b);
  });
  return out;
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

// The sum of all rows' bounds, from some blocks of rows: to predict costs.
double estimated_total(const JointRows& maker, JointOrder order, std::span<const double> expected,
                       std::size_t n) {
  constexpr std::size_t most = 16;
  const std::size_t blocks = DrawnRows::blocks_of(n), some = std::min(blocks, most);
  double sum = 0, rows = 0;
  JointBatch batch;
  for (std::size_t i = 0; i < some; ++i) {
    const std::size_t first = i * blocks / some * DrawnRows::block_rows;
    const std::size_t count = std::min(DrawnRows::block_rows, n - first);
    maker.load(first, count, batch);
    maker.bound(order, expected, count, batch);
    for (std::size_t k = 0; k < count; ++k) sum += static_cast<double>(batch.bounds[k]);
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
    const double rows =
        estimated_total(maker, order, expected_sizes(order, p, sd), n) * expected_largest(order, p);
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
  return total_bound * expected_largest(order, dim() - 1);
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

double JointExpansion::higher(const Point& point) const noexcept {
  const double u = point.u;
  double sum = along_second.covers(u) ? along_second(u) : terms_of_second(u);
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
  const auto expected = expected_sizes(order, p, sd);
  JointSums sums = sum_jointly(*made, order, expected, beta_of_v, n, pool);
  double passes = 1;
  for (std::size_t s = 0; s < box_count; ++s) boxes[s].factor = sums.factors[s];
  const double total = sums.total;
  // Where the sum of the bounds overflows no row is ever drawn: every step reads all.
  if (!std::isfinite(total)) std::fill(sums.blocks.begin(), sums.blocks.end(), 1.0);

  constexpr std::size_t most_bytes = 512'000'000;
  const bool at_once = options.at_once.value_or(n * made->stride() * sizeof(float) <= most_bytes &&
                                                options.steps * total * expected_largest(order, p) >
                                                    2 * static_cast<double>(sums.blocks.size()));
  DrawnRows rows(n, made->record_dim(), sums.blocks,
                 std::make_shared<const OrderedJointRows>(made, order, expected, std::move(sums.bounds)),
                 at_once ? &pool : nullptr);
  if (at_once) ++passes;
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
                     .cubic = std::move(sums.cubic),
                     .square = std::move(sums.square),
                     .linear = std::move(sums.linear),
                     .third = sums.third,
                     .weight = weight,
                     .total_bound = total,
                     .inverse_expected = inverse,
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
