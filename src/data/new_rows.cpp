// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/new_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>

#include "data/csv_text.hpp"
#include "data/design_terms.hpp"
#include "data/formula_syntax.hpp"
#include "data/row_cells.hpp"
#include "data/values.hpp"
#include "mlo/base/errors.hpp"

namespace mlo {
namespace {

void add_names(std::span<const Expression> expressions, std::vector<std::string>& out) {
  for (const Expression& expression : expressions)
    syntax::for_each_name(expression, [&](const Expression& name) {
      if (std::find(out.begin(), out.end(), name.name) == out.end()) out.push_back(name.name);
    });
}

}  // namespace

std::vector<std::string> columns_of_rows(const Formula& formula, bool response) {
  std::vector<std::string> out;
  if (response) add_names({&formula.response, 1}, out);
  for (const Term& term : formula.terms) add_names(term.factors, out);
  add_names(formula.offsets, out);
  return out;
}

void check_header(const std::string& data, std::span<const std::string> header,
                  std::span<const std::string> wanted) {
  for (const std::string& name : wanted)
    if (std::find(header.begin(), header.end(), name) == header.end())
      throw DataError(data, fmt::format("the fit needs it: {}", syntax::unknown_column(name, header)));
}

struct NewRows::Impl {
  // Columns that share a product of numbers; in those of factors, which of them a cell has values in.
  struct Part {
    NumberProduct product;
    std::vector<std::size_t> factors, strides;  // variables
    std::size_t column = 0;                     // without factors
    std::vector<std::vector<std::pair<std::size_t, double>>> of_cell;
  };

  const Formula& formula;
  const Table& table;
  NewRowOptions options;
  Recipe recipe;
  RecordPlan plan;
  std::vector<Part> parts;
  std::vector<ValuesPtr> offsets;
  ValuesPtr response;
  RowCells cells{table};

  Impl(const Formula& f, const Recipe& r, const Table& t, const NewRowOptions& o)
      : formula(f), table(t), options(o), recipe(r) {
    const std::size_t learnt = recipe.learnt.size();
    Binder binder(formula, table, recipe.learnt);
    if (options.response) {
      response = binder.bind(formula.response);
      response = response->type == Values::Type::factor ? binder.variable(formula.response)
                                                        : binder.number(formula.response, "the response");
    }
    for (const Expression& offset : formula.offsets)
      offsets.push_back(binder.number(offset.arguments[0], "offset()"));
    plan = plan_records(formula, binder);
    for (Variable& variable : plan.variables)
      std::fill(variable.level_counts.begin(), variable.level_counts.end(), std::size_t{1});
    if (recipe.learnt.size() != learnt) refuse_recipe();
    make_parts();
  }

  [[noreturn]] void refuse_recipe() const {
    throw DataError(
        table.source.name,
        "a column has another type than in the data of the fit: text instead of numbers, or numbers "
        "instead of text");
  }

  // Columns have the names that they had in the fit; those that it left out stay out.
  void make_parts() {
    std::map<std::string, std::size_t> place;
    for (std::size_t j = 0; j < recipe.names.size(); ++j) place.emplace(recipe.names[j], j);
    constexpr std::size_t none = static_cast<std::size_t>(-1);
    std::size_t found = formula.intercept ? 1 : 0;
    for (const TermPlan& term : plan.terms) {
      const TermColumns columns_of_term(plan, term);
      std::vector<std::size_t> places;
      for (std::size_t c = 0; c < columns_of_term.size(); ++c) {
        const auto at = place.find(columns_of_term.name(c));
        places.push_back(at == place.end() ? none : at->second);
        if (at != place.end()) ++found;
      }
      for (std::size_t p = 0; p < term.parts.size(); ++p) {
        const std::size_t start = columns_of_term.first_of_part(p);
        Part part;
        if (!has_factor(plan, term)) {
          part.product = plan.dense[term.parts[p]];
          part.column = places[start];
          if (part.column == none) refuse_recipe();
          parts.push_back(std::move(part));
          continue;
        }
        const BlockPlan& block = plan.blocks[term.parts[p]];
        if (block.multiplier != LevelBlock::no_number) part.product = plan.multipliers[block.multiplier];
        part.factors = block.factors;
        part.strides = block.strides;
        part.of_cell.resize(block.cells);
        for (std::size_t cell = 0; cell < block.cells; ++cell)
          for (const auto& [column, value] : columns_of_term.of_cell(cell))
            if (places[start + column] != none)
              part.of_cell[cell].emplace_back(places[start + column], value);
        parts.push_back(std::move(part));
      }
    }
    if (found != recipe.names.size()) refuse_recipe();
  }

  // A row with a value that is not a finite number is not complete if a cell is missing, and a mistake
  // otherwise.
  void look_at(const Expression& e, std::span<const double> values, std::size_t first,
               std::span<char> complete) const {
    for (std::size_t i = 0; i < complete.size(); ++i) {
      if (std::isfinite(values[i]) || complete[i] == 0) continue;
      if (std::isnan(values[i]) && cells.any_missing(e, first + i)) {
        refuse_missing(e, first + i);
        complete[i] = 0;
        continue;
      }
      // The sign of a NaN means nothing, yet it would be printed.
      throw DataError(
          table.source.place(first + i),
          fmt::format("{} is {} ({})", deparse(e), std::isnan(values[i]) ? std::fabs(values[i]) : values[i],
                      cells.words({&e, 1}, first + i)));
    }
  }
  void look_at(const Expression& e, std::span<const std::uint32_t> codes, std::size_t first,
               std::span<char> complete) const {
    for (std::size_t i = 0; i < complete.size(); ++i) {
      if (codes[i] != missing_level || complete[i] == 0) continue;
      refuse_missing(e, first + i);
      complete[i] = 0;
    }
  }
  // Once it is known which rows have a missing cell: in these, a new level is no mistake.
  void look_for_new_levels(const Expression& e, const Values& values, std::span<const std::uint32_t> codes,
                           std::size_t first, std::span<char> complete) const {
    for (std::size_t i = 0; i < complete.size(); ++i) {
      if (codes[i] != unknown_level || complete[i] == 0) continue;
      if (options.new_levels == NewLevels::error) {
        const std::size_t shown = std::min<std::size_t>(values.levels.size(), 8);
        throw DataError(
            table.source.place(first + i),
            fmt::format("{} has a level that the data of the fit did not have ({}); its levels are {}{}. "
                        "`new-levels missing` leaves such rows without a prediction",
                        deparse(e), cells.words({&e, 1}, first + i),
                        fmt::join(values.levels.begin(),
                                  values.levels.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                        shown < values.levels.size() ? ", ..." : ""));
      }
      complete[i] = 0;
    }
  }
  void refuse_missing(const Expression& e, std::size_t row) const {
    if (options.missing == Missing::drop) return;
    std::vector<std::string> names;
    add_names({&e, 1}, names);
    for (const std::string& name : names)
      if (cells.is_missing(name, row))
        throw DataError(table.source.place(row),
                        fmt::format("column \"{}\": the cell is empty or NA (`missing error`)", name));
    throw DataError(table.source.place(row),
                    fmt::format("{} has none of its levels here (`missing error`)", deparse(e)));
  }
};

NewRows::NewRows(const Formula& formula, const Recipe& recipe, const Table& table,
                 const NewRowOptions& options)
    : impl_(std::make_unique<Impl>(formula, recipe, table, options)) {}
NewRows::~NewRows() = default;

std::size_t NewRows::rows() const noexcept { return impl_->table.rows; }
std::size_t NewRows::dim() const noexcept { return impl_->recipe.names.size(); }
std::string NewRows::place(std::size_t row) const { return impl_->table.source.place(row); }

void NewRows::fill(std::size_t first, const Block& out) const {
  const Impl& m = *impl_;
  const std::size_t count = out.complete.size(), p = dim();
  assert(out.x.size() == count * p && out.offsets.size() == count && first + count <= rows());
  std::fill(out.complete.begin(), out.complete.end(), char{1});
  std::vector<double> column(count);
  std::fill(out.offsets.begin(), out.offsets.end(), 0.0);
  for (std::size_t k = 0; k < m.offsets.size(); ++k) {
    m.offsets[k]->numbers(first, count, column);
    m.look_at(m.formula.offsets[k], column, first, out.complete);
    for (std::size_t i = 0; i < count; ++i) out.offsets[i] += column[i];
  }
  std::vector<std::uint32_t> response_codes;
  if (m.response && m.response->type == Values::Type::factor) {
    response_codes.resize(count);
    m.response->codes(first, response_codes);
    m.look_at(m.formula.response, response_codes, first, out.complete);
    for (std::size_t i = 0; i < count; ++i) out.y[i] = static_cast<double>(response_codes[i]);
  } else if (m.response) {
    m.response->numbers(first, count, out.y);
    m.look_at(m.formula.response, out.y, first, out.complete);
  }
  std::vector<std::vector<double>> numbers(m.plan.variables.size());
  std::vector<std::vector<std::uint32_t>> codes(m.plan.variables.size());
  for (std::size_t v = 0; v < m.plan.variables.size(); ++v) {
    const Variable& variable = m.plan.variables[v];
    if (variable.is_factor()) {
      codes[v].resize(count);
      variable.values->codes(first, codes[v]);
      m.look_at(variable.expression, codes[v], first, out.complete);
    } else {
      numbers[v].resize(count * variable.values->width);
      variable.values->numbers(first, count, numbers[v]);
      for (std::size_t c = 0; c < variable.values->width; ++c)
        m.look_at(variable.expression, std::span(numbers[v]).subspan(c * count, count), first, out.complete);
    }
  }
  if (!response_codes.empty())
    m.look_for_new_levels(m.formula.response, *m.response, response_codes, first, out.complete);
  for (std::size_t v = 0; v < m.plan.variables.size(); ++v)
    if (const Variable& variable = m.plan.variables[v]; variable.is_factor())
      m.look_for_new_levels(variable.expression, *variable.values, codes[v], first, out.complete);
  std::fill(out.x.begin(), out.x.end(), 0.0);
  for (std::size_t i = 0; i < count; ++i) {
    double* const row = out.x.data() + i * p;
    if (out.complete[i] == 0) {
      out.offsets[i] = 0;
      if (!out.y.empty()) out.y[i] = 0;
      continue;
    }
    if (m.formula.intercept) row[0] = 1;
    for (const auto& part : m.parts) {
      double product = 1;
      for (const auto& [v, c] : part.product.parts) product *= numbers[v][c * count + i];
      if (!std::isfinite(product)) throw DataError(place(first + i), "a product of columns is not finite");
      if (part.factors.empty()) {
        row[part.column] = product;
        continue;
      }
      std::size_t cell = 0;
      for (std::size_t f = 0; f < part.factors.size(); ++f)
        cell += part.strides[f] * codes[part.factors[f]][i];
      for (const auto& [j, value] : part.of_cell[cell]) row[j] = value * product;
    }
    for (std::size_t j = 0; j < p; ++j) row[j] = (row[j] - m.recipe.origin[j]) / m.recipe.unit[j];
  }
}

}  // namespace mlo
