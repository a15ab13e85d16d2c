// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/new_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <optional>

#include "data/csv_text.hpp"
#include "data/design_groups.hpp"
#include "data/design_terms.hpp"
#include "data/formula_syntax.hpp"
#include "data/plain_rows.hpp"
#include "data/row_cells.hpp"
#include "data/values.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/data/outcome.hpp"

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
  for (const GroupTerm& group : formula.groups) {
    for (const Term& effect : group.effects) add_names(effect.factors, out);
    add_names(group.grouping.factors, out);
  }
  return out;
}

bool only_levels_matter(const Formula& formula, std::string_view column) {
  using Kind = Expression::Kind;
  const auto is_it = [&](const Expression& e) { return e.kind == Kind::name && e.name == column; };
  const auto mentions = [&](const Expression& e) {
    bool found = false;
    syntax::for_each_name(e, [&](const Expression& name) { found = found || name.name == column; });
    return found;
  };
  const auto is_factor_of_it = [&](const Expression& given) {
    const Expression& e = syntax::without_groups(given);
    return e.kind == Kind::call && (e.name == "factor" || e.name == "as.factor") && e.arguments.size() == 1 &&
           is_it(syntax::without_groups(e.arguments[0]));
  };
  const auto fine = [&](std::span<const Term> terms) {
    return std::all_of(terms.begin(), terms.end(), [&](const Term& term) {
      return std::all_of(term.factors.begin(), term.factors.end(),
                         [&](const Expression& e) { return !mentions(e) || is_factor_of_it(e); });
    });
  };
  if (!fine(formula.terms) || std::any_of(formula.offsets.begin(), formula.offsets.end(), mentions))
    return false;
  return std::all_of(formula.groups.begin(), formula.groups.end(), [&](const GroupTerm& group) {
    return fine(group.effects) && std::all_of(group.grouping.factors.begin(), group.grouping.factors.end(),
                                              [&](const Expression& e) {
                                                return !mentions(e) || is_it(syntax::without_groups(e)) ||
                                                       is_factor_of_it(e);
                                              });
  });
}

void check_header(const std::string& data, std::span<const std::string> header,
                  std::span<const std::string> wanted) {
  for (const std::string& name : wanted)
    if (std::find(header.begin(), header.end(), name) == header.end())
      throw DataError(data,
                      fmt::format("the fit needs \"{}\": {}", name, syntax::unknown_column(name, header)));
}

struct NewRows::Impl {
  struct Group {
    Formula effects;
    RecordPlan plan;
    PlainRows plain;
    std::vector<Variable> grouping;
    std::optional<GroupCodes> codes;
    std::vector<double> origin, unit;
  };

  const Formula& formula;
  const Table& table;
  NewRowOptions options;
  Recipe recipe;
  RecordPlan plan;
  PlainRows plain;
  std::vector<Group> groups;
  std::vector<ValuesPtr> offsets;
  ValuesPtr response;
  ValuesPtr failures;  // of cbind(), whose first part is then the response
  RowCells cells{table};

  Impl(const Formula& f, const Recipe& r, const Table& t, const NewRowOptions& o)
      : formula(f),
        table(t),
        options(o),
        recipe{.learnt = r.learnt, .groups = {}, .names = r.names, .origin = r.origin, .unit = r.unit} {
    const std::size_t learnt = recipe.learnt.size();
    Binder binder(formula, table, recipe.learnt);
    const Expression& own = syntax::without_groups(formula.response);
    if (options.response && own.kind == Expression::Kind::call && own.name == "cbind") {
      response = binder.number(*syntax::argument(own, "successes"), "cbind()");
      failures = binder.number(*syntax::argument(own, "failures"), "cbind()");
    } else if (options.response) {
      response = binder.bind(formula.response);
      response = response->type == Values::Type::factor ? binder.variable(formula.response)
                                                        : binder.number(formula.response, "the response");
    }
    for (const Expression& offset : formula.offsets)
      offsets.push_back(binder.number(offset.arguments[0], "offset()"));
    plan = planned(formula, binder);
    if (r.groups.size() != formula.groups.size()) refuse_recipe();
    for (const auto& group : formula.groups) {
      Group& made = groups.emplace_back();
      made.effects = effects_formula(formula, group);
      made.plan = planned(made.effects, binder);
      made.grouping = grouping_variables(formula, group, binder);
    }
    if (recipe.learnt.size() != learnt) refuse_recipe();
    plain = PlainRows(plan, formula.intercept, recipe.names);
    if (!plain.has_all()) refuse_recipe();
    for (std::size_t g = 0; g < groups.size(); ++g) {
      Group& group = groups[g];
      const GroupRecipe& known = r.groups[g];
      if (known.levels.size() != group.grouping.size()) refuse_recipe();
      group.plain = PlainRows(group.plan, group.effects.intercept, known.effects);
      if (!group.plain.has_all()) refuse_recipe();
      group.codes.emplace(known, group.grouping, table.rows);
      group.origin = known.origin;
      group.unit = known.unit;
    }
  }

  // A plan in which each level of the fit has its column.
  static RecordPlan planned(const Formula& formula, Binder& binder) {
    RecordPlan plan = plan_records(formula, binder);
    for (Variable& variable : plan.variables)
      std::fill(variable.level_counts.begin(), variable.level_counts.end(), std::size_t{1});
    return plan;
  }

  [[noreturn]] void refuse_recipe() const {
    throw DataError(
        table.source.name,
        "a column has another type than in the data of the fit: text instead of numbers, or numbers "
        "instead of text");
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
  void look_at(std::span<const Variable> variables, const VariableBlock& block, std::size_t first,
               std::span<char> complete) const {
    const std::size_t count = complete.size();
    for (std::size_t v = 0; v < variables.size(); ++v) {
      const Variable& variable = variables[v];
      if (variable.is_factor()) {
        look_at(variable.expression, block.codes[v], first, complete);
        continue;
      }
      for (std::size_t c = 0; c < variable.values->width; ++c)
        look_at(variable.expression, std::span(block.numbers[v]).subspan(c * count, count), first, complete);
    }
  }
  // Makes outcomes of successes. A row without trials is one that cannot be scored.
  void add_failures(std::size_t first, const Block& out) const {
    std::vector<double> failed(out.y.size());
    failures->numbers(first, failed.size(), failed);
    look_at(formula.response, failed, first, out.complete);
    for (std::size_t i = 0; i < failed.size(); ++i) {
      if (out.complete[i] == 0) continue;
      const double trials = out.y[i] + failed[i];
      for (const double count : {out.y[i], failed[i]})
        if (!(count >= 0 && count == std::floor(count) && trials <= Outcome::most_trials))
          throw DataError(
              table.source.place(first + i),
              fmt::format("cbind(): {} is not a whole number of at least 0, or too large", count));
      if (trials == 0) out.complete[i] = 0;
      out.y[i] = Outcome{out.y[i], trials}.packed();
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
  void look_for_new_levels(std::span<const Variable> variables, const VariableBlock& block, std::size_t first,
                           std::span<char> complete) const {
    for (std::size_t v = 0; v < variables.size(); ++v)
      if (variables[v].is_factor())
        look_for_new_levels(variables[v].expression, *variables[v].values, block.codes[v], first, complete);
  }
  // The same for groups.
  void look_for_new_groups(const Group& group, std::size_t first, std::span<char> complete) const {
    if (!options.new_groups) return;
    for (std::size_t i = 0; i < complete.size(); ++i) {
      if ((*group.codes)[first + i] != unknown_level || complete[i] == 0) continue;
      if (*options.new_groups == NewLevels::error) {
        std::vector<Expression> parts;
        for (const Variable& variable : group.grouping) parts.push_back(variable.expression);
        throw DataError(
            table.source.place(first + i),
            fmt::format("the data of the fit did not have this group ({}); `new-levels sample` draws its "
                        "effects from the law of all groups, `new-levels population` leaves them out",
                        cells.words(parts, first + i)));
      }
      complete[i] = 0;
    }
  }
  void fill_group(const Group& group, const VariableBlock& effects, std::size_t first,
                  std::span<const char> complete, const GroupBlock& out) const {
    const std::size_t count = complete.size(), dim = group.origin.size();
    const std::size_t first_effect = group.effects.intercept ? 1 : 0, width = dim - first_effect;
    assert(out.codes.size() == count && out.z.size() == count * width);
    assert(out.keys.empty() || out.keys.size() == count);
    std::vector<double> row(dim);
    for (std::size_t i = 0; i < count; ++i) {
      const std::span<float> z = out.z.subspan(i * width, width);
      const std::uint32_t code = (*group.codes)[first + i];
      out.codes[i] = complete[i] == 0 || code >= unknown_level ? new_group : code;
      if (!out.keys.empty()) out.keys[i] = group.codes->key(first + i);
      std::fill(z.begin(), z.end(), 0.0F);
      if (complete[i] == 0 || width == 0) continue;
      bool finite = group.plain.write(effects, count, i, row);
      for (std::size_t e = 0; e < width; ++e) {
        const std::size_t k = first_effect + e;
        z[e] = static_cast<float>((row[k] - group.origin[k]) / group.unit[k]);
        finite = finite && std::isfinite(z[e]);
      }
      if (!finite)
        throw DataError(table.source.place(first + i),
                        "a number that multiplies a group effect is not finite");
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
std::size_t NewRows::groups() const noexcept { return impl_->groups.size(); }
std::size_t NewRows::multipliers(std::size_t group) const noexcept {
  const Impl::Group& its = impl_->groups[group];
  return its.origin.size() - (its.effects.intercept ? 1 : 0);
}
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
    if (m.failures) m.add_failures(first, out);
  }
  VariableBlock block;
  block.evaluate(m.plan.variables, first, count);
  m.look_at(m.plan.variables, block, first, out.complete);
  std::vector<VariableBlock> effects(m.groups.size());
  for (std::size_t g = 0; g < m.groups.size(); ++g) {
    const Impl::Group& group = m.groups[g];
    VariableBlock grouping;
    grouping.evaluate(group.grouping, first, count);
    m.look_at(group.grouping, grouping, first, out.complete);
    effects[g].evaluate(group.plan.variables, first, count);
    m.look_at(group.plan.variables, effects[g], first, out.complete);
  }
  if (!response_codes.empty())
    m.look_for_new_levels(m.formula.response, *m.response, response_codes, first, out.complete);
  m.look_for_new_levels(m.plan.variables, block, first, out.complete);
  for (std::size_t g = 0; g < m.groups.size(); ++g)
    m.look_for_new_levels(m.groups[g].plan.variables, effects[g], first, out.complete);
  for (const Impl::Group& group : m.groups) m.look_for_new_groups(group, first, out.complete);
  std::fill(out.x.begin(), out.x.end(), 0.0);
  for (std::size_t i = 0; i < count; ++i) {
    const std::span<double> row = out.x.subspan(i * p, p);
    if (out.complete[i] == 0) {
      out.offsets[i] = 0;
      if (!out.y.empty()) out.y[i] = 0;
      continue;
    }
    if (!m.plain.write(block, count, i, row))
      throw DataError(place(first + i), "a product of columns is not finite");
    for (std::size_t j = 0; j < p; ++j) row[j] = (row[j] - m.recipe.origin[j]) / m.recipe.unit[j];
  }
  assert(out.groups.empty() || out.groups.size() == m.groups.size());
  for (std::size_t g = 0; g < out.groups.size(); ++g)
    m.fill_group(m.groups[g], effects[g], first, out.complete, out.groups[g]);
}

}  // namespace mlo
