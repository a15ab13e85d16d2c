// Copyright (c) the mlo authors. BSD-3-Clause.
#include "data/row_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "data/csv_text.hpp"
#include "data/formula_syntax.hpp"
#include "mlo/base/errors.hpp"

namespace mlo {

const Column& RowCells::column(const std::string& name) const {
  return *std::find_if(table_.columns.begin(), table_.columns.end(),
                       [&](const Column& column) { return column.name == name; });
}

bool RowCells::is_missing(const std::string& name, std::size_t row) const {
  const Column& cells = column(name);
  return cells.is_text() ? cells.text().codes[row] == Text::missing : std::isnan(cells.number(row));
}

bool RowCells::any_missing(const Expression& e, std::size_t row) const {
  bool missing = false;
  syntax::for_each_name(e, [&](const Expression& name) { missing = missing || is_missing(name.name, row); });
  return missing;
}

std::string RowCells::words(std::span<const Expression> expressions, std::size_t row) const {
  std::vector<std::string> out;
  for (const Expression& e : expressions)
    syntax::for_each_name(e, [&](const Expression& name) {
      const Column& cells = column(name.name);
      std::string input =
          fmt::format("{} = {}", name.name,
                      is_missing(name.name, row) ? "NA"
                      : cells.is_text()          ? csv::quoted(cells.text().levels[cells.text().codes[row]])
                                                 : fmt::format("{}", cells.number(row)));
      if (std::find(out.begin(), out.end(), input) == out.end()) out.push_back(std::move(input));
    });
  return fmt::format("{}", fmt::join(out, ", "));
}

void RowCells::refuse(const std::string& what, double value, std::span<const Expression> expressions,
                      std::size_t row) const {
  // The sign of a NaN means nothing, yet it would be printed.
  throw DataError(table_.source.place(row),
                  fmt::format("{} is {} ({})", what, std::isnan(value) ? std::fabs(value) : value,
                              words(expressions, row)));
}

}  // namespace mlo
