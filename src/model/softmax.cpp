// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/softmax.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "mlo/base/errors.hpp"
#include "mlo/base/special.hpp"

namespace mlo {
namespace {

using Eigen::Index;

void refuse_kind(const Design& design) {
  if (design.shares)
    throw ModelError(
        "cbind(successes, failures) and `trials` are for `family logistic`, not for `family softmax`");
  if (design.has_offset)
    throw ModelError(
        "offset() has no meaning with `family softmax`: it would have to say for which classes it is");
}

}  // namespace

std::string class_name(double value) { return fmt::format("{}", value); }

ResponseClasses classes_of(const Design& design) {
  refuse_kind(design);
  std::map<double, std::size_t> found;  // response, its first row
  for (std::size_t i = 0; i < design.rows; ++i) {
    const double y = design.y(i);
    if (found.contains(y)) continue;
    if (y != std::floor(y) || std::abs(y) > 1e15)
      throw ModelError(fmt::format(
          "{}: response \"{}\": the classes of a softmax model are text or whole numbers (got {})",
          design.place(i), design.response, y));
    found.emplace(y, i);
    if (found.size() > most_classes)
      throw ModelError(
          fmt::format("the response {} has more than {} classes, the most that `family softmax` takes; is it "
                      "a number to be predicted? Then use another family",
                      design.response, most_classes));
  }
  ResponseClasses out;
  for (const auto& [value, row] : found) {
    out.values.push_back(value);
    out.names.push_back(design.response_levels.empty()
                            ? class_name(value)
                            : design.response_levels[static_cast<std::size_t>(value)]);
  }
  if (out.names.size() < 2)
    throw ModelError(fmt::format("the response {} has one class, \"{}\": there is nothing to tell apart",
                                 design.response, out.names.empty() ? "" : out.names[0]));
  if (design.response_base.empty()) return out;
  const auto base = std::find(out.names.begin(), out.names.end(), design.response_base);
  if (base == out.names.end())
    throw UsageError(fmt::format("`base {}`: the response {} has no such class; there are {}",
                                 design.response_base, design.response, fmt::join(out.names, ", ")));
  const auto at = base - out.names.begin();
  std::rotate(out.names.begin(), base, base + 1);
  std::rotate(out.values.begin(), out.values.begin() + at, out.values.begin() + at + 1);
  return out;
}

Layout Softmax::layout_of(const Design& design, std::span<const std::string> classes) {
  std::vector<Block> blocks;
  for (std::size_t k = 1; k < classes.size(); ++k) {
    Block block{.kind = Block::Kind::coefficients,
                .intercept = design.intercept,
                .intercept_at_means = design.intercept,
                .centre = design.centre,
                .scale = design.scale};
    for (std::size_t j = 0; j < design.dim; ++j) {
      block.names.push_back(fmt::format("{}:{}", classes[k], design.names[j]));
      block.priors.push_back(design.intercept && j == 0 ? Prior::normal(0, 10)
                                                        : Prior::normal(0, 2.5 / design.typical[j]));
    }
    blocks.push_back(std::move(block));
  }
  return Layout(std::move(blocks));
}

namespace {

// The design with the numbers of the classes as responses.
Design coded(Design design, const ResponseClasses& classes, std::vector<double>& totals) {
  refuse_kind(design);
  std::map<double, std::size_t> codes;
  for (std::size_t k = 0; k < classes.values.size(); ++k) codes.emplace(classes.values[k], k);
  totals.assign(classes.names.size(), 0.0);
  for (std::size_t i = 0; i < design.rows; ++i) {
    const std::size_t code = codes.at(design.y(i));
    totals[code] += design.weight(i);
    design.x[i * design.stride + design.dense.size()] = static_cast<double>(code);
  }
  return design;
}

}  // namespace

Softmax::Softmax(Design design, ResponseClasses classes, Layout layout)
    : store_(coded(std::move(design), classes, totals_)),
      classes_(std::move(classes.names)),
      layout_(std::move(layout)) {
  if (dim() > most_columns)
    throw ModelError(
        fmt::format("{} classes and {} columns are {} parameters, more than the {} that a model may have",
                    classes_.size(), width(), dim(), most_columns));
}

// Predictors of a batch of rows and what is made of them. One per call, not per batch: it has all the memory
// that the loops need.
class Softmax::Batches {
 public:
  Batches(const Softmax& model, Params theta) : m_(model), eta_(model.others() * batch_rows) {
    beta_.reserve(model.others());
    for (std::size_t k = 0; k < model.others(); ++k)
      beta_.emplace_back(theta.subspan(k * model.width(), model.width()), model.store_);
  }

  [[nodiscard]] double* eta(std::size_t k) noexcept { return eta_.data() + k * batch_rows; }
  [[nodiscard]] std::size_t response(std::size_t i) const noexcept { return static_cast<std::size_t>(y_[i]); }
  [[nodiscard]] double weight(std::size_t i) const noexcept { return weights_[i]; }

  // The predictors and the responses.
  void load(Rows rows) noexcept {
    count_ = rows.size();
    for (std::size_t k = 0; k < beta_.size(); ++k) m_.store_.predictors(beta_[k], rows, {eta(k), count_});
    m_.store_.responses(rows, {y_.data(), count_});
    if (m_.weighted()) m_.store_.weights(rows, {weights_.data(), count_});
  }

  // The rows' terms; afterwards eta has the exponentials, and sums their sums, if `probabilities` divided by
  // them.
  void terms(std::span<double> out, bool probabilities = false) noexcept {
    double largest = 0;
    for (std::size_t k = 0; k < beta_.size(); ++k)
      for (std::size_t i = 0; i < count_; ++i) largest = std::max(largest, std::abs(eta(k)[i]));
    for (std::size_t i = 0; i < count_; ++i) out[i] = response(i) == 0 ? 0 : eta(response(i) - 1)[i];
    std::fill_n(sums_.begin(), count_, 1.0);
    // No exponential overflows, nor does a sum of them: the common case needs no shift.
    if (!(largest < 300)) {
      for (std::size_t i = 0; i < count_; ++i) {
        double most = 0;
        for (std::size_t k = 0; k < beta_.size(); ++k) most = std::max(most, eta(k)[i]);
        for (std::size_t k = 0; k < beta_.size(); ++k) eta(k)[i] -= most;
        sums_[i] = std::exp(-most);
        out[i] -= most;
      }
    }
    for (std::size_t k = 0; k < beta_.size(); ++k) {
      exp({eta(k), count_}, {eta(k), count_});
      for (std::size_t i = 0; i < count_; ++i) sums_[i] += eta(k)[i];
    }
    if (probabilities)
      for (std::size_t k = 0; k < beta_.size(); ++k)
        for (std::size_t i = 0; i < count_; ++i) eta(k)[i] /= sums_[i];
    log({sums_.data(), count_}, {sums_.data(), count_});
    for (std::size_t i = 0; i < count_; ++i) out[i] -= sums_[i];
    if (m_.weighted())
      for (std::size_t i = 0; i < count_; ++i) out[i] *= weights_[i];
  }

 private:
  const Softmax& m_;
  std::vector<Coefficients> beta_;
  std::vector<double> eta_;
  std::array<double, batch_rows> y_, weights_, sums_;
  std::size_t count_ = 0;
};

namespace {

template <class Body>
void in_batches(Rows rows, const Body& body) {
  for (std::size_t first = 0; first < rows.size(); first += Softmax::batch_rows)
    body(rows.part(first, std::min(Softmax::batch_rows, rows.size() - first)), first);
}

}  // namespace

void Softmax::log_likelihoods(Params theta, Rows rows, std::span<double> terms) const {
  Batches batch(*this, theta);
  in_batches(rows, [&](Rows part, std::size_t first) {
    batch.load(part);
    batch.terms(terms.subspan(first, part.size()));
  });
}

double Softmax::log_likelihood(Params theta, Rows rows) const {
  Batches batch(*this, theta);
  std::array<double, batch_rows> terms;
  double total = 0;
  in_batches(rows, [&](Rows part, std::size_t) {
    batch.load(part);
    batch.terms({terms.data(), part.size()});
    for (std::size_t i = 0; i < part.size(); ++i) total += terms[i];
  });
  return total;
}

void Softmax::probabilities(Params theta, Rows rows, std::span<double> out) const {
  Batches batch(*this, theta);
  std::array<double, batch_rows> terms;
  batch.load(rows);
  batch.terms({terms.data(), rows.size()}, true);
  for (std::size_t k = 0; k < others(); ++k)
    std::copy_n(batch.eta(k), rows.size(), out.begin() + static_cast<std::ptrdiff_t>(k * batch_rows));
}

// With t_k = eta_k - e_k, the expansion of a row about the centre is
//   q = t_y - sum_k p_k t_k - (sum_k p_k t_k^2 - (sum_k p_k t_k)^2) / 2.
void Softmax::log_likelihood_remainders(Params centre, Params from, Params to, std::span<const RowId> ids,
                                        std::span<double> remainders) const {
  Batches at(*this, centre), here(*this, from), there(*this, to);
  std::array<double, batch_rows> terms, before;
  std::vector<double> shift(2 * others() * batch_rows);
  in_batches(Rows(ids), [&](Rows part, std::size_t first) {
    const std::size_t count = part.size();
    at.load(part);
    here.load(part);
    there.load(part);
    double* const t = shift.data();
    double* const s = shift.data() + others() * batch_rows;
    for (std::size_t k = 0; k < others(); ++k)
      for (std::size_t i = 0; i < count; ++i) {
        s[k * batch_rows + i] = here.eta(k)[i] - at.eta(k)[i];
        t[k * batch_rows + i] = there.eta(k)[i] - at.eta(k)[i];
      }
    at.terms({terms.data(), count}, true);
    there.terms({terms.data(), count});
    here.terms({before.data(), count});
    for (std::size_t i = 0; i < count; ++i) {
      // The differences of squares factor by factor, so that a short step loses no digits.
      double change = 0, mean = 0, squares = 0, sum = 0;
      for (std::size_t k = 0; k < others(); ++k) {
        const double p = at.eta(k)[i], a = s[k * batch_rows + i], b = t[k * batch_rows + i];
        change += p * (b - a);
        mean += p * (b + a);
        squares += p * (b - a) * (b + a);
        if (at.response(i) == k + 1) sum += b - a;
      }
      const double weight = weighted() ? at.weight(i) : 1;
      remainders[first + i] =
          terms[i] - before[i] - weight * (sum - change - 0.5 * (squares - change * mean));
    }
  });
}

void Softmax::gradients(Params theta, Rows rows, Eigen::MatrixXd& out) const {
  out.resize(static_cast<Index>(rows.size()), static_cast<Index>(dim()));
  Batches batch(*this, theta);
  std::array<double, batch_rows> terms;
  Eigen::MatrixXd part_rows(static_cast<Index>(std::min(batch_rows, rows.size())),
                            static_cast<Index>(width()));
  in_batches(rows, [&](Rows part, std::size_t first) {
    const std::size_t count = part.size();
    batch.load(part);
    batch.terms({terms.data(), count}, true);
    for (std::size_t k = 0; k < others(); ++k) {
      for (std::size_t i = 0; i < count; ++i) {
        const double weight = weighted() ? batch.weight(i) : 1;
        terms[i] = weight * ((batch.response(i) == k + 1 ? 1 : 0) - batch.eta(k)[i]);
      }
      store_.scaled_rows(part, {terms.data(), count}, part_rows, 0);
      out.block(static_cast<Index>(first), static_cast<Index>(k * width()), static_cast<Index>(count),
                static_cast<Index>(width())) = part_rows.topRows(static_cast<Index>(count));
    }
  });
}

void Softmax::add_derivatives(Params theta, Rows rows, Derivatives& d) const {
  const std::size_t classes = others(), p = width();
  Batches batch(*this, theta);
  std::array<double, batch_rows> terms, u, v;
  // One sum per pair of classes k <= l; the gradient of k is in that of (k, k).
  std::vector<MomentSums> sums;
  sums.reserve(classes * (classes + 1) / 2);
  for (std::size_t k = 0; k < classes; ++k)
    for (std::size_t l = k; l < classes; ++l) sums.emplace_back(store_, true);
  in_batches(rows, [&](Rows part, std::size_t) {
    const std::size_t count = part.size();
    batch.load(part);
    batch.terms({terms.data(), count}, true);
    for (std::size_t i = 0; i < count; ++i) d.value += terms[i];
    auto at = sums.begin();
    for (std::size_t k = 0; k < classes; ++k)
      for (std::size_t l = k; l < classes; ++l, ++at) {
        for (std::size_t i = 0; i < count; ++i) {
          const double weight = weighted() ? batch.weight(i) : 1, pk = batch.eta(k)[i];
          u[i] = k != l ? 0 : weight * ((batch.response(i) == k + 1 ? 1 : 0) - pk);
          v[i] = weight * (k == l ? pk * (1 - pk) : -pk * batch.eta(l)[i]);
        }
        at->add(part, {u.data(), count}, {v.data(), count});
      }
  });
  auto at = sums.begin();
  for (std::size_t k = 0; k < classes; ++k)
    for (std::size_t l = k; l < classes; ++l, ++at) {
      std::vector<double> gradient(p, 0.0), information(p * p, 0.0);  // upper triangle
      at->finish(gradient, information);
      for (std::size_t j = 0; j < p; ++j) {
        if (k == l) d.gradient[static_cast<Index>(k * p + j)] += gradient[j];
        for (std::size_t m = 0; m < p; ++m) {
          const double value = information[std::min(j, m) * p + std::max(j, m)];
          const auto row = static_cast<Index>(k * p + j), column = static_cast<Index>(l * p + m);
          d.information(row, column) += value;
          if (k != l) d.information(column, row) += value;
        }
      }
    }
}

// The shares of the classes, and nothing that depends on a column.
Eigen::VectorXd Softmax::start() const {
  Eigen::VectorXd theta = Eigen::VectorXd::Zero(static_cast<Index>(dim()));
  if (design().intercept)
    for (std::size_t k = 0; k < others(); ++k)
      theta[static_cast<Index>(k * width())] = std::log(totals_[k + 1] / totals_[0]);
  return theta;
}

bool Softmax::recedes(Params direction, Rows rows) const {
  double length = 0;
  for (const double d : direction) length += d * d;
  if (length == 0) return false;
  const double tolerance = 1e-4 * std::sqrt(length);  // as in Glm::recedes
  Batches batch(*this, direction);
  bool out = true;
  in_batches(rows, [&](Rows part, std::size_t) {
    if (!out) return;
    batch.load(part);
    for (std::size_t i = 0; i < part.size() && out; ++i) {
      double most = 0;
      for (std::size_t k = 0; k < others(); ++k) most = std::max(most, batch.eta(k)[i]);
      const double own = batch.response(i) == 0 ? 0 : batch.eta(batch.response(i) - 1)[i];
      out = own >= most - tolerance;
    }
  });
  return out;
}

}  // namespace mlo
