// Copyright (c) the mlo authors. BSD-3-Clause.
// Text to a formula and its design on a small table. What is parsed must be written so that it parses to the
// same again, and the rows that predictions are made from must be those of the design.
#include "mlo/data/formula.hpp"

#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "mlo/base/errors.hpp"
#include "mlo/data/design.hpp"
#include "mlo/data/new_rows.hpp"
#include "support.hpp"
#include "table.hpp"

namespace {

using namespace mlo;
using Strings = std::vector<std::string>;

constexpr std::size_t rows = fuzz::table_rows;

bool same(const Expression& a, const Expression& b) {
  if (a.kind != b.kind || !fuzz::same_bits(a.number, b.number) || a.name != b.name || a.labels != b.labels ||
      a.arguments.size() != b.arguments.size())
    return false;
  for (std::size_t i = 0; i < a.arguments.size(); ++i)
    if (!same(a.arguments[i], b.arguments[i])) return false;
  return true;
}

// What has a value for each row can stand on the left of ~, where it is read as it is.
void check_spelling(const Expression& e, const Strings& columns) {
  const std::string spelt = deparse(e);
  try {
    const Formula again = parse_formula(spelt + " ~ 1", columns);
    fuzz::check(same(again.response, e), "a formula is written so that it parses to the same",
                spelt + "\n  " + deparse(again.response));
  } catch (const Error& error) {
    fuzz::check(false, "what a formula was parsed to can be parsed again", spelt + "\n  " + error.what());
  }
}

void check_rows(const Formula& formula, const Design& design, const Table& table) {
  const NewRows again(formula, design.recipe, table, {});
  fuzz::check(again.dim() == design.dim, "predictions have the columns of the fit");
  fuzz::check(again.groups() == design.groups.size(), "predictions have the groups of the fit");
  std::vector<double> x(rows * design.dim), offsets(rows), user(design.dim);
  std::vector<char> complete(rows);
  std::vector<std::vector<std::uint32_t>> codes(again.groups(), std::vector<std::uint32_t>(rows));
  std::vector<std::vector<float>> z;
  std::vector<NewRows::GroupBlock> groups;
  for (std::size_t g = 0; g < again.groups(); ++g) z.emplace_back(rows * again.multipliers(g));
  for (std::size_t g = 0; g < again.groups(); ++g) groups.push_back({.codes = codes[g], .z = z[g]});
  again.fill(0, {.x = x, .offsets = offsets, .y = {}, .complete = complete, .groups = groups});
  std::map<std::string, std::size_t> row_at;
  for (std::size_t i = 0; i < rows; ++i) row_at.emplace(again.place(i), i);
  for (std::size_t i = 0; i < design.rows; ++i) {
    const std::size_t row = row_at.at(design.place(i));
    fuzz::check(complete[row] != 0, "predictions have the rows of the fit", design.place(i));
    design.user_row(i, user);
    for (std::size_t j = 0; j < design.dim; ++j) {
      const double value = x[row * design.dim + j];
      const double room =
          1e-9 * (std::fabs(design.centre[j]) + std::fabs(design.scale[j]) + std::fabs(value));
      fuzz::check(std::fabs(user[j] - value) <= room, "predictions have the values of the fit",
                  design.place(i) + " " + design.names[j] + ": " + std::to_string(user[j]) + ", " +
                      std::to_string(value));
    }
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const GroupDesign& group = design.groups[g];
      const std::size_t width = again.multipliers(g);
      fuzz::check(group.codes[i] < group.levels.size() && codes[g][row] == group.codes[i],
                  "predictions have the codes of the fit", design.place(i) + " " + group.name);
      for (std::size_t e = 0; e < width; ++e)
        fuzz::check(z[g][row * width + e] == group.z[i * width + e],
                    "predictions have the multipliers of the fit", design.place(i) + " " + group.name);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Table table = fuzz::make_table();
  static const Strings columns = [] {
    Strings out;
    for (const Column& column : table.columns) out.push_back(column.name);
    return out;
  }();
  const std::string_view given(reinterpret_cast<const char*>(data), size);
  std::optional<Formula> formula;
  std::optional<Design> design;
  try {
    formula = parse_formula(given, columns);
  } catch (const UsageError&) {
    return 0;
  }
  check_spelling(formula->response, columns);
  for (const Term& term : formula->terms)
    for (const Expression& factor : term.factors) check_spelling(factor, columns);
  for (const Expression& offset : formula->offsets) check_spelling(offset.arguments[0], columns);
  for (const GroupTerm& group : formula->groups) {
    for (const Expression& part : group.grouping.factors) check_spelling(part, columns);
    for (const Term& effect : group.effects)
      for (const Expression& factor : effect.factors) check_spelling(factor, columns);
  }
  try {
    design = build_design(*formula, table, {.scale = static_cast<Scale>(size % 3), .max_levels = 50});
  } catch (const Error&) {
    return 0;
  }
  fuzz::check(design->names.size() == design->dim && design->centre.size() == design->dim &&
                  design->scale.size() == design->dim && design->recipe.names.size() == design->dim,
              "the parts of a design have one length");
  for (const double scale : design->scale)
    fuzz::check(std::isfinite(scale) && scale > 0, "the scale of a column is positive");
  for (std::size_t i = 0; i < design->rows; ++i)
    for (std::size_t j = 0; j <= design->dense.size(); ++j)
      fuzz::check(std::isfinite(design->row(i)[j]), "a row of a design is finite", design->place(i));
  check_rows(*formula, *design, table);
  return 0;
}
