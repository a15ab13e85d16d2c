// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/factor_glm.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mlo {
namespace {

constexpr std::uint32_t none = FactorBlock::none;

// A block as a factor in treatment contrasts. Without levels: it is not one.
FactorBlock factor_of(const Design& design, std::size_t at) {
  const LevelBlock& block = design.blocks[at];
  FactorBlock out;
  if (block.fields.size() != 1 || block.number != LevelBlock::no_number) return out;
  if (block.cells < least_factor_levels) return out;
  std::vector<std::size_t> rows(block.cells, 0);
  for (std::size_t i = 0; i < design.rows; ++i) ++rows[block.cell(design.row(i))];
  std::vector<char> seen(design.dim, 0);
  std::size_t bases = 0;
  out.level_of_cell.assign(block.cells, none);
  for (std::size_t cell = 0; cell < block.cells; ++cell) {
    if (rows[cell] == 0) continue;
    const std::size_t entries = block.starts[cell + 1] - block.starts[cell], entry = block.starts[cell];
    if (entries > 1) return {};
    out.level_of_cell[cell] = static_cast<std::uint32_t>(out.levels());
    if (entries == 0) {
      ++bases;
      out.base = out.levels();
    } else if (block.values[entry] == 0 || std::exchange(seen[block.columns[entry]], 1) != 0) {
      return {};
    }
    out.column.push_back(entries == 0 ? none : block.columns[entry]);
    out.value.push_back(entries == 0 ? 0 : block.values[entry]);
    out.rows.push_back(rows[cell]);
  }
  if (bases != 1 || out.levels() < least_factor_levels) return {};
  out.block = at;
  return out;
}

// Combinations of levels that occur; at most as many as there are rows.
std::size_t count_cells(const Design& design, const std::vector<FactorBlock>& factors) {
  constexpr double most = 1 << 27;
  double product = 1;
  for (const FactorBlock& factor : factors) product *= static_cast<double>(factor.levels());
  if (factors.size() == 1) return factors[0].levels();
  if (product > most) return design.rows;
  std::vector<bool> seen(static_cast<std::size_t>(product), false);
  std::size_t count = 0;
  for (std::size_t i = 0; i < design.rows; ++i) {
    std::size_t cell = 0;
    for (const FactorBlock& factor : factors)
      cell = cell * factor.levels() +
             factor.level_of_cell[design.blocks[factor.block].fields[0].read(design.row(i))];
    if (seen[cell]) continue;
    seen[cell] = true;
    ++count;
  }
  return count;
}

// The rows with the columns that are left, the factors as groups and the constant as offset.
Design grouped_design(const Design& from, const FactorChoice& choice, double constant) {
  Design out;
  out.source = from.source;
  out.rows = from.rows;
  out.dim = choice.columns.size();
  out.has_offset = true;
  out.has_weight = from.has_weight;
  out.shares = from.shares;
  out.stride = out.dim + (out.has_weight ? 3U : 2U);
  out.dense.resize(out.dim);
  std::iota(out.dense.begin(), out.dense.end(), std::size_t{0});
  for (const std::size_t j : choice.columns) out.names.push_back(from.names[j]);
  out.shift.assign(out.dim, 0);
  out.divisor.assign(out.dim, 1);
  std::vector<std::size_t> place(from.dim, out.dim);
  for (std::size_t j = 0; j < out.dim; ++j) place[choice.columns[j]] = j;
  std::vector<char> chosen(from.blocks.size(), 0);
  for (const FactorBlock& factor : choice.factors) chosen[factor.block] = 1;
  out.x.resize(out.rows * out.stride + Design::row_padding);
  for (std::size_t i = 0; i < out.rows; ++i) {
    const double* const record = from.row(i);
    double* const to = out.x.data() + i * out.stride;
    for (std::size_t j = 0; j < out.dim; ++j)
      to[j] = -from.shift[choice.columns[j]] / from.divisor[choice.columns[j]];
    for (std::size_t d = 0; d < from.dense.size(); ++d)
      if (place[from.dense[d]] < out.dim) to[place[from.dense[d]]] = record[d];
    for (std::size_t b = 0; b < from.blocks.size(); ++b) {
      if (chosen[b] != 0) continue;
      const LevelBlock& block = from.blocks[b];
      const std::size_t cell = block.cell(record);
      for (std::size_t e = block.starts[cell]; e < block.starts[cell + 1]; ++e) {
        const std::size_t j = block.columns[e];
        to[place[j]] = (block.values[e] * block.factor(record) - from.shift[j]) / from.divisor[j];
      }
    }
    to[out.dim] = from.y(i);
    to[out.dim + 1] = constant + (from.has_offset ? from.offset(i) : 0);
    if (out.has_weight) to[out.dim + 2] = from.weight(i);
  }
  for (const FactorBlock& factor : choice.factors) {
    GroupDesign group;
    group.name = from.names[factor.column[factor.base == 0 ? 1 : 0]];
    group.levels.resize(factor.levels());
    group.effects = {"Intercept"};
    group.codes.resize(out.rows);
    const LevelBlock& block = from.blocks[factor.block];
    for (std::size_t i = 0; i < out.rows; ++i) group.codes[i] = factor.level_of_cell[block.cell(from.row(i))];
    out.groups.push_back(std::move(group));
  }
  return out;
}

// The coefficients of the columns that are left.
Layout layout_of(const Block& block, const std::vector<std::size_t>& columns) {
  Block out;
  for (const std::size_t j : columns) {
    out.names.push_back(block.names[j]);
    out.priors.push_back(block.priors[j]);
    out.centre.push_back(block.centre[j]);
    out.scale.push_back(block.scale[j]);
  }
  return Layout({std::move(out)});
}

}  // namespace

std::size_t FactorChoice::levels() const noexcept {
  std::size_t sum = 0;
  for (const FactorBlock& factor : factors) sum += factor.levels();
  return sum;
}

FactorChoice choose_factors(const Glm& glm) {
  // More columns than this would cost more than they save: each level has three products with them per sweep.
  constexpr std::size_t most_columns_left = 100, most_factors = 8;
  const Design& design = glm.design();
  const Family& family = glm.family();
  FactorChoice out;
  if (!design.intercept || family.estimates_second() || family.curve() == nullptr ||
      !family.spec().log_concave)
    return out;
  for (std::size_t b = 0; b < design.blocks.size(); ++b) {
    FactorBlock factor = factor_of(design, b);
    if (factor.levels() > 0) out.factors.push_back(std::move(factor));
  }
  std::stable_sort(out.factors.begin(), out.factors.end(),
                   [](const FactorBlock& a, const FactorBlock& b) { return a.levels() > b.levels(); });
  if (out.factors.size() > most_factors) out.factors.resize(most_factors);
  std::vector<char> taken(design.dim, 0);
  taken[0] = 1;
  for (const FactorBlock& factor : out.factors)
    for (const std::uint32_t j : factor.column)
      if (j != none && std::exchange(taken[j], 1) != 0) return {};
  for (std::size_t j = 0; j < design.dim; ++j)
    if (taken[j] == 0) out.columns.push_back(j);
  if (out.factors.empty() || out.columns.size() > most_columns_left) return {};
  out.cells = count_cells(design, out.factors);
  return out;
}

FactorGlm::FactorGlm(const Glm& glm, FactorChoice choice, Params at, double information)
    : glm_(&glm), columns_(choice.columns) {
  const Design& design = glm.design();
  const Block& block = glm.layout().blocks()[0];
  const bool at_means = block.intercept_at_means;
  // Wide enough that the law of the means does not hold the levels, and no wider: the bounds grow with it.
  spread_ = 3 / std::sqrt(information);
  constant_ = at[0];
  for (const std::size_t j : columns_)
    intercept_by_column_.push_back(at_means ? 0 : -block.centre[j] / block.scale[j]);
  std::vector<GroupCovariance> covariances;
  for (const FactorBlock& factor : choice.factors) {
    Map map;
    map.base = factor.base;
    map.column = factor.column;
    double centres = 0, intercepts = 0, precision = 0;
    for (std::size_t l = 0; l < factor.levels(); ++l) {
      map.share.push_back(static_cast<double>(factor.rows[l]) / static_cast<double>(design.rows));
      const std::uint32_t j = factor.column[l];
      if (j == none) {
        for (auto* const v : {&map.working, &map.user, &map.centre, &map.intercept}) v->push_back(0);
        map.normal.push_back(1);
        continue;
      }
      const double working = design.divisor[j] / factor.value[l], user = working / block.scale[j];
      const double centre = design.shift[j] / factor.value[l];
      map.working.push_back(working);
      map.user.push_back(user);
      map.centre.push_back(centre);
      map.intercept.push_back(centre - (at_means ? 0 : user * block.centre[j]));
      centres += centre;
      intercepts += map.intercept.back();
      const Prior& own = block.priors[j];
      map.normal.push_back(own.kind() == Prior::Kind::normal ? 1 : 0);
      if (own.proper()) precision += user * user / (own.scale() * own.scale());
    }
    map.normal[map.base] = *std::min_element(map.normal.begin(), map.normal.end());
    map.centre[map.base] = 1 - centres;
    map.intercept[map.base] = 1 - intercepts;
    map.omega = std::max(precision / static_cast<double>(factor.levels() - 1), 1e-8);
    covariances.emplace_back(std::vector{Prior::flat()}, false, 1.0);
    maps_.push_back(std::move(map));
  }
  Design rows = grouped_design(design, choice, constant_);
  // The family outlives it, as the model does.
  const std::shared_ptr<const Family> family(std::shared_ptr<const void>(), &glm.family());
  grouped_ = std::make_unique<GroupedModel>(LevelRows(rows), family, layout_of(block, columns_),
                                            std::move(covariances));
}

const Prior& FactorGlm::prior(std::uint32_t column) const noexcept {
  return glm_->layout().blocks()[0].priors[column];
}

void FactorGlm::to_groups(Params theta, std::span<const double> means, GroupedPoint& out) const {
  out.coefficients.resize(columns_.size());
  for (std::size_t j = 0; j < columns_.size(); ++j) out.coefficients[j] = theta[columns_[j]];
  out.covariances.resize(maps_.size());
  out.effects.resize(maps_.size());
  // The predictor of rows of all bases, without the other columns.
  double base = theta[0] - constant_;
  for (std::size_t k = maps_.size(); k-- > 0;) {
    const Map& map = maps_[k];
    std::vector<double>& b = out.effects[k];
    b.assign(map.column.size(), 0);
    for (std::size_t l = 0; l < b.size(); ++l) {
      if (l == map.base) continue;
      b[l] = theta[map.column[l]] / map.working[l];
      base -= map.centre[l] * b[l];
    }
    out.covariances[k].assign(1, -0.5 * std::log(map.omega));
  }
  for (std::size_t k = maps_.size(); k-- > 0;) {
    std::vector<double>& b = out.effects[k];
    const double shift = k == 0 ? base : means[k - 1] - mean_of(k, b);
    for (double& effect : b) effect += shift;
    base -= shift;
  }
}

void FactorGlm::to_theta(const GroupedPoint& from, std::span<double> theta) const {
  for (std::size_t j = 0; j < columns_.size(); ++j) theta[columns_[j]] = from.coefficients[j];
  theta[0] = constant_;
  for (std::size_t k = 0; k < maps_.size(); ++k) {
    const Map& map = maps_[k];
    const std::vector<double>& b = from.effects[k];
    for (std::size_t l = 0; l < b.size(); ++l) {
      theta[0] += map.centre[l] * b[l];
      if (l != map.base) theta[map.column[l]] = map.working[l] * (b[l] - b[map.base]);
    }
  }
}

double FactorGlm::intercept_of(const GroupedPoint& at) const noexcept {
  double sum = constant_;
  for (std::size_t j = 0; j < columns_.size(); ++j) sum += intercept_by_column_[j] * at.coefficients[j];
  for (std::size_t k = 0; k < maps_.size(); ++k)
    for (std::size_t l = 0; l < at.effects[k].size(); ++l) sum += maps_[k].intercept[l] * at.effects[k][l];
  return sum;
}

double FactorGlm::mean_of(std::size_t factor, std::span<const double> b) const noexcept {
  double sum = 0;
  for (std::size_t l = 0; l < b.size(); ++l) sum += maps_[factor].share[l] * b[l];
  return sum;
}

double FactorGlm::prior_of_means(std::size_t factor, double mean) const noexcept {
  return factor == 0 ? 0 : -0.5 * (mean / spread_) * (mean / spread_);
}

double FactorGlm::excess(const GroupedPoint& at) const {
  double sum = prior(0).log_density(intercept_of(at));
  for (std::size_t k = 0; k < maps_.size(); ++k) {
    const Map& map = maps_[k];
    const std::vector<double>& b = at.effects[k];
    for (std::size_t l = 0; l < b.size(); ++l) {
      sum += 0.5 * map.omega * b[l] * b[l];
      if (l != map.base) sum += prior(map.column[l]).log_density(map.user[l] * (b[l] - b[map.base]));
    }
    sum += prior_of_means(k, mean_of(k, b));
  }
  return sum;
}

FactorGlm::Sweep::Sweep(const FactorGlm& model, const GroupedPoint& at, std::size_t factor)
    : model_(&model),
      factor_(factor),
      b_(at.effects[factor]),
      intercept_(model.intercept_of(at)),
      mean_(model.mean_of(factor, b_)) {}

double FactorGlm::Sweep::change(std::size_t level, double delta) const noexcept {
  const Map& map = model_->maps_[factor_];
  const double here = b_[level], to = here + delta;
  const Prior& intercept = model_->prior(0);
  double sum = 0.5 * map.omega * delta * (to + here) +
               intercept.log_density(intercept_ + map.intercept[level] * delta) -
               intercept.log_density(intercept_) +
               model_->prior_of_means(factor_, mean_ + map.share[level] * delta) -
               model_->prior_of_means(factor_, mean_);
  const auto coefficient = [&](std::size_t l, double difference) {
    return model_->prior(map.column[l]).log_density(map.user[l] * difference);
  };
  if (level != map.base) {
    const double base = b_[map.base];
    return sum + coefficient(level, to - base) - coefficient(level, here - base);
  }
  for (std::size_t l = 0; l < b_.size(); ++l)
    if (l != map.base) sum += coefficient(l, b_[l] - to) - coefficient(l, b_[l] - here);
  return sum;
}

void FactorGlm::Sweep::move(std::size_t level, double delta) noexcept {
  const Map& map = model_->maps_[factor_];
  b_[level] += delta;
  intercept_ += map.intercept[level] * delta;
  mean_ += map.share[level] * delta;
}

FactorGlm::Sweep::Slope FactorGlm::Sweep::of_base(double effect) const noexcept {
  const Map& map = model_->maps_[factor_];
  const double delta = effect - b_[map.base];
  Slope out;
  const auto add = [&](const Prior& prior, double at, double along) {
    const Prior::Smooth smooth = prior.smooth(at);
    out.slope += along * smooth.slope;
    out.curvature += along * along * smooth.curvature;
  };
  add(model_->prior(0), intercept_ + map.intercept[map.base] * delta, map.intercept[map.base]);
  for (std::size_t l = 0; l < b_.size(); ++l)
    if (l != map.base) add(model_->prior(map.column[l]), map.user[l] * (b_[l] - effect), -map.user[l]);
  if (factor_ > 0) {
    const double share = map.share[map.base] / model_->spread_;
    out.slope -= share * (mean_ + map.share[map.base] * delta) / model_->spread_;
    out.curvature += share * share;
  }
  return out;
}

}  // namespace mlo
