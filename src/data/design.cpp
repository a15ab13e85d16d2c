// Copyright (c) the mlo authors. BSD-3-Clause.
// One pass over the table in blocks: drop rows with missing cells, evaluate, check, transpose into rows.
#include "mlo/data/design.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "data/csv_text.hpp"
#include "data/design_scale.hpp"
#include "data/formula_syntax.hpp"
#include "mlo/base/errors.hpp"

namespace mlo {
namespace {

// A block of all columns of a usual design stays in the second-level cache between its evaluation, its
// moments and its transposition.
constexpr std::size_t block_rows = 1024;

// "data.csv: column "colour" holds text ("red"); text columns cannot be used in a formula yet"
[[noreturn]] void refuse_text(const std::string& source, const Column& column) {
  const std::vector<std::string>& levels = column.text().levels;
  const std::string example = levels.empty() ? "" : fmt::format(" ({})", csv::quoted(levels[0]));
  throw DataError(source, fmt::format("column {} holds text{}; text columns cannot be used in a formula yet",
                                      csv::quoted(column.name), example));
}

class TableColumns : public Columns {
 public:
  TableColumns(const Table& table, const std::vector<std::string>& wanted) {
    for (const Column& column : table.columns) {
      if (std::find(wanted.begin(), wanted.end(), column.name) == wanted.end()) continue;
      assert(column.size() == table.rows);
      if (column.is_text()) refuse_text(table.source.name, column);
      columns_.emplace(column.name, column.numbers());
    }
    assert(columns_.size() == wanted.size());
  }
  [[nodiscard]] std::span<const double> values(const std::string& name) const override {
    return columns_.at(name);
  }

 private:
  std::map<std::string, std::span<const double>> columns_;
};

bool all_finite(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}
bool any_missing(std::span<const double> values) {
  return std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); });
}

class Builder {
 public:
  Builder(const Formula& formula, const Table& table, const DesignOptions& options)
      : formula_(formula),
        table_(table),
        options_(options),
        names_(formula.columns()),
        columns_(table, names_),
        missing_(names_.size(), 0),
        moments_(formula.terms.size()),
        block_(block_rows * (formula.terms.size() + 2)),
        factor_(block_rows) {}

  // Fills all but centre, scale and sd; x holds the columns as evaluated.
  Design evaluate_rows() {
    Design design;
    design.source = table_.source.without_rows();
    design.response = deparse(formula_.response);
    for (const Term& term : formula_.terms) design.names.push_back(term.name());
    design.dim = formula_.terms.size();
    design.intercept = formula_.intercept;
    design.rows_in_file = table_.rows;
    // Reserved for all rows, touched only for those that are kept.
    design.has_offset = !formula_.offsets.empty();
    design.stride = design.dim + (design.has_offset ? 2 : 1);
    design.x.reserve(table_.rows * design.stride + Design::row_padding);
    for (std::size_t first = 0; first < table_.rows; first += block_rows) {
      add_block(design, first, std::min(block_rows, table_.rows - first));
      check_rows(design);
    }
    design.dropped = table_.rows - design.rows;
    if (design.rows == 0) refuse_no_rows();
    design.x.resize(design.rows * design.stride + Design::row_padding);
    return design;
  }

  [[nodiscard]] std::vector<Moments> moments() && { return std::move(moments_); }

 private:
  void add_block(Design& design, std::size_t first, std::size_t count) {
    find_complete_rows(first, count);
    if (kept_.empty()) return;
    bool finite = true;
    const auto keep = [&](std::span<double> values) {
      if (kept_.size() < count) {
        for (std::size_t i = 0; i < kept_.size(); ++i) values[i] = values[kept_[i]];
      }
      const std::span<const double> complete = values.first(kept_.size());
      finite = finite && all_finite(complete);
      return complete;
    };

    const auto column_of = [&](std::size_t j) { return std::span(block_).subspan(j * block_rows, count); };
    evaluate(formula_.response, columns_, first, column_of(design.dim));
    keep(column_of(design.dim));
    if (design.has_offset) {
      evaluate_offset(first, column_of(design.dim + 1));
      keep(column_of(design.dim + 1));
    }
    for (std::size_t j = 0; j < design.dim; ++j) {
      const std::span<double> column = column_of(j);
      evaluate_term(formula_.terms[j], first, column);
      const std::span<const double> complete = keep(column);
      if (finite) moments_[j].add(complete);
    }
    if (!finite) refuse_first_non_finite(first);

    const std::size_t start = design.x.size();
    design.x.resize(start + kept_.size() * design.stride);
    for (std::size_t j = 0; j < design.stride; ++j) {
      const double* const column = block_.data() + j * block_rows;
      double* const out = design.x.data() + start + j;
      for (std::size_t i = 0; i < kept_.size(); ++i) out[i * design.stride] = column[i];
    }
    note_places(design, first);
    design.rows += kept_.size();
  }

  // The kept rows remember where they were: their numbers jump at dropped rows and where the table's jump.
  void note_places(Design& design, std::size_t first) const {
    const bool no_gap = design.rows == first && kept_.back() + 1 == kept_.size();
    if (no_gap && table_.source.shifts.empty()) return;
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      const std::size_t row = design.rows + i;
      const std::size_t moved = table_.source.number(first + kept_[i]) - design.source.number(row);
      if (moved > 0) design.source.shift(row, moved);
    }
  }

  // Sets kept_ to the rows of the block, relative to its first, in which no column is missing.
  void find_complete_rows(std::size_t first, std::size_t count) {
    kept_.resize(count);
    std::iota(kept_.begin(), kept_.end(), std::size_t{0});
    for (std::size_t c = 0; c < names_.size(); ++c) {
      const std::span<const double> values = columns_.values(names_[c]).subspan(first, count);
      const auto is_missing = [&](std::size_t i) { return std::isnan(values[i]); };
      if (!any_missing(values)) continue;  // nearly always
      for (std::size_t i = 0; i < count; ++i) missing_[c] += is_missing(i) ? 1U : 0U;
      kept_.erase(std::remove_if(kept_.begin(), kept_.end(), is_missing), kept_.end());
    }
    if (options_.missing == Missing::error && kept_.size() < count) {
      std::size_t row = 0;
      while (row < kept_.size() && kept_[row] == row) ++row;
      refuse_missing(first + row);
    }
  }

  void evaluate_offset(std::size_t first, std::span<double> out) {
    evaluate(formula_.offsets[0], columns_, first, out);
    for (std::size_t k = 1; k < formula_.offsets.size(); ++k) {
      const std::span<double> scratch = std::span(factor_).first(out.size());
      evaluate(formula_.offsets[k], columns_, first, scratch);
      for (std::size_t i = 0; i < out.size(); ++i) out[i] += scratch[i];
    }
  }

  void evaluate_term(const Term& term, std::size_t first, std::span<double> out) {
    if (term.factors.empty()) {
      std::fill(out.begin(), out.end(), 1.0);
      return;
    }
    evaluate(term.factors[0], columns_, first, out);
    for (std::size_t k = 1; k < term.factors.size(); ++k) {
      const std::span<double> scratch = std::span(factor_).first(out.size());
      evaluate(term.factors[k], columns_, first, scratch);
      for (std::size_t i = 0; i < out.size(); ++i) out[i] *= scratch[i];
    }
  }

  void refuse_missing(std::size_t row) const {
    const auto name = std::find_if(names_.begin(), names_.end(), [&](const std::string& column) {
      return std::isnan(columns_.values(column)[row]);
    });
    throw DataError(table_.source.place(row),
                    fmt::format("column \"{}\": the cell is empty or NA (`missing error`)", *name));
  }

  void refuse_no_rows() const {
    if (table_.rows == 0) throw DataError(table_.source.name, "no rows");
    const auto worst = std::max_element(missing_.begin(), missing_.end());
    throw DataError(
        table_.source.name,
        fmt::format("every row has a missing cell; column \"{}\" is missing most often, in {} of {} rows",
                    names_[static_cast<std::size_t>(worst - missing_.begin())], *worst, table_.rows));
  }

  // The slow way, taken once: which row of the block, which part of the formula?
  void refuse_first_non_finite(std::size_t first) {
    for (const std::size_t i : kept_) {
      const std::size_t row = first + i;
      double value = 0;
      refuse_non_finite(formula_.response, row);
      for (const Expression& offset : formula_.offsets) refuse_non_finite(offset, row);
      if (!formula_.offsets.empty()) evaluate_offset(row, {&value, 1});
      if (!std::isfinite(value)) refuse_value("the sum of offsets", value, formula_.offsets, row);
      for (const Term& term : formula_.terms) {
        for (const Expression& factor : term.factors) refuse_non_finite(factor, row);
        evaluate_term(term, row, {&value, 1});
        if (!std::isfinite(value)) refuse_value(term.name(), value, term.factors, row);
      }
    }
    assert(false && "a block that is not finite has a row that is not");
  }

  void refuse_non_finite(const Expression& expression, std::size_t row) const {
    double value = 0;
    evaluate(expression, columns_, row, {&value, 1});
    if (!std::isfinite(value)) refuse_value(deparse(expression), value, {&expression, 1}, row);
  }

  // "log(x) is -inf (x = 0)"
  void refuse_value(const std::string& what, double value, std::span<const Expression> parts,
                    std::size_t row) const {
    std::vector<std::string> inputs;
    for (const Expression& part : parts) {
      syntax::for_each_name(part, [&](const Expression& name) {
        std::string input = fmt::format("{} = {}", name.name, columns_.values(name.name)[row]);
        if (std::find(inputs.begin(), inputs.end(), input) == inputs.end())
          inputs.push_back(std::move(input));
      });
    }
    // The sign of a NaN means nothing, yet it would be printed.
    throw DataError(table_.source.place(row),
                    fmt::format("{} is {} ({})", what, std::isnan(value) ? std::fabs(value) : value,
                                fmt::join(inputs, ", ")));
  }

  const Formula& formula_;
  const Table& table_;
  const DesignOptions& options_;
  std::vector<std::string> names_;
  TableColumns columns_;
  std::vector<std::size_t> missing_;  // cells, by column
  std::vector<Moments> moments_;      // by term
  std::vector<double> block_;         // by term (then response and offset), then by row
  std::vector<double> factor_;
  std::vector<std::size_t> kept_;  // rows of the block
};

}  // namespace

Design build_design(const Formula& formula, Table table, const DesignOptions& options) {
  Builder builder(formula, table, options);
  Design design = builder.evaluate_rows();
  const std::vector<Moments> moments = std::move(builder).moments();
  table.columns = {};  // x has taken their place

  check_columns(design, moments, options.scale);
  const std::vector<double> projections = scale_columns(design, moments, options.scale);
  // In few rows columns may coincide by chance, and priors tell their coefficients apart.
  if (design.rows > design.dim) check_pairs(design, moments, projections);
  return design;
}

}  // namespace mlo
