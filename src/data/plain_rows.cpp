// Copyright (c) the mlo authors. BSD-3-Clause.
#include "data/plain_rows.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace mlo {

void VariableBlock::evaluate(std::span<const Variable> variables, std::size_t first, std::size_t count) {
  numbers.resize(variables.size());
  codes.resize(variables.size());
  for (std::size_t v = 0; v < variables.size(); ++v) {
    const Values& values = *variables[v].values;
    if (variables[v].is_factor()) {
      codes[v].resize(count);
      values.codes(first, codes[v]);
    } else {
      numbers[v].resize(count * values.width);
      values.numbers(first, count, numbers[v]);
    }
  }
}

PlainRows::PlainRows(const RecordPlan& plan, bool intercept, std::span<const std::string> names)
    : intercept_(intercept) {
  std::map<std::string, std::size_t> place;
  for (std::size_t j = 0; j < names.size(); ++j) place.emplace(names[j], j);
  constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::size_t found = intercept ? 1 : 0;
  for (const TermPlan& term : plan.terms) {
    const TermColumns columns(plan, term);
    std::vector<std::size_t> places;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const auto at = place.find(columns.name(c));
      places.push_back(at == place.end() ? none : at->second);
      if (at != place.end()) ++found;
    }
    for (std::size_t p = 0; p < term.parts.size(); ++p) {
      const std::size_t start = columns.first_of_part(p);
      Part part;
      if (!has_factor(plan, term)) {
        part.product = plan.dense[term.parts[p]];
        part.column = places[start];
        if (part.column != none) parts_.push_back(std::move(part));
        continue;
      }
      const BlockPlan& block = plan.blocks[term.parts[p]];
      if (block.multiplier != LevelBlock::no_number) part.product = plan.multipliers[block.multiplier];
      part.factors = block.factors;
      part.strides = block.strides;
      part.of_cell.resize(block.cells);
      for (std::size_t cell = 0; cell < block.cells; ++cell)
        for (const auto& [column, value] : columns.of_cell(cell))
          if (places[start + column] != none) part.of_cell[cell].emplace_back(places[start + column], value);
      parts_.push_back(std::move(part));
    }
  }
  has_all_ = found == names.size();
}

bool PlainRows::write(const VariableBlock& block, std::size_t count, std::size_t i,
                      std::span<double> row) const {
  std::fill(row.begin(), row.end(), 0.0);
  if (intercept_) row[0] = 1;
  bool finite = true;
  for (const Part& part : parts_) {
    double product = 1;
    for (const auto& [v, c] : part.product.parts) product *= block.numbers[v][c * count + i];
    finite = finite && std::isfinite(product);
    if (part.factors.empty()) {
      row[part.column] = product;
      continue;
    }
    std::size_t cell = 0;
    for (std::size_t f = 0; f < part.factors.size(); ++f)
      cell += part.strides[f] * block.codes[part.factors[f]][i];
    for (const auto& [j, value] : part.of_cell[cell]) row[j] = value * product;
  }
  return finite;
}

}  // namespace mlo
