// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/glm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <utility>

#include "mlo/base/errors.hpp"

namespace mlo {
namespace {

// Rows at a time: eta, y and a few derivatives of a block stay in the first-level cache with the rows
// themselves.
constexpr std::size_t block_rows = Family::batch_rows;
// Random rows at a time: while one block goes through the family, the next one's rows are on their way.
constexpr std::size_t pair_rows = 64;

}  // namespace

Layout glm_layout(const Design& design, const Family& family, GlmPriors priors) {
  assert(priors.coefficients.size() == design.dim);
  std::vector<Block> blocks{{.kind = Block::Kind::coefficients,
                             .names = design.names,
                             .priors = std::move(priors.coefficients),
                             .intercept = design.intercept,
                             .intercept_at_means = priors.intercept_at_means,
                             .centre = design.centre,
                             .scale = design.scale}};
  if (family.estimates_second())
    blocks.push_back(
        {.kind = family.spec().second->share ? Block::Kind::logit_share : Block::Kind::log_positive,
         .names = {std::string(family.spec().second->name)},
         .priors = {priors.second}});
  return Layout(std::move(blocks));
}

GlmPriors usual_priors(const Design& design, const Family& family) {
  const FamilySpec& spec = family.spec();
  const ResponseScale y = spec.response_scale == nullptr ? ResponseScale{} : spec.response_scale(design);
  GlmPriors priors;
  for (std::size_t j = 0; j < design.dim; ++j)
    // Never 0: a constant column was refused if there is an intercept, and otherwise this is its root mean
    // square.
    priors.coefficients.push_back(Prior::normal(0, 2.5 * y.sd / design.typical[j]));
  if (design.intercept) {
    priors.coefficients[0] = Prior::normal(y.centre, 10 * y.sd);
    priors.intercept_at_means = true;
  }
  if (family.estimates_second()) priors.second = spec.second->usual_prior(y);
  return priors;
}

struct Glm::Rows256 {
  std::array<double, block_rows> eta, y;
  [[nodiscard]] Batch batch(std::size_t count, double log_second) const {
    return {{eta.data(), count}, {y.data(), count}, log_second};
  }
};

Glm::Glm(Design design, std::shared_ptr<const Family> family, Layout layout)
    : store_(std::move(design)),
      family_(std::move(family)),
      curve_(family_->curve()),
      layout_(std::move(layout)) {
  check();
}

Glm::Glm(Design design, std::shared_ptr<const Family> family, GlmPriors priors)
    : store_(std::move(design)),
      family_(std::move(family)),
      curve_(family_->curve()),
      layout_(glm_layout(store_.design(), *family_, std::move(priors))) {
  check();
}

void check_responses(const Design& design, const Family& family) {
  const FamilySpec& spec = family.spec();
  if (design.shares && !spec.shares)
    throw ModelError(fmt::format(
        "cbind(successes, failures) and `trials` are for `family logistic` and `family beta-binomial`, not "
        "for `family {}`",
        spec.name));
  if (spec.counted && !design.counted)
    throw ModelError(fmt::format(
        "`family {}` needs numbers of trials: cbind(successes, failures) as the response, or a share with "
        "`trials`",
        spec.name));
  if (!design.response_levels.empty() && !spec.binary)
    throw ModelError(
        fmt::format("the response {} is text (\"{}\"), and a {} model needs numbers; `family logistic` "
                    "takes text with two levels",
                    design.response, design.response_levels[0], spec.name));
  if (design.response_levels.size() > 2)
    throw ModelError(fmt::format(
        "the response {} has {} levels (\"{}\", \"{}\", \"{}\"{}): use `family softmax`, or, for one of them "
        "against the others, write {} == \"{}\" ~ ...",
        design.response, design.response_levels.size(), design.response_levels[0], design.response_levels[1],
        design.response_levels[2], design.response_levels.size() > 3 ? ", ..." : "", design.response,
        design.response_levels[1]));
  family.check(design);
}

void Glm::check() {
  const Design& design = store_.design();
  weight_ = static_cast<double>(design.rows);
  if (weighted()) {
    weight_ = 0;
    for (std::size_t i = 0; i < design.rows; ++i) weight_ += design.weight(i);
  }
  check_responses(design, *family_);
}

std::optional<CurvedRows> Glm::curved() const {
  if (!curve_) return std::nullopt;
  return CurvedRows{&store_, curve_.get()};
}

std::optional<SurfacedRows> Glm::surfaced(double log_second) const {
  if (!family_->estimates_second() || !family_->spec().surfaced) return std::nullopt;
  double largest = 0;
  std::array<double, block_rows> y;
  for (std::size_t first = 0; first < rows(); first += block_rows) {
    const std::size_t count = std::min(block_rows, rows() - first);
    store_.responses(Rows::range(first, count), {y.data(), count});
    largest = std::max(largest, *std::max_element(y.begin(), y.begin() + static_cast<std::ptrdiff_t>(count)));
  }
  auto surface = family_->surface(log_second, largest);
  if (!surface) return std::nullopt;
  return SurfacedRows{&store_, std::move(surface)};
}

// eta and y of up to block_rows rows.
void Glm::load(const Coefficients& beta, Rows rows, Rows256& block) const noexcept {
  store_.predictors(beta, rows, block.eta);
  store_.responses(rows, block.y);
}

void Glm::log_likelihoods(Params theta, Rows rows, std::span<double> terms) const noexcept {
  const Coefficients beta(theta, store_);
  Rows256 block;
  for (std::size_t first = 0; first < rows.size(); first += block_rows) {
    const std::size_t count = std::min(block_rows, rows.size() - first);
    load(beta, rows.part(first, count), block);
    family_->terms(block.batch(count, log_second(theta)), terms.subspan(first, count));
    if (weighted()) weigh(rows.part(first, count), {terms.subspan(first, count)});
  }
}

// Multiplies values of rows by their weights.
void Glm::weigh(Rows rows, std::initializer_list<std::span<double>> values) const noexcept {
  std::array<double, block_rows> w;
  store_.weights(rows, w);
  for (const std::span<double> each : values)
    for (std::size_t k = 0; k < rows.size(); ++k) each[k] *= w[k];
}

double Glm::sum(const Batch& batch, Rows rows) const noexcept {
  if (!weighted()) return family_->sum(batch);
  std::array<double, block_rows> terms;
  const std::span<double> here = std::span(terms).first(rows.size());
  family_->terms(batch, here);
  weigh(rows, {here});
  double total = 0;
  for (const double term : here) total += term;
  return total;
}

double Glm::log_likelihood(Params theta, Rows rows) const noexcept {
  const Coefficients beta(theta, store_);
  Rows256 block;
  double total = 0;
  for (std::size_t first = 0; first < rows.size(); first += block_rows) {
    const std::size_t count = std::min(block_rows, rows.size() - first);
    load(beta, rows.part(first, count), block);
    total += sum(block.batch(count, log_second(theta)), rows.part(first, count));
  }
  return total;
}

void Glm::log_likelihood_differences(Params from, Params to, std::span<const RowId> ids,
                                     std::span<double> differences) const noexcept {
  const Coefficients from_beta(from, store_), to_beta(to, store_);
  std::array<double, pair_rows> from_eta, to_eta, y;
  for (std::size_t first = 0; first < ids.size(); first += pair_rows) {
    const std::size_t count = std::min(pair_rows, ids.size() - first);
    store_.predictor_pairs(ids.subspan(first), count, from_beta, to_beta, from_eta, to_eta);
    store_.responses(Rows(ids.subspan(first, count)), y);
    family_->differences({{from_eta.data(), count}, {y.data(), count}, log_second(from)},
                         {{to_eta.data(), count}, {y.data(), count}, log_second(to)},
                         differences.subspan(first, count));
    if (weighted()) weigh(Rows(ids.subspan(first, count)), {differences.subspan(first, count)});
  }
}

namespace {

struct DerivativeBlock {
  std::array<double, block_rows> first, second, aux, aux_second, aux_eta;
  BatchDerivatives spans(std::size_t count) {
    return {{first.data(), count},
            {second.data(), count},
            {aux.data(), count},
            {aux_second.data(), count},
            {aux_eta.data(), count}};
  }
};

}  // namespace

// Through eta: with t = eta - e and a the change of the second parameter's log,
// q = f_e t + f_a a + (f_ee t^2 + 2 f_ea t a + f_aa a^2) / 2, derivatives at the centre. Its difference
// between the two points is taken factor by factor, (t'^2 - t^2) = (t' - t)(t' + t), so that a short step
// loses no digits.
void Glm::log_likelihood_remainders(Params centre, Params from, Params to, std::span<const RowId> ids,
                                    std::span<double> remainders) const noexcept {
  const Coefficients beta(centre, store_), from_beta(from, store_), to_beta(to, store_);
  const double a = log_second(centre), from_a = log_second(from), to_a = log_second(to);
  std::array<double, block_rows> from_eta, to_eta;
  Rows256 block;
  DerivativeBlock f;
  for (std::size_t first = 0; first < ids.size(); first += block_rows) {
    const std::size_t count = std::min(block_rows, ids.size() - first);
    store_.predictor_pairs(ids.subspan(first), count, from_beta, to_beta, from_eta, to_eta);
    load(beta, Rows(ids.subspan(first, count)), block);
    const std::span<const double> y(block.y.data(), count);
    const std::span<double> out = remainders.subspan(first, count);
    family_->differences({{from_eta.data(), count}, y, from_a}, {{to_eta.data(), count}, y, to_a}, out);
    family_->derivatives(block.batch(count, a), f.spans(count));
    for (std::size_t k = 0; k < count; ++k) {
      const double change = to_eta[k] - from_eta[k];
      const double middle = 0.5 * ((to_eta[k] - block.eta[k]) + (from_eta[k] - block.eta[k]));
      double expansion = change * (f.first[k] + f.second[k] * middle);
      if (family_->estimates_second()) {
        const double a_change = to_a - from_a;
        const double a_middle = 0.5 * ((to_a - a) + (from_a - a));
        // t'a' - t a = (t' - t) (a' + a)/2 + (a' - a) (t' + t)/2
        expansion += a_change * (f.aux[k] + f.aux_second[k] * a_middle) +
                     f.aux_eta[k] * (change * a_middle + a_change * middle);
      }
      out[k] -= expansion;
    }
    if (weighted()) weigh(Rows(ids.subspan(first, count)), {out});
  }
}

// The family's derivatives, weighed; returns the sum of the terms.
double Glm::derivatives(Rows rows, const Batch& batch, const BatchDerivatives& f) const noexcept {
  double value = family_->derivatives(batch, f);
  if (!weighted()) return value;
  std::array<double, block_rows> terms;
  const std::span<double> here = std::span(terms).first(rows.size());
  family_->terms(batch, here);
  if (family_->estimates_second())
    weigh(rows, {here, f.first, f.second, f.aux, f.aux_second, f.aux_eta});
  else
    weigh(rows, {here, f.first, f.second});
  value = 0;
  for (const double term : here) value += term;
  return value;
}

void Glm::gradients(Params theta, Rows rows, Eigen::MatrixXd& out) const {
  out.resize(static_cast<Eigen::Index>(rows.size()), static_cast<Eigen::Index>(dim()));
  const Coefficients beta(theta, store_);
  Rows256 block;
  DerivativeBlock f;
  for (std::size_t first = 0; first < rows.size(); first += block_rows) {
    const std::size_t count = std::min(block_rows, rows.size() - first);
    const Rows part = rows.part(first, count);
    load(beta, part, block);
    static_cast<void>(derivatives(part, block.batch(count, log_second(theta)), f.spans(count)));
    store_.scaled_rows(part, f.first, out, first);
    if (family_->estimates_second())
      for (std::size_t k = 0; k < count; ++k)
        out(static_cast<Eigen::Index>(first + k), static_cast<Eigen::Index>(columns())) = f.aux[k];
  }
}

void Glm::add_derivatives(Params theta, Rows rows, Derivatives& d) const {
  const std::size_t p = columns();
  const bool second = family_->estimates_second();
  const auto last = static_cast<Eigen::Index>(p);
  const Coefficients beta(theta, store_);
  Rows256 block;
  DerivativeBlock f;
  MomentSums sums(store_, true), cross_sums(store_, false);
  for (std::size_t first = 0; first < rows.size(); first += block_rows) {
    const std::size_t count = std::min(block_rows, rows.size() - first);
    const Rows part = rows.part(first, count);
    load(beta, part, block);
    d.value += derivatives(part, block.batch(count, log_second(theta)), f.spans(count));
    for (std::size_t k = 0; k < count; ++k) f.second[k] = -f.second[k];
    sums.add(part, f.first, f.second);
    if (second) {
      for (std::size_t k = 0; k < count; ++k) {
        d.gradient[last] += f.aux[k];
        d.information(last, last) -= f.aux_second[k];
      }
      cross_sums.add(part, f.aux_eta, {});
    }
  }
  std::vector<double> gradient(p, 0.0), cross(p, 0.0);
  std::vector<double> information(p * p, 0.0);  // upper triangle
  sums.finish(gradient, information);
  if (second) cross_sums.finish(cross, {});
  for (std::size_t j = 0; j < p; ++j) {
    const auto row = static_cast<Eigen::Index>(j);
    d.gradient[row] += gradient[j];
    d.information(row, row) += information[j * p + j];
    for (std::size_t m = j + 1; m < p; ++m) {
      const auto column = static_cast<Eigen::Index>(m);
      d.information(row, column) += information[j * p + m];
      d.information(column, row) += information[j * p + m];
    }
    if (second) {
      d.information(row, last) -= cross[j];
      d.information(last, row) -= cross[j];
    }
  }
}

// ---- the start of the search for the mode, and whether there is a mode

Eigen::VectorXd Glm::start() const {
  const StartingPoint point = family_->start(design());
  Eigen::VectorXd theta(static_cast<Eigen::Index>(dim()));
  std::copy(point.coefficients.begin(), point.coefficients.end(), theta.begin());
  if (family_->estimates_second()) theta[static_cast<Eigen::Index>(columns())] = point.log_second;
  return theta;
}

std::string Glm::degenerate(Params theta, const Derivatives& at, bool with_prior) const {
  if (!family_->estimates_second()) return {};
  const SecondParameter& second = *family_->spec().second;
  if (second.scale && rows() <= columns())
    return fmt::format(
        "{} row{} for {} coefficients: the columns can predict the response \"{}\" exactly, and the posterior "
        "of {} has no mode; state it (`family gaussian-mean` or `family student`, with `known-sigma`)",
        rows(), rows() == 1 ? "" : "s", columns(), design().response, second.name);
  if (second.share && with_prior) return {};  // every prior of it is proper
  if (second.needs_prior && with_prior) {
    if (layout_.blocks().back().priors[0].proper()) return {};
    const std::string name(second.name);
    return "with a flat prior on " + name + " there is no posterior: the likelihood does not vanish as " +
           name + " grows; give it a proper prior (`prior-for " + name + " gamma(2, 0.1)`)";
  }
  return family_->degenerate(design(), log_second(theta), at.gradient[static_cast<Eigen::Index>(columns())]);
}

bool Glm::recedes(Params direction, Rows rows) const {
  const Coefficients beta(direction, store_);
  double length = 0;
  for (std::size_t j = 0; j < columns(); ++j) length += direction[j] * direction[j];
  if (length == 0) return false;
  // Rows on the border (quasi-separation) have x'd = 0 up to the direction's own error.
  const double tolerance = 1e-4 * std::sqrt(length);
  std::array<double, block_rows> t, y;
  for (std::size_t first = 0; first < rows.size(); first += block_rows) {
    const std::size_t count = std::min(block_rows, rows.size() - first);
    const Rows part = rows.part(first, count);
    store_.products(beta, part, t);
    store_.responses(part, y);
    if (!family_->recedes({y.data(), count}, {t.data(), count}, tolerance)) return false;
  }
  return true;
}

}  // namespace mlo
