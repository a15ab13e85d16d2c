// Copyright (c) the mlo authors. BSD-3-Clause.
// Groups get codes in the order in which they appear, by hashing, while the rows are read; then the levels,
// which are fewer than the rows, are sorted and the codes renumbered. So the time is linear in the rows.
#include "data/design_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "data/design_moments.hpp"
#include "data/formula_syntax.hpp"
#include "data/row_cells.hpp"
#include "data/value_kinds.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/base/hash.hpp"
#include "mlo/base/text.hpp"

namespace mlo {
namespace {

// factor(g) of a grouping is g: its levels are needed only once, and by another way.
const Expression& without_factor(const Expression& given) {
  const Expression& e = syntax::without_groups(given);
  const bool plain = e.kind == Expression::Kind::call && e.arguments.size() == 1 &&
                     (e.name == "factor" || e.name == "as.factor");
  return plain ? without_factor(e.arguments[0]) : e;
}

std::uint64_t key_of(double value) { return std::bit_cast<std::uint64_t>(value + 0.0); }  // -0 is 0

// Groups are often numbered: whole numbers are written in full, 100000 and not 1e+05, as a file has them.
std::string label_of(double value) {
  if (value != std::floor(value) || std::fabs(value) >= 1e15) return number_label(value);
  return fmt::format_int(static_cast<std::int64_t>(value)).str();
}

// The levels of one expression of a grouping that occur, and where the codes that it had are among them.
struct PartLevels {
  std::vector<std::string> levels;
  std::vector<std::uint32_t> places;
};

PartLevels levels_of_numbers(const KeyIds& ids) {
  std::vector<std::uint32_t> order(ids.keys().size());
  std::iota(order.begin(), order.end(), 0U);
  const auto value = [&](std::uint32_t id) { return std::bit_cast<double>(ids.keys()[id]); };
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return value(a) < value(b); });
  PartLevels out;
  out.places.resize(order.size());
  for (const std::uint32_t id : order) {
    std::string label = label_of(value(id));
    // As in R, values that look the same with 15 digits are one level. They are neighbours.
    if (out.levels.empty() || out.levels.back() != label) out.levels.push_back(std::move(label));
    out.places[id] = static_cast<std::uint32_t>(out.levels.size() - 1);
  }
  return out;
}

PartLevels levels_of_factor(const Values& values, const std::vector<char>& used) {
  PartLevels out;
  out.places.assign(used.size(), 0);
  for (std::size_t code = 0; code < used.size(); ++code) {
    if (used[code] == 0) continue;
    out.places[code] = static_cast<std::uint32_t>(out.levels.size());
    out.levels.push_back(values.levels[code]);
  }
  return out;
}

}  // namespace

std::vector<std::string> group_names(const GroupRecipe& recipe) {
  if (recipe.levels.size() == 1) return recipe.levels[0];
  const std::size_t parts = recipe.levels.size();
  std::vector<std::string> out;
  out.reserve(recipe.cells.size() / parts);
  for (std::size_t at = 0; at < recipe.cells.size(); at += parts) {
    std::string name = recipe.levels[0][recipe.cells[at]];
    for (std::size_t k = 1; k < parts; ++k) name += "_" + recipe.levels[k][recipe.cells[at + k]];
    out.push_back(std::move(name));
  }
  return out;
}

Formula effects_formula(const Formula& formula, const GroupTerm& group) {
  return {.text = formula.text,
          .response = {},
          .terms = group.effects,
          .offsets = {},
          .groups = {},
          .intercept = group.effects[0].factors.empty()};
}

std::vector<Variable> grouping_variables(const Formula& formula, const GroupTerm& group, Binder& binder) {
  std::vector<Variable> out;
  for (const Expression& e : group.grouping.factors) {
    ValuesPtr values = binder.bind(without_factor(e));
    if (values->width != 1)
      syntax::fail(formula.text, e.position,
                   fmt::format("{} has {} columns; a grouping needs one", deparse(e), values->width));
    if (values->type == Values::Type::logical) values = std::make_unique<values::Truth>(std::move(values));
    out.push_back({.expression = e, .name = deparse(e), .values = std::move(values)});
  }
  return out;
}

GroupReader::GroupReader(const Formula& formula, const GroupTerm& group, Binder& binder, std::size_t rows)
    : group_(group),
      grouping_(grouping_variables(formula, group, binder)),
      formula_(effects_formula(formula, group)),
      plan_(plan_records(formula_, binder)),
      numbers_(grouping_.size()),
      pairs_(grouping_.size() - 1) {
  codes_.reserve(rows);
}

void GroupReader::evaluate(std::size_t first, std::size_t count) {
  grouping_block_.evaluate(grouping_, first, count);
  effects_block_.evaluate(plan_.variables, first, count);
}

void GroupReader::add(std::span<const std::size_t> kept) {
  const std::size_t start = codes_.size();
  codes_.resize(start + kept.size());
  for (std::size_t k = 0; k < grouping_.size(); ++k) {
    const bool factor = grouping_[k].is_factor();
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const std::uint32_t code = factor ? grouping_block_.codes[k][kept[i]]
                                        : numbers_[k].add(key_of(grouping_block_.numbers[k][kept[i]]));
      std::uint32_t& all = codes_[start + i];
      all = k == 0 ? code : pairs_[k - 1].add(pair_key(all, code));
    }
  }
  for (std::size_t v = 0; v < plan_.variables.size(); ++v) {
    Variable& variable = plan_.variables[v];
    if (!variable.is_factor()) continue;
    for (const std::size_t i : kept) ++variable.level_counts[effects_block_.codes[v][i]];
  }
}

// Codes so far are numbers of pairs, or of values; those of the levels are ordered as the levels of the
// expressions, the first one varying slowest.
void GroupReader::make_levels(GroupDesign& design, GroupRecipe& recipe) {
  const std::size_t parts = grouping_.size();
  const std::size_t groups = parts > 1 ? pairs_.back().keys().size() : 0;
  // The codes that each expression had in a group.
  std::vector<std::uint32_t> cells(groups * parts);
  for (std::size_t group = 0; group < groups; ++group) {
    auto code = static_cast<std::uint32_t>(group);
    for (std::size_t k = parts - 1; k > 0; --k) {
      const std::uint64_t key = pairs_[k - 1].keys()[code];
      cells[group * parts + k] = static_cast<std::uint32_t>(key);
      code = static_cast<std::uint32_t>(key >> 32U);
    }
    cells[group * parts] = code;
  }
  std::vector<std::uint32_t> places;
  for (std::size_t k = 0; k < parts; ++k) {
    PartLevels part;
    if (grouping_[k].is_factor()) {
      const Values& values = *grouping_[k].values;
      std::vector<char> used(values.levels.size(), 0);
      if (parts == 1)
        for (const std::uint32_t code : codes_) used[code] = 1;
      for (std::size_t group = 0; group < groups; ++group) used[cells[group * parts + k]] = 1;
      part = levels_of_factor(values, used);
    } else {
      part = levels_of_numbers(numbers_[k]);
    }
    for (std::size_t group = 0; group < groups; ++group) {
      std::uint32_t& cell = cells[group * parts + k];
      cell = part.places[cell];
    }
    recipe.levels.push_back(std::move(part.levels));
    places = std::move(part.places);
  }
  if (parts > 1) {
    std::vector<std::uint32_t> order(groups);
    std::iota(order.begin(), order.end(), 0U);
    const auto cell_of = [&](std::uint32_t group) { return std::span(cells).subspan(group * parts, parts); };
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::ranges::lexicographical_compare(cell_of(a), cell_of(b));
    });
    places.resize(groups);
    std::uint32_t levels = 0;
    for (std::size_t at = 0; at < groups; ++at) {
      const auto cell = cell_of(order[at]);
      if (at == 0 || !std::ranges::equal(cell, cell_of(order[at - 1]))) {
        recipe.cells.insert(recipe.cells.end(), cell.begin(), cell.end());
        ++levels;
      }
      places[order[at]] = levels - 1;
    }
  }
  for (std::uint32_t& code : codes_) code = places[code];
  design.codes = std::move(codes_);
  design.levels = group_names(recipe);
  numbers_ = {};
  pairs_ = {};
}

void GroupReader::finish(GroupDesign& design, GroupRecipe& recipe) {
  design.name = group_.grouping.name();
  design.intercept = formula_.intercept;
  design.correlated = group_.correlated;
  make_levels(design, recipe);
  if (formula_.intercept) design.effects.emplace_back("Intercept");
  for (const TermPlan& term : plan_.terms) {
    const TermColumns columns(plan_, term);
    const std::size_t all = design.effects.size() + columns.size();
    if (all > most_effects)
      throw ModelError(
          fmt::format("{} columns vary by {}, with those of {}; at most {} may: leave some out, or write a "
                      "group effect of its own for each level, as in (1 | f:{})",
                      grouped(all), design.name, columns.name(0), most_effects, design.name));
    for (std::size_t c = 0; c < columns.size(); ++c) design.effects.push_back(columns.name(c));
  }
  recipe.effects = design.effects;
  recipe.origin.assign(design.dim(), 0);
  recipe.unit.assign(design.dim(), 1);
}

void GroupReader::write_multipliers(const Table& table, const std::vector<bool>& kept, Scale scale,
                                    GroupDesign& design, GroupRecipe& recipe) {
  const std::size_t first_effect = design.intercept ? 1 : 0;
  const std::size_t dim = design.dim(), width = dim - first_effect;
  if (width == 0) return;
  const PlainRows plain(plan_, design.intercept, design.effects);
  const RowCells cells(table);
  const auto refuse = [&](std::size_t effect, double value, std::size_t row) {
    std::vector<Expression> parts;
    for (const Variable& variable : plan_.variables) parts.push_back(variable.expression);
    cells.refuse(fmt::format("the effect {} of {}", design.effects[effect], design.name), value, parts, row);
  };
  // Calls visit(effects of the kept rows of a block, row after row; their rows in the table).
  const auto for_each_block = [&](const auto& visit) {
    std::vector<double> values;
    std::vector<std::size_t> rows;
    for (std::size_t first = 0; first < table.rows; first += block_rows) {
      const std::size_t count = std::min(block_rows, table.rows - first);
      effects_block_.evaluate(plan_.variables, first, count);
      rows.clear();
      for (std::size_t i = 0; i < count; ++i)
        if (kept[first + i]) rows.push_back(first + i);
      values.resize(rows.size() * dim);
      for (std::size_t r = 0; r < rows.size(); ++r) {
        const std::span<double> row = std::span(values).subspan(r * dim, dim);
        if (plain.write(effects_block_, count, rows[r] - first, row)) continue;
        for (std::size_t e = first_effect; e < dim; ++e)
          if (!std::isfinite(row[e])) refuse(e, row[e], rows[r]);
      }
      if (!rows.empty()) visit(values, rows);
    }
  };
  if (scale != Scale::none) {
    std::vector<Moments> moments(dim);
    std::vector<double> column;
    for_each_block([&](std::span<const double> values, std::span<const std::size_t> rows) {
      column.resize(rows.size());
      for (std::size_t e = first_effect; e < dim; ++e) {
        for (std::size_t r = 0; r < rows.size(); ++r) column[r] = values[r * dim + e];
        moments[e].add(column);
      }
    });
    for (std::size_t e = first_effect; e < dim; ++e) {
      if (!(moments[e].sd() > 0))
        throw ModelError(fmt::format(
            "the effect {} of {} is the same in every row: its standard deviation is 0, so it cannot be scaled",
            design.effects[e], design.name));
      recipe.origin[e] = scale == Scale::standard ? moments[e].mean : 0;
      recipe.unit[e] = moments[e].sd();
    }
  }
  design.z.reserve(design.codes.size() * width);
  for_each_block([&](std::span<const double> values, std::span<const std::size_t> rows) {
    for (std::size_t r = 0; r < rows.size(); ++r)
      for (std::size_t e = first_effect; e < dim; ++e) {
        const double value = (values[r * dim + e] - recipe.origin[e]) / recipe.unit[e];
        if (std::fabs(value) > std::numeric_limits<float>::max()) refuse(e, value, rows[r]);
        design.z.push_back(static_cast<float>(value));
      }
  });
}

GroupCodes::GroupCodes(const GroupRecipe& recipe, std::span<const Variable> grouping, std::size_t rows)
    : codes_(rows) {
  const std::size_t parts = grouping.size();
  std::vector<KeyIds> pairs(parts - 1);
  for (std::size_t at = 0; at < recipe.cells.size(); at += parts) {
    std::uint32_t code = recipe.cells[at];
    for (std::size_t k = 1; k < parts; ++k) code = pairs[k - 1].add(pair_key(code, recipe.cells[at + k]));
  }
  // A number is looked up as the text that its level has.
  std::vector<KeyIds> numbers(parts);
  std::vector<double> values(block_rows);
  const auto for_each_block = [&](const auto& visit) {
    for (std::size_t first = 0; first < rows; first += block_rows)
      visit(first, std::min(block_rows, rows - first));
  };
  std::vector<std::vector<std::uint32_t>> places(parts);
  std::vector<std::vector<std::string>> labels(parts);  // of numbers
  for (std::size_t k = 0; k < parts; ++k) {
    if (grouping[k].is_factor()) {
      places[k] = values::places_in(recipe.levels[k], grouping[k].values->levels, unknown_level);
      continue;
    }
    for_each_block([&](std::size_t first, std::size_t count) {
      grouping[k].values->numbers(first, count, values);
      for (std::size_t i = 0; i < count; ++i)
        if (std::isfinite(values[i])) numbers[k].add(key_of(values[i]));
    });
    labels[k].reserve(numbers[k].keys().size());
    for (const std::uint64_t key : numbers[k].keys())
      labels[k].push_back(label_of(std::bit_cast<double>(key)));
    places[k] = values::places_in(recipe.levels[k], labels[k], unknown_level);
  }
  std::vector<std::uint32_t> part(block_rows);
  for_each_block([&](std::size_t first, std::size_t count) {
    for (std::size_t k = 0; k < parts; ++k) {
      if (grouping[k].is_factor()) {
        grouping[k].values->codes(first, std::span(part).first(count));
        for (std::uint32_t& code : std::span(part).first(count)) code = values::moved(code, places[k]);
      } else {
        grouping[k].values->numbers(first, count, values);
        for (std::size_t i = 0; i < count; ++i)
          part[i] = std::isfinite(values[i]) ? places[k][numbers[k].find(key_of(values[i]))] : missing_level;
      }
      for (std::size_t i = 0; i < count; ++i) {
        std::uint32_t& code = codes_[first + i];
        if (k == 0 || part[i] == missing_level) {
          code = part[i];
        } else if (code < unknown_level) {
          const std::uint32_t both =
              part[i] == unknown_level ? KeyIds::none : pairs[k - 1].find(pair_key(code, part[i]));
          code = both == KeyIds::none ? unknown_level : both;
        }
      }
    }
  });
  if (std::find(codes_.begin(), codes_.end(), unknown_level) == codes_.end()) return;
  keys_.assign(rows, 0);
  for (std::size_t k = 0; k < parts; ++k) {
    const std::vector<std::string>& names = grouping[k].is_factor() ? grouping[k].values->levels : labels[k];
    std::vector<std::uint64_t> hashes;
    hashes.reserve(names.size());
    for (const std::string& name : names) hashes.push_back(fingerprint_of(name));
    for_each_block([&](std::size_t first, std::size_t count) {
      if (grouping[k].is_factor()) {
        grouping[k].values->codes(first, std::span(part).first(count));
      } else {
        grouping[k].values->numbers(first, count, values);
        for (std::size_t i = 0; i < count; ++i)
          part[i] = std::isfinite(values[i]) ? numbers[k].find(key_of(values[i])) : missing_level;
      }
      for (std::size_t i = 0; i < count; ++i)
        if (codes_[first + i] == unknown_level)
          // A factor whose levels were learnt in the fit, such as relevel(g), does not tell new ones apart.
          keys_[first + i] = mixed(keys_[first + i] + (part[i] < hashes.size() ? hashes[part[i]] : 1));
    });
  }
}

}  // namespace mlo
