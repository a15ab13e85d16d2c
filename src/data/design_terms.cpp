// Copyright (c) the mlo authors. BSD-3-Clause.
#include "data/design_terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "data/calendar.hpp"
#include "data/csv_text.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/base/text.hpp"

namespace mlo {
namespace {

constexpr std::size_t most_cells = 1U << 22U;

// R's rule: a factor of a term is coded by contrasts if the term without it is part of an earlier term (the
// intercept counts as earlier, whether it is there or not), and by one column per level otherwise.
bool needs_all_levels(const std::vector<TermPlan>& earlier, const std::vector<std::size_t>& variables,
                      std::size_t without) {
  std::vector<std::size_t> rest;
  for (const std::size_t v : variables)
    if (v != without) rest.push_back(v);
  if (rest.empty()) return false;
  std::sort(rest.begin(), rest.end());
  return std::none_of(earlier.begin(), earlier.end(), [&](const TermPlan& term) {
    std::vector<std::size_t> all = term.variables;
    std::sort(all.begin(), all.end());
    return std::includes(all.begin(), all.end(), rest.begin(), rest.end());
  });
}

template <class T>
std::size_t place_of(std::vector<T>& all, const T& one) {
  const auto found = std::find(all.begin(), all.end(), one);
  if (found != all.end()) return static_cast<std::size_t>(found - all.begin());
  all.push_back(one);
  return all.size() - 1;
}

// All combinations of columns of the numeric variables of a term, the first varying fastest.
std::vector<NumberProduct> number_products(const std::vector<Variable>& variables,
                                           const std::vector<std::size_t>& of_term) {
  std::vector<NumberProduct> products(1);
  for (const std::size_t v : of_term) {
    if (variables[v].is_factor()) continue;
    std::vector<NumberProduct> next;
    next.reserve(products.size() * variables[v].values->width);
    for (std::size_t c = 0; c < variables[v].values->width; ++c)
      for (const NumberProduct& product : products) {
        next.push_back(product);
        next.back().parts.emplace_back(v, c);
      }
    products = std::move(next);
  }
  return products;
}

void plan_term(RecordPlan& plan, TermPlan term) {
  std::vector<std::size_t> factors;
  for (const std::size_t v : term.variables)
    if (plan.variables[v].is_factor()) factors.push_back(v);
  for (const NumberProduct& product : number_products(plan.variables, term.variables)) {
    if (factors.empty()) {
      plan.dense.push_back(product);
      term.parts.push_back(plan.dense.size() - 1);
      continue;
    }
    BlockPlan block;
    block.factors = factors;
    for (const std::size_t v : factors) {
      block.strides.push_back(block.cells);
      block.cells *= plan.variables[v].values->levels.size();
      // Of one factor alone, the message about too many levels says more.
      if (block.cells > most_cells && factors.size() > 1)
        throw ModelError(
            fmt::format("an interaction has more than {} combinations of levels", grouped(most_cells)));
    }
    block.sums.resize(block.cells);
    if (!product.parts.empty()) block.multiplier = place_of(plan.multipliers, product);
    plan.blocks.push_back(std::move(block));
    term.parts.push_back(plan.blocks.size() - 1);
  }
  plan.terms.push_back(std::move(term));
}

Coded code_factor(const Variable& variable, bool full) {
  const Values& values = *variable.values;
  Coded out;
  out.of_level.resize(values.levels.size());
  std::vector<std::size_t> used;
  for (std::size_t l = 0; l < values.levels.size(); ++l)
    if (variable.level_counts[l] > 0) used.push_back(l);
  const auto column_per_level = [&](std::size_t without) {
    for (const std::size_t l : used) {
      if (l == without) continue;
      out.of_level[l].emplace_back(out.names.size(), 1.0);
      out.names.push_back(variable.name + values.levels[l]);
    }
  };
  if (full) {
    column_per_level(values.levels.size());
    return out;
  }
  if (used.size() < 2)
    throw ModelError(fmt::format(
        "{} has one level ({}) in the rows that are used: it says nothing; remove it from the formula",
        csv::quoted(variable.name), used.empty() ? "none" : csv::quoted(values.levels[used[0]])));
  switch (values.contrast) {
    case Contrast::treatment:
      column_per_level(variable.level_counts[values.base] > 0 ? values.base : used[0]);
      break;
    case Contrast::sum:
      for (std::size_t c = 0; c + 1 < used.size(); ++c) {
        out.of_level[used[c]].emplace_back(c, 1.0);
        out.of_level[used.back()].emplace_back(c, -1.0);
        out.names.push_back(fmt::format("{}{}", variable.name, c + 1));
      }
      break;
    case Contrast::helmert:
      for (std::size_t c = 0; c + 1 < used.size(); ++c) {
        for (std::size_t k = 0; k <= c; ++k) out.of_level[used[k]].emplace_back(c, -1.0);
        out.of_level[used[c + 1]].emplace_back(c, static_cast<double>(c + 1));
        out.names.push_back(fmt::format("{}{}", variable.name, c + 1));
      }
      break;
  }
  return out;
}

Coded code(const Variable& variable, bool full) {
  if (variable.is_factor()) return code_factor(variable, full);
  Coded out;
  if (variable.values->width == 1) out.names.push_back(variable.name);
  for (std::size_t c = 0; variable.values->width > 1 && c < variable.values->width; ++c)
    out.names.push_back(fmt::format("{}{}", variable.name, c + 1));
  return out;
}

}  // namespace

TermColumns::TermColumns(const RecordPlan& plan, const TermPlan& term) : plan_(plan), term_(term) {
  for (std::size_t k = 0; k < term.variables.size(); ++k) {
    coded_.push_back(code(plan.variables[term.variables[k]], term.full[k] != 0));
    strides_.push_back(size_);
    size_ *= coded_.back().names.size();
    if (size_ > most_cells) throw ModelError("an interaction has too many columns");
  }
}

std::string TermColumns::name(std::size_t column) const {
  std::string out;
  for (std::size_t k = 0; k < coded_.size(); ++k) {
    if (k > 0) out += ':';
    out += coded_[k].names[column / strides_[k] % coded_[k].names.size()];
  }
  return out;
}

std::size_t TermColumns::first_of_part(std::size_t part) const {
  std::size_t column = 0;
  for (std::size_t k = 0; k < coded_.size(); ++k) {
    if (plan_.variables[term_.variables[k]].is_factor()) continue;
    const std::size_t width = coded_[k].names.size();
    column += part % width * strides_[k];
    part /= width;
  }
  return column;
}

std::vector<std::pair<std::size_t, double>> TermColumns::of_cell(std::size_t cell) const {
  std::vector<std::pair<std::size_t, double>> out{{0, 1.0}};
  for (std::size_t k = 0; k < coded_.size(); ++k) {
    const Variable& variable = plan_.variables[term_.variables[k]];
    if (!variable.is_factor()) continue;
    const std::size_t levels = variable.values->levels.size();
    std::vector<std::pair<std::size_t, double>> next;
    for (const auto& [column, value] : out)
      for (const auto& [c, v] : coded_[k].of_level[cell % levels])
        next.emplace_back(column + c * strides_[k], value * v);
    cell /= levels;
    out = std::move(next);
  }
  return out;
}

namespace {

void check_levels(const Variable& variable, std::size_t max_levels, const std::string& data) {
  const auto used = static_cast<std::size_t>(std::count_if(
      variable.level_counts.begin(), variable.level_counts.end(), [](std::size_t n) { return n > 0; }));
  if (used <= max_levels) return;
  const std::vector<std::string>& levels = variable.values->levels;
  const std::string advice =
      calendar::is_iso_date(levels[0])
          ? fmt::format("these are dates, and these functions make numbers of them: {}",
                        calendar::field_names())
          : "if it is an identifier, leave it out; otherwise raise `max-levels`";
  throw DataError(data, fmt::format("{} has {} levels ({}, {}, ...), more than `max-levels` {} allows: {}",
                                    variable.name, grouped(used), csv::quoted(levels[0]),
                                    csv::quoted(levels[1]), grouped(max_levels), advice));
}

}  // namespace

std::vector<FactorLevels> list_factors(const RecordPlan& plan) {
  std::vector<FactorLevels> out;
  for (std::size_t v = 0; v < plan.variables.size(); ++v) {
    const Variable& variable = plan.variables[v];
    if (!variable.is_factor()) continue;
    FactorLevels entry;
    entry.name = variable.name;
    for (std::size_t l = 0; l < variable.level_counts.size(); ++l) {
      if (variable.level_counts[l] == 0)
        ++entry.unused;
      else
        entry.levels.push_back(variable.values->levels[l]);
    }
    const bool treatment = variable.values->contrast == Contrast::treatment;
    for (const TermPlan& term : plan.terms)
      for (std::size_t k = 0; k < term.variables.size(); ++k)
        if (term.variables[k] == v && term.full[k] == 0 && treatment && !entry.levels.empty())
          entry.base = variable.level_counts[variable.values->base] > 0
                           ? variable.values->levels[variable.values->base]
                           : entry.levels[0];
    out.push_back(std::move(entry));
  }
  return out;
}

bool has_factor(const RecordPlan& plan, const TermPlan& term) {
  return std::any_of(term.variables.begin(), term.variables.end(),
                     [&](std::size_t v) { return plan.variables[v].is_factor(); });
}

RecordPlan plan_records(const Formula& formula, Binder& binder) {
  RecordPlan plan;
  std::map<std::string, std::size_t> place;
  for (const Term& term : formula.terms) {
    TermPlan planned;
    for (const Expression& factor : term.factors) {
      const std::string name = deparse(factor);
      const auto [entry, is_new] = place.try_emplace(name, plan.variables.size());
      if (is_new) {
        plan.variables.push_back({.expression = factor, .name = name, .values = binder.variable(factor)});
        plan.variables.back().level_counts.assign(plan.variables.back().values->levels.size(), 0);
      }
      planned.variables.push_back(entry->second);
    }
    if (planned.variables.empty()) continue;  // the intercept
    for (const std::size_t v : planned.variables)
      planned.full.push_back(
          plan.variables[v].is_factor() && needs_all_levels(plan.terms, planned.variables, v) ? 1 : 0);
    plan_term(plan, std::move(planned));
  }
  // Without an intercept the first factor has a column for each level, as in R.
  if (!formula.intercept) {
    for (TermPlan& term : plan.terms)
      for (std::size_t k = 0; k < term.variables.size(); ++k)
        if (plan.variables[term.variables[k]].is_factor()) {
          term.full[k] = 1;
          return plan;
        }
  }
  return plan;
}

std::vector<ColumnSums> make_columns(const Formula& formula, const RecordPlan& plan,
                                     std::span<const std::size_t> number_slots, std::size_t max_levels,
                                     Design& design) {
  for (const Variable& variable : plan.variables)
    if (variable.is_factor()) check_levels(variable, max_levels, design.source.name);
  design.factors = list_factors(plan);
  if (formula.intercept) {
    design.names.emplace_back("(Intercept)");
    design.dense.push_back(0);
  }
  std::vector<std::string> names = design.names;
  std::vector<std::size_t> dense = design.dense;
  std::vector<ColumnSums> sums(names.size());
  std::vector<std::size_t> level_rows(names.size(), 0);
  for (const TermPlan& term : plan.terms) {
    const TermColumns columns(plan, term);
    const std::size_t first = names.size();
    if (first + columns.size() > most_cells) throw ModelError("the formula has too many columns");
    for (std::size_t c = 0; c < columns.size(); ++c) names.push_back(columns.name(c));
    sums.resize(names.size());
    level_rows.resize(names.size(), 0);
    for (std::size_t part = 0; part < term.parts.size(); ++part) {
      const std::size_t start = first + columns.first_of_part(part);
      if (!has_factor(plan, term)) {
        dense.push_back(start);
        continue;
      }
      const BlockPlan& block = plan.blocks[term.parts[part]];
      LevelBlock made;
      for (const std::size_t v : block.factors) made.fields.push_back(plan.variables[v].field);
      made.strides = block.strides;
      made.cells = block.cells;
      if (block.multiplier != LevelBlock::no_number) made.number = number_slots[block.multiplier];
      made.starts.push_back(0);
      for (std::size_t cell = 0; cell < block.cells; ++cell) {
        const CellSums& here = block.sums[cell];
        if (here.squares > 0) {
          for (const auto& [column, value] : columns.of_cell(cell)) {
            const std::size_t j = start + column;
            made.columns.push_back(static_cast<std::uint32_t>(j));
            made.values.push_back(value);
            sums[j].sum += value * here.sum;
            sums[j].squares += value * value * here.squares;
            level_rows[j] += static_cast<std::size_t>(here.rows);
          }
        }
        made.starts.push_back(static_cast<std::uint32_t>(made.columns.size()));
      }
      design.blocks.push_back(std::move(made));
    }
  }
  // Leave out the columns of blocks that are 0 in every row.
  std::vector<std::size_t> place(names.size());
  std::vector<char> is_dense(names.size(), 0);
  for (const std::size_t j : dense) is_dense[j] = 1;
  std::size_t kept = 0;
  for (std::size_t j = 0; j < names.size(); ++j) {
    place[j] = kept;
    if (is_dense[j] == 0 && sums[j].squares == 0) {
      design.empty_columns.push_back(names[j]);
      continue;
    }
    names[kept] = names[j];
    sums[kept] = sums[j];
    level_rows[kept] = level_rows[j];
    ++kept;
  }
  names.resize(kept);
  sums.resize(kept);
  level_rows.resize(kept);
  for (std::size_t& j : dense) j = place[j];
  for (LevelBlock& block : design.blocks)
    for (std::uint32_t& j : block.columns) j = static_cast<std::uint32_t>(place[j]);
  if (kept > most_columns)
    throw ModelError(fmt::format(
        "the formula has {} columns; a fit can have at most {}: leave a factor or an interaction out",
        grouped(kept), grouped(most_columns)));
  design.names = std::move(names);
  design.dense = std::move(dense);
  design.level_rows = std::move(level_rows);
  design.dim = kept;
  return sums;
}

}  // namespace mlo
