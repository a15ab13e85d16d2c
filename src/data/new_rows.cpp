// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/data/new_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include "data/csv_text.hpp"
#include "data/formula_syntax.hpp"
#include "mlo/base/errors.hpp"

namespace mlo {
namespace {

// The columns of a table by name, each a span of numbers.
class NumberColumns : public Columns {
 public:
  explicit NumberColumns(const Table& table) : table_(table) {}
  [[nodiscard]] std::span<const double> values(const std::string& name) const override {
    const auto at = std::find_if(table_.columns.begin(), table_.columns.end(),
                                 [&](const Column& c) { return c.name == name; });
    assert(at != table_.columns.end());
    return at->numbers();
  }

 private:
  const Table& table_;
};

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

NewRows::NewRows(const Formula& formula, const Table& table, bool response, Missing missing)
    : formula_(formula),
      table_(table),
      response_(response),
      missing_(missing),
      names_(columns_of_rows(formula, response)) {
  for (const Column& c : table.columns) {
    if (!c.is_text() || std::find(names_.begin(), names_.end(), c.name) == names_.end()) continue;
    const std::vector<std::string>& levels = c.text().levels;
    throw DataError(table.source.name,
                    fmt::format("column {} holds text{}, but the fit had numbers there", csv::quoted(c.name),
                                levels.empty() ? "" : fmt::format(" ({})", csv::quoted(levels[0]))));
  }
}

void NewRows::fill(std::size_t first, const Block& out) const {
  const std::size_t count = out.complete.size(), p = dim();
  assert(out.x.size() == count * p && out.offsets.size() == count && first + count <= rows());
  find_complete(first, out.complete);
  std::vector<double> column(count);
  for (std::size_t j = 0; j < p; ++j) {
    evaluate_product(formula_.terms[j].factors, first, out.complete, column);
    for (std::size_t i = 0; i < count; ++i) out.x[i * p + j] = column[i];
  }
  std::fill(out.offsets.begin(), out.offsets.end(), 0.0);
  for (const Expression& offset : formula_.offsets) {
    evaluate_product({&offset, 1}, first, out.complete, column);
    for (std::size_t i = 0; i < count; ++i) out.offsets[i] += column[i];
  }
  if (response_) evaluate_product({&formula_.response, 1}, first, out.complete, out.y);
}

void NewRows::find_complete(std::size_t first, std::span<char> complete) const {
  std::fill(complete.begin(), complete.end(), char{1});
  const NumberColumns columns(table_);
  for (const std::string& name : names_) {
    const std::span<const double> values = columns.values(name).subspan(first, complete.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      if (std::isnan(values[i])) complete[i] = 0;
  }
  if (missing_ == Missing::drop) return;
  const auto at = std::find(complete.begin(), complete.end(), char{0});
  if (at == complete.end()) return;
  const std::size_t row = first + static_cast<std::size_t>(at - complete.begin());
  for (const std::string& name : names_)
    if (std::isnan(columns.values(name)[row]))
      throw DataError(place(row),
                      fmt::format("column \"{}\": the cell is empty or NA (`missing error`)", name));
}

void NewRows::evaluate_product(std::span<const Expression> factors, std::size_t first,
                               std::span<const char> complete, std::span<double> out) const {
  const NumberColumns columns(table_);
  if (factors.empty()) {
    std::fill(out.begin(), out.end(), 1.0);
  } else {
    evaluate(factors[0], columns, first, out);
  }
  std::vector<double> factor;
  for (std::size_t k = 1; k < factors.size(); ++k) {
    factor.resize(out.size());
    evaluate(factors[k], columns, first, factor);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] *= factor[i];
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (complete[i] == 0) {
      out[i] = 0;
    } else if (!std::isfinite(out[i])) {
      refuse(factors, first + i, out[i]);
    }
  }
}

// "data.csv:17: log(x) is -inf (x = 0)"
void NewRows::refuse(std::span<const Expression> factors, std::size_t row, double value) const {
  const NumberColumns columns(table_);
  std::vector<std::string> names, inputs;
  add_names(factors, names);
  for (const std::string& name : names)
    inputs.push_back(fmt::format("{} = {}", name, columns.values(name)[row]));
  std::string what;
  for (const Expression& factor : factors) what += (what.empty() ? "" : ":") + deparse(factor);
  // The sign of a NaN means nothing, yet it would be printed.
  throw DataError(place(row), fmt::format("{} is {} ({})", what, std::isnan(value) ? std::fabs(value) : value,
                                          fmt::join(inputs, ", ")));
}

}  // namespace mlo
