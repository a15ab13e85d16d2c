// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/subsample/class_expansion.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "mlo/base/special.hpp"
#include "subsample/class_kernels.hpp"
#include "subsample/cubic_sums.hpp"

namespace mlo {
namespace {

using class_kernels::padded;
using Eigen::Index;

constexpr std::size_t batch = Softmax::batch_rows;
// More than floats can be wrong by: those of the record, and those that its products are computed in.
constexpr double margin = 1 + 1e-5;
// A class with a smaller probability is not tried as a reference, unless it is the likeliest.
constexpr double least_reference = 0.05;
// Beyond this exponent a probability's bound is 1.
constexpr double longest_reach = 300;

// E r^m, r the length of p standard normal numbers.
double mean_power(std::size_t p, int m) {
  const double half = 0.5 * static_cast<double>(p);
  return std::exp(0.5 * m * std::log(2.0) + log_gamma(half + 0.5 * m) - log_gamma(half));
}

double to_power(double x, int m) noexcept { return m == 3 ? x * x * x : x * x * x * x; }

// What the rows are multiplied by and measured with.
struct Geometry {
  Eigen::MatrixXd common;         // U: a row's numbers are w = U'x, |w| of the size of its predictors
  std::vector<double> rows;       // U by column
  std::vector<double> pairs;      // G by column: |G'w| = |C'x|, pair after pair
  HugeVector<double> metrics;     // G^-1 by column, padded: r = |G^-1 (z_k - z_l)|
  Eigen::MatrixXd rows_of_white;  // z = this times v; upper triangular
};

Eigen::MatrixXd upper_inverse(const Eigen::MatrixXd& upper) {
  return upper.triangularView<Eigen::Upper>().solve(Eigen::MatrixXd::Identity(upper.rows(), upper.cols()));
}

// S = U U' with U upper triangular.
Eigen::MatrixXd upper_root(const Eigen::MatrixXd& s) {
  const Eigen::MatrixXd inverse = s.llt().solve(Eigen::MatrixXd::Identity(s.rows(), s.cols()));
  return upper_inverse(inverse.llt().matrixU());
}

Geometry geometry_of(const Eigen::MatrixXd& unwhiten, std::size_t width, std::size_t classes) {
  const auto p = static_cast<Index>(width), others = static_cast<Index>(classes) - 1;
  const Eigen::MatrixXd sigma = unwhiten * unwhiten.transpose();
  const auto block = [&](Index k, Index l) { return sigma.block((k - 1) * p, (l - 1) * p, p, p); };
  Geometry out;
  Eigen::MatrixXd mean = Eigen::MatrixXd::Zero(p, p);
  for (Index k = 1; k <= others; ++k) mean += block(k, k) / static_cast<double>(others);
  out.common = upper_root(mean);
  const Eigen::MatrixXd inverse = upper_inverse(out.common);
  for (Index j = 0; j < p; ++j)
    for (Index i = 0; i < p; ++i) out.rows.push_back(out.common(i, j));
  for (Index k = 1; k <= others; ++k)
    for (Index l = 0; l < k; ++l) {
      Eigen::MatrixXd s = block(k, k);
      if (l > 0) s += block(l, l) - block(k, l) - block(l, k);
      const Eigen::MatrixXd g = inverse * upper_root(s), metric = upper_inverse(g);
      for (Index j = 0; j < p; ++j) {
        for (Index i = 0; i < p; ++i) out.pairs.push_back(i <= j ? g(i, j) : 0);
        for (Index i = 0; i < static_cast<Index>(padded(width)); ++i)
          out.metrics.push_back(i <= j ? metric(i, j) : 0);
      }
    }
  out.rows_of_white = Eigen::MatrixXd::Zero(sigma.rows(), sigma.cols());
  for (Index k = 0; k < others; ++k)
    out.rows_of_white.middleRows(k * p, p) = inverse * unwhiten.middleRows(k * p, p);
  return out;
}

// A batch of rows on their way into the expansion, by row.
struct ClassBatch {
  ClassBatch(std::size_t width, std::size_t classes)
      : row(width),
        x(width * batch),
        w(width * batch),
        p(classes * batch),
        a(classes * (classes - 1) / 2 * batch),
        reach(a.size()),
        weights(batch, 1.0),
        bounds(classes * batch),
        best(classes),
        trial(classes),
        references(batch) {}
  std::vector<double> row, x, w, p;
  std::vector<double> a, reach;  // a_kl and e^(a_kl R)
  std::vector<double> weights, bounds, best, trial;
  std::vector<std::uint8_t> references;
};

class ClassMaker {
 public:
  ClassMaker(const Softmax& model, const Eigen::VectorXd& centre, const Geometry& geometry, double radius)
      : model_(model), centre_(centre), geometry_(geometry), radius_(radius * (1 + 1e-6)) {}

  [[nodiscard]] std::size_t width() const noexcept { return model_.width(); }
  [[nodiscard]] std::size_t classes() const noexcept { return model_.others() + 1; }

  // w, p and the weights.
  void load(std::size_t first, std::size_t count, ClassBatch& b) const {
    const Rows rows = Rows::range(first, count);
    if (count < batch) std::fill(b.x.begin(), b.x.end(), 0.0);
    for (std::size_t i = 0; i < count; ++i) {
      model_.design().working_row(first + i, b.row);
      for (std::size_t j = 0; j < width(); ++j) b.x[j * batch + i] = b.row[j];
    }
    class_kernels::triangle(geometry_.rows.data(), width(), b.x.data(), batch, b.w.data());
    // The bounds are those of the rows as they are stored.
    for (double& w : b.w) w = static_cast<double>(static_cast<float>(w));
    model_.probabilities(params(centre_), rows, std::span(b.p).subspan(batch));
    for (std::size_t i = 0; i < count; ++i) {
      double rest = 0;
      for (std::size_t k = 1; k < classes(); ++k) rest += b.p[k * batch + i];
      b.p[i] = std::max(0.0, 1 - rest);
    }
    if (model_.weighted()) model_.store().weights(rows, {b.weights.data(), count});
  }

  // The lengths a_kl of loaded rows.
  void measure(ClassBatch& b) const {
    const std::size_t pairs = classes() * (classes() - 1) / 2;
    for (std::size_t m = 0; m < pairs; ++m)
      class_kernels::lengths(geometry_.pairs.data() + m * width() * width(), width(), b.w.data(), batch,
                             b.a.data() + m * batch);
    for (std::size_t m = 0; m < b.a.size(); ++m) b.reach[m] = std::min(b.a[m] * radius_, longest_reach);
    exp(b.reach, b.reach);
  }

  // References and bounds of measured rows.
  void bound(int order, double factor, std::size_t count, ClassBatch& b) const {
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t likeliest = 0;
      for (std::size_t k = 1; k < classes(); ++k)
        if (b.p[k * batch + i] > b.p[likeliest * batch + i]) likeliest = k;
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t c = 0; c < classes(); ++c) {
        if (c != likeliest && b.p[c * batch + i] < least_reference) continue;
        const double total = bound_from(order, c, i, b);
        if (!(total < least) && least < std::numeric_limits<double>::infinity()) continue;
        least = total;
        b.references[i] = static_cast<std::uint8_t>(c);
        std::swap(b.best, b.trial);
      }
      const double scale = b.weights[i] * factor * margin;
      for (std::size_t k = 0; k < classes(); ++k) b.bounds[k * batch + i] = b.best[k] * scale;
    }
  }

 private:
  // The bounds with reference c, in b.trial; returns their sum.
  double bound_from(int order, std::size_t c, std::size_t i, ClassBatch& b) const {
    const int m = order + 1;
    const double own = b.p[c * batch + i];
    double low = own, high = own;  // the least and the largest that all classes can add up to, relative to c
    bool far = false;
    for (std::size_t k = 0; k < classes(); ++k) {
      if (k == c) continue;
      const double reach = b.reach[ClassExpansion::pair(k, c) * batch + i], p = b.p[k * batch + i];
      low += p / reach;
      high += p * reach;
      far = far || b.a[ClassExpansion::pair(k, c) * batch + i] * radius_ > longest_reach;
    }
    const double share = far || !(high > 0) ? 1 : 1 - own / high;
    const double constant = cumulant_factor(order, std::min(1.0, share * (1 + 1e-12))) / (m == 3 ? 6 : 24);
    double total = 0;
    for (std::size_t k = 0; k < classes(); ++k) {
      b.trial[k] = 0;
      if (k == c) continue;
      const double reach = b.reach[ClassExpansion::pair(k, c) * batch + i], p = b.p[k * batch + i];
      const double rest = std::max(0.0, low - p / reach);
      const double most = far || !(p * reach + rest > 0) ? 1 : std::min(1.0, p * reach / (p * reach + rest));
      b.trial[k] = constant * most * to_power(b.a[ClassExpansion::pair(k, c) * batch + i], m);
      total += b.trial[k];
    }
    return total;
  }

  const Softmax& model_;
  Eigen::VectorXd centre_;
  const Geometry& geometry_;
  double radius_;
};

// ---- the cubic form

struct Triple {
  std::size_t a, b, c;
};
std::vector<Triple> triples(std::size_t size) {
  std::vector<Triple> out;
  for (std::size_t a = 0; a < size; ++a)
    for (std::size_t b = a; b < size; ++b)
      for (std::size_t c = b; c < size; ++c) out.push_back({a, b, c});
  return out;
}

// The third cumulant of the indicators of three classes a <= b <= c.
double third_cumulant(const Triple& t, const double* p) noexcept {
  const double all = 2 * p[t.a] * p[t.b] * p[t.c];
  if (t.a == t.b && t.b == t.c) return p[t.a] * (1 - 3 * p[t.a]) + all;
  if (t.a == t.b || t.b == t.c) return all - p[t.a] * p[t.c];
  return all;
}

// Sums over rows of (third cumulant of classes k, l, q) times w_j w_m w_r, as a symmetric tensor over
// (class, column), then in the coordinates v. Classes and columns separate: a product of two thin matrices.
CubicForm sum_cubic(const ClassMaker& maker, const Geometry& geometry, std::size_t n, ThreadPool& pool) {
  const std::size_t width = maker.width(), others = maker.classes() - 1, dim = width * others;
  check_cubic_variables(dim);
  const std::vector<Triple> columns = triples(width), classes = triples(others);
  const std::size_t a = (columns.size() + 3) / 4 * 4, b = padded(classes.size());
  struct Sum {
    std::vector<double> values;
    Sum& operator+=(const Sum& other) {
      for (std::size_t k = 0; k < values.size(); ++k) values[k] += other.values[k];
      return *this;
    }
  };
  // Few parts, as each has all the sums; few rows at a time, so that both matrices stay in the cache.
  constexpr std::size_t parts = 16;
  const std::size_t part_rows = ((n + parts - 1) / parts + batch - 1) / batch * batch;
  const std::size_t step = std::clamp<std::size_t>(65'536 / (a + b), 4, 64);
  const Sum zero{std::vector<double>(a * b, 0.0)};
  const Sum sums = block_sum(pool, n, part_rows, zero, [&](std::size_t first, std::size_t count) {
    Sum part = zero;
    ClassBatch rows(width, others + 1);
    std::vector<double> left(step * a, 0.0), right(step * b, 0.0), p(others), w(width);
    for (std::size_t at = first; at < first + count; at += batch) {
      const std::size_t here = std::min(batch, first + count - at);
      maker.load(at, here, rows);
      for (std::size_t i = 0; i < here; i += step) {
        const std::size_t some = std::min(step, here - i);
        for (std::size_t s = 0; s < some; ++s) {
          for (std::size_t j = 0; j < width; ++j) w[j] = rows.w[j * batch + i + s];
          for (std::size_t k = 0; k < others; ++k) p[k] = rows.p[(k + 1) * batch + i + s];
          double* to = left.data() + s * a;
          for (std::size_t j = 0; j < width; ++j)
            for (std::size_t m = j; m < width; ++m) {
              const double product = w[j] * w[m];
              for (std::size_t r = m; r < width; ++r) *to++ = product * w[r];
            }
          for (std::size_t t = 0; t < classes.size(); ++t)
            right[s * b + t] = rows.weights[i + s] * third_cumulant(classes[t], p.data());
        }
        class_kernels::add_product(left.data(), a, right.data(), b, some, part.values.data());
      }
    }
    return part;
  });

  // The whole tensor, each entry by its sorted columns and classes.
  std::vector<std::size_t> column_place(width * width * width), class_place(others * others * others);
  const auto fill = [](const std::vector<Triple>& of, std::size_t size, std::vector<std::size_t>& places) {
    for (std::size_t t = 0; t < of.size(); ++t) {
      std::array<std::size_t, 3> i{of[t].a, of[t].b, of[t].c};
      do places[(i[0] * size + i[1]) * size + i[2]] = t;
      while (std::next_permutation(i.begin(), i.end()));
    }
  };
  fill(columns, width, column_place);
  fill(classes, others, class_place);
  const auto size = static_cast<Index>(dim);
  Eigen::MatrixXd tensor(size, size * size);  // (first index, second index + size * third)
  for (std::size_t h = 0; h < dim; ++h)
    for (std::size_t g = 0; g < dim; ++g)
      for (std::size_t f = 0; f < dim; ++f) {
        const std::size_t column = column_place[((f % width) * width + g % width) * width + h % width];
        const std::size_t triple = class_place[((f / width) * others + g / width) * others + h / width];
        tensor(static_cast<Index>(f), static_cast<Index>(g + h * dim)) =
            -sums.values[column * b + triple] / 6;
      }
  // v for z, index after index: each product turns one index and moves it to the end.
  for (int turn = 0; turn < 3; ++turn) {
    const Eigen::MatrixXd turned = geometry.rows_of_white.transpose() * tensor;  // (a, bc)
    for (Index f = 0; f < size; ++f)
      for (Index gh = 0; gh < size * size; ++gh) {
        const Index g = gh % size, h = gh / size;
        tensor(g, h + size * f) = turned(f, gh);
      }
  }
  return {dim, [&](std::size_t j, std::size_t k, std::size_t l) {
            const double multiplicity = j == k && k == l ? 1 : j == k || k == l ? 3 : 6;
            return multiplicity * tensor(static_cast<Index>(j), static_cast<Index>(k + l * dim));
          }};
}

// ---- what a step costs, in nanoseconds; the figures need only be roughly right

double draw_cost(std::size_t width, std::size_t classes) {
  return 100 + 12.0 * static_cast<double>(classes) +
         0.3 * static_cast<double>(width) * static_cast<double>(padded(classes - 1));
}
double always_cost(std::size_t width, std::size_t classes) {
  return static_cast<double>(classes) * (4 + 0.2 * static_cast<double>(width));
}
double cubic_cost(std::size_t dim) { return std::pow(static_cast<double>(dim), 3) / 60; }
double cubic_sum_cost(std::size_t width, std::size_t others) {
  return 0.08 * static_cast<double>(triples(width).size() * triples(others).size());
}

// Rows per step by a sample of the rows: drawn, and always read.
struct Prediction {
  double drawn = 0, always = 0;
};
Prediction predict(const ClassMaker& maker, const ClassExpansionOptions& options, int order, std::size_t n) {
  constexpr std::size_t batches = 64;
  const std::size_t all = (n + batch - 1) / batch, used = std::min(all, batches);
  const double twice = 2 * mean_power(maker.width(), order + 1);
  ClassBatch b(maker.width(), maker.classes());
  Prediction out;
  double rows = 0;
  for (std::size_t k = 0; k < used; ++k) {
    const std::size_t first = all * k / used * batch, count = std::min(batch, n - first);
    maker.load(first, count, b);
    maker.measure(b);
    maker.bound(order, 1, count, b);
    rows += static_cast<double>(count);
    for (std::size_t i = 0; i < count; ++i) {
      double rate = 0;
      for (std::size_t c = 0; c < maker.classes(); ++c) rate += twice * b.bounds[c * batch + i];
      (rate > options.always_from ? out.always : out.drawn) += rate > options.always_from ? 1 : rate;
    }
  }
  out.drawn *= static_cast<double>(n) / rows;
  out.always *= static_cast<double>(n) / rows;
  return out;
}

int cheaper_class_order(const ClassMaker& maker, const ClassExpansionOptions& options, std::size_t n) {
  const std::size_t dim = maker.width() * (maker.classes() - 1);
  if (dim > CubicForm::max_dim) return 2;
  const auto rows_cost = [&](int order) {
    const Prediction rows = predict(maker, options, order, n);
    return options.steps * (rows.drawn * draw_cost(maker.width(), maker.classes()) +
                            rows.always * always_cost(maker.width(), maker.classes()));
  };
  const double set_up = static_cast<double>(n) * cubic_sum_cost(maker.width(), maker.classes() - 1);
  return rows_cost(3) + set_up + options.steps * cubic_cost(dim) < rows_cost(2) ? 3 : 2;
}

// ---- rows and tables

// Writes the records; returns the rows that are always read. Their records have the weight 0 and no bounds.
std::vector<RowId> make_rows(const ClassMaker& maker, const ClassExpansionOptions& options, int order,
                             ThreadPool& pool, ClassRows& rows) {
  const std::size_t n = rows.size();
  const double twice = 2 * mean_power(maker.width(), order + 1);
  std::vector<std::vector<RowId>> always((n + rows_per_block - 1) / rows_per_block);
  pool.run(always.size(), [&](std::size_t task) {
    ClassBatch b(maker.width(), maker.classes());
    const std::size_t end = std::min(n, (task + 1) * rows_per_block);
    for (std::size_t first = task * rows_per_block; first < end; first += batch) {
      const std::size_t count = std::min(batch, end - first);
      maker.load(first, count, b);
      maker.measure(b);
      maker.bound(order, options.bound_factor, count, b);
      for (std::size_t i = 0; i < count; ++i) {
        float* const record = rows.record(first + i);
        double rate = 0;
        for (std::size_t j = 0; j < maker.width(); ++j) record[j] = static_cast<float>(b.w[j * batch + i]);
        for (std::size_t k = 0; k < maker.classes(); ++k) {
          record[rows.probabilities() + k] = static_cast<float>(b.p[k * batch + i]);
          record[rows.bounds() + k] = static_cast<float>(b.bounds[k * batch + i]);
          rate += twice * b.bounds[k * batch + i];
        }
        record[rows.weight()] = static_cast<float>(b.weights[i]);
        record[rows.reference()] = static_cast<float>(b.references[i]);
        // Not finite: a bound overflows.
        if (rate <= options.always_from || options.bound_factor == 0) continue;
        for (std::size_t k = 0; k < maker.classes(); ++k) record[rows.bounds() + k] = 0;
        record[rows.weight()] = 0;
        always[task].push_back(static_cast<RowId>(first + i));
      }
    }
  });
  std::vector<RowId> out;
  for (const auto& part : always) out.insert(out.end(), part.begin(), part.end());
  return out;
}

void make_tables(ThreadPool& pool, ClassExpansion& x) {
  std::vector<std::vector<RowId>> ids(x.pairs());
  std::vector<std::vector<double>> bounds(x.pairs());
  const ClassRows& rows = x.rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const float* const record = rows.record(i);
    const auto reference = static_cast<std::size_t>(record[rows.reference()]);
    for (std::size_t k = 0; k < x.classes; ++k) {
      const auto bound = static_cast<double>(record[rows.bounds() + k]);
      if (k == reference || !(bound > 0)) continue;
      const std::size_t m = ClassExpansion::pair(k, reference);
      ids[m].push_back(static_cast<RowId>(i));
      bounds[m].push_back(bound);
    }
  }
  pool.run(x.pairs(), [&](std::size_t m) {
    for (const double bound : bounds[m]) x.totals[m] += bound;
    if (x.totals[m] > 0) x.tables[m] = PairTable(ids[m], bounds[m]);
  });
}

// The rows that are always read, as doubles.
void keep_always(const ClassMaker& maker, const Softmax& model, std::span<const RowId> ids,
                 ClassExpansion& x) {
  x.always_rows = ids.size();
  x.always_stride = padded(ids.size());
  x.always.assign((x.width + x.classes + 1) * x.always_stride, 0.0);
  x.always_references.resize(ids.size());
  ClassBatch b(x.width, x.classes);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    maker.load(ids[i], 1, b);
    std::size_t likeliest = 0;
    for (std::size_t j = 0; j < x.width; ++j) x.always[j * x.always_stride + i] = b.w[j * batch];
    for (std::size_t k = 0; k < x.classes; ++k) {
      x.always[(x.width + k) * x.always_stride + i] = b.p[k * batch];
      if (b.p[k * batch] > b.p[likeliest * batch]) likeliest = k;
    }
    x.always[(x.width + x.classes) * x.always_stride + i] = model.weighted() ? b.weights[0] : 1;
    x.always_references[i] = static_cast<std::uint8_t>(likeliest);
  }
}

// Rows that are always read, evaluated together.
constexpr std::size_t always_batch = 64;

}  // namespace

// A certificate per share q: for the third cumulant of an X with mean -1 (any other is a multiple of one)
//   (C - 1) x^3 - 3 x^2 + lambda x + (2 + lambda) / q >= 0,  (C + 1) x^3 - 3 x^2 - lambda x + (2 + lambda) /
//   q >= 0
// for x >= 0; for the fourth, of an X with mean 1,
//   (C - 1) x^4 + 4 x^3 + 6 s x^2 - lambda x + (lambda - 12 s - 3 s^2 - 6) / q >= 0 for all x.
std::span<const CumulantFactor> cumulant_factors() noexcept {
  static constexpr std::array<CumulantFactor, 10> table{{{0.1, 1.002, 1218, 1.023, 21.6, 4600},
                                                         {0.2, 1.009, 274, 1.050, 9.2, 1050},
                                                         {0.3, 1.020, 109.6, 1.085, 4.9, 432},
                                                         {0.4, 1.039, 55, 1.128, 3.06, 207.9},
                                                         {0.5, 1.065, 32, 1.184, 1.84, 118.6},
                                                         {0.6, 1.100, 20.4, 1.257, 1.06, 72.3},
                                                         {0.7, 1.142, 13.9, 1.353, 0.52, 46.8},
                                                         {0.8, 1.191, 10, 1.477, 0.14, 31.8},
                                                         {0.9, 1.244, 7.6, 1.633, -0.14, 22.7},
                                                         {1.0, 1.300, 6, 1.818, -0.3, 16.4}}};
  return table;
}

double cumulant_factor(int order, double share) noexcept {
  for (const CumulantFactor& row : cumulant_factors())
    if (share <= row.share) return order == 2 ? row.third : std::max(row.fourth, 2 * row.share);
  return order == 2 ? 1.3 : 2;
}

PairTable::PairTable(std::span<const RowId> rows, std::span<const double> weights)
    : cells_(rows.size(), Pages::huge) {
  const AliasTable table(weights);
  for (std::size_t k = 0; k < rows.size(); ++k)
    cells_[k] = {table.threshold(k), rows[k], rows[table.alias(k)]};
}

ClassPoint::ClassPoint(std::size_t dim, std::size_t width, std::size_t classes)
    : WhitePoint(dim, class_kernels::padded(dim)),
      z(dim),
      columns(width * class_kernels::padded(classes - 1), 0.0F),
      powers(classes * (classes - 1) / 2),
      room(std::max((classes + 2) * always_batch, 2 * class_kernels::padded(width))) {}

double ClassExpansion::derive(Point& point, const double* slope) const noexcept {
  const double product = point.derive(slope);
  to_rows(point.v.data(), point.z.data());
  const std::size_t others = classes - 1, lanes = padded(others);
  for (std::size_t k = 0; k < others; ++k)
    for (std::size_t j = 0; j < width; ++j)
      point.columns[j * lanes + k] = static_cast<float>(point.z[k * width + j]);
  class_kernels::radii(metrics.data(), width, classes, point.z.data(), point.room.data(),
                       point.powers.data());
  point.radius = 0;
  for (double& r : point.powers) {
    point.radius = std::max(point.radius, r);
    r = to_power(r, order + 1);
  }
  double* const t = point.room.data();
  double* const shift = t + classes * always_batch;
  double* const rest = shift + always_batch;
  point.always = 0;
  for (std::size_t first = 0; first < always_rows; first += always_batch) {
    const std::size_t count = std::min(always_batch, always_stride - first);
    class_kernels::products_by_row({width, others, always_batch, 0}, always.data() + first, always_stride,
                                   point.z.data(), count, t);
    const std::size_t here = std::min(count, always_rows - first);
    for (std::size_t i = 0; i < here; ++i) shift[i] = t[always_references[first + i] * always_batch + i];
    for (std::size_t i = here; i < count; ++i) shift[i] = 0;
    class_kernels::remainders(order, classes, count, always_batch, t,
                              always.data() + width * always_stride + first, always_stride, shift, rest);
    const double* const weights = always.data() + (width + classes) * always_stride + first;
    for (std::size_t i = 0; i < here; ++i) point.always += weights[i] * rest[i];
  }
  return product;
}

void ClassExpansion::evaluate(std::span<const RowId> ids, const Point& here, const Point& there,
                              ClassChanges& changes) const noexcept {
  constexpr std::size_t stride = ClassChanges::batch;
  const std::size_t count = ids.size(), second = classes * stride;
  class_kernels::products({width, classes - 1, stride, second}, rows.record(0), rows.stride(), ids.data(),
                          count, here.columns.data(), there.columns.data(), changes.products.data());
  std::array<double, stride> from_shift, to_shift;
  const std::size_t end = padded(count);
  for (std::size_t i = 0; i < count; ++i) {
    const float* const record = rows.record(ids[i]);
    for (std::size_t k = 0; k < classes; ++k)
      changes.probabilities[k * stride + i] = static_cast<double>(record[rows.probabilities() + k]);
    const auto reference = static_cast<std::size_t>(record[rows.reference()]);
    from_shift[i] = changes.products[reference * stride + i];
    to_shift[i] = changes.products[second + reference * stride + i];
  }
  for (std::size_t i = count; i < end; ++i) from_shift[i] = to_shift[i] = 0;
  class_kernels::remainders(order, classes, count, stride, changes.products.data(),
                            changes.probabilities.data(), stride, from_shift.data(), changes.scratch.data());
  class_kernels::remainders(order, classes, count, stride, changes.products.data() + second,
                            changes.probabilities.data(), stride, to_shift.data(), changes.r.data());
  for (std::size_t i = 0; i < count; ++i)
    changes.r[i] =
        (changes.r[i] - changes.scratch[i]) * static_cast<double>(rows.record(ids[i])[rows.weight()]);
}

double ClassExpansion::expected_draws() const noexcept {
  double sum = 0;
  for (const double total : totals) sum += total;
  return 2 * mean_power(width, order + 1) * sum;
}

double ClassExpansion::expected_nanoseconds() const noexcept {
  const auto size = static_cast<double>(dim());
  return 1000 + 20 * size + size * size / 4 + (order == 3 ? cubic_cost(dim()) : 0) +
         expected_draws() * draw_cost(width, classes) +
         static_cast<double>(always_rows) * always_cost(width, classes);
}

double class_expansion_bytes(const Softmax& model) noexcept {
  const auto n = static_cast<double>(model.rows()), others = static_cast<double>(model.others());
  const double floats = static_cast<double>(model.width()) + 2 * others + 10;
  return n * (sizeof(float) * floats + others * (sizeof(PairTable::Cell) + 12));  // 12: while they are made
}

ClassExpansion expand_classes(const Softmax& model, ThreadPool& pool, const Mode& mode,
                              const ClassExpansionOptions& options) {
  const std::size_t n = model.rows(), width = model.width(), classes = model.others() + 1;
  const Eigen::LLT<Eigen::MatrixXd> root(mode.information);
  const Eigen::MatrixXd whiten = root.matrixU();
  const Eigen::MatrixXd unwhiten = upper_inverse(whiten);
  Geometry geometry = geometry_of(unwhiten, width, classes);
  const double radius = std::sqrt(static_cast<double>(width)) + 5;
  const ClassMaker maker(model, mode.evaluated_at, geometry, radius);
  const int order = options.order != 0 ? options.order : cheaper_class_order(maker, options, n);

  ClassRows rows(n, width, classes);
  const std::vector<RowId> always = make_rows(maker, options, order, pool, rows);
  CubicForm cubic = order == 3 ? sum_cubic(maker, geometry, n, pool) : CubicForm();
  const std::size_t pairs = classes * (classes - 1) / 2;
  const Eigen::VectorXd gradient = unwhiten.transpose() * mode.likelihood.gradient;
  const Eigen::MatrixXd information = unwhiten.transpose() * mode.likelihood.information * unwhiten;
  ClassExpansion out{
      .order = order,
      .width = width,
      .classes = classes,
      .centre = mode.evaluated_at,
      .apart = {},
      .whiten = whiten,
      .unwhiten = unwhiten,
      .to_theta = Unwhitening(mode.evaluated_at, unwhiten),
      .to_rows = Unwhitening(Eigen::VectorXd::Zero(mode.evaluated_at.size()), geometry.rows_of_white),
      .gradient = gradient,
      .information = information,
      .rows = std::move(rows),
      .cubic = std::move(cubic),
      .tables = std::vector<PairTable>(pairs),
      .totals = std::vector<double>(pairs),
      .metrics = std::move(geometry.metrics),
      .always = {},
      .always_references = {},
      .radius = radius,
      .constant = mode.likelihood.value,
      .passes = order == 3 ? 2.0 : 1.0};
  make_tables(pool, out);
  keep_always(maker, model, always, out);
  return out;
}

}  // namespace mlo
