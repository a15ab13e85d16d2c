// Copyright (c) the mlo authors. BSD-3-Clause.
// One pass over the table in blocks: evaluate, drop rows with missing cells, check, transpose into records.
#include "mlo/data/design.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "data/csv_text.hpp"
#include "data/design_groups.hpp"
#include "data/design_response.hpp"
#include "data/design_scale.hpp"
#include "data/design_terms.hpp"
#include "data/formula_syntax.hpp"
#include "data/plain_rows.hpp"
#include "data/row_cells.hpp"
#include "data/values.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/base/pages.hpp"
#include "mlo/data/text_columns.hpp"

namespace mlo {
namespace {

// The bits of a number that may hold codes. The others are those of a number between 1 and 2, because SIMD
// loads read past the columns and multiply what they find by 0: it must be finite, and not so small that it
// is slow.
constexpr unsigned code_bits = 52;
constexpr std::uint64_t no_codes = 0x3FF0'0000'0000'0000U;
static_assert(std::bit_cast<double>(no_codes) == 1);

class Builder {
 public:
  // The table's numbers are given back to the system as they are read.
  Builder(const Formula& formula, Table& table, const DesignOptions& options, std::vector<Learnt>& learnt)
      : formula_(formula),
        table_(table),
        options_(options),
        binder_(formula, table, learnt),
        response_(formula, table, options, binder_),
        plan_(plan_records(formula, binder_)) {
    groups_.reserve(formula.groups.size());
    for (const GroupTerm& group : formula.groups) groups_.emplace_back(formula, group, binder_, table.rows);
    lay_out();
  }

  // Fills all but centre, scale and sd; dense columns are as evaluated.
  Design evaluate_rows() {
    Design design;
    design.source = table_.source.without_rows();
    design.response = deparse(formula_.response);
    design.response_levels = response_.levels();
    design.intercept = formula_.intercept;
    design.rows_in_file = table_.rows;
    design.has_offset = response_.has_offset();
    design.has_weight = response_.has_weight();
    design.shares = response_.shares();
    design.counted = response_.counted();
    design.stride = stride_;
    // Reserved for all rows, touched only for those that are kept.
    design.x.reserve(table_.rows * design.stride + Design::row_padding);
    moments_.resize(dense_);
    const bool once = std::all_of(groups_.begin(), groups_.end(),
                                  [](const GroupReader& group) { return group.effects().empty(); });
    std::vector<FrontRelease> read;
    for (const Column& column : table_.columns)
      if (const Numbers* const own = std::get_if<Numbers>(&column.cells); own != nullptr && once)
        read.emplace_back(own->data());
    for (std::size_t first = 0; first < table_.rows; first += block_rows) {
      add_block(design, first, std::min(block_rows, table_.rows - first));
      check_rows(design);
      if (design.rows == 0) continue;  // a message may have to say what is missing
      for (FrontRelease& column : read) column.up_to(first * sizeof(double));
    }
    design.dropped = table_.rows - design.rows - design.weightless;
    if (design.rows == 0) refuse_no_rows(design);
    design.x.resize(design.rows * design.stride + Design::row_padding);
    for (const Variable& variable : plan_.variables)
      if (const Column* const text = plain_text(variable);
          text != nullptr && mostly_numbers(text->text()) && levels_used(variable) > options_.max_levels)
        throw not_numbers(table_, *text);
    sums_ = make_columns(formula_, plan_, multiplier_slots_, options_.max_levels, design);
    return design;
  }

  // The groups, once the rows are read. Returns the factors among their effects.
  std::vector<FactorLevels> finish_groups(Design& design) {
    std::vector<FactorLevels> factors;
    for (GroupReader& group : groups_) {
      GroupDesign& made = design.groups.emplace_back();
      GroupRecipe& recipe = design.recipe.groups.emplace_back();
      group.finish(made, recipe);
      group.write_multipliers(table_, used_rows_, options_.scale, made, recipe);
      std::vector<FactorLevels> its = group.factors();
      factors.insert(factors.end(), std::make_move_iterator(its.begin()), std::make_move_iterator(its.end()));
    }
    return factors;
  }

  // The moments of all columns.
  [[nodiscard]] std::vector<Moments> moments(const Design& design) const {
    std::vector<Moments> all(design.dim);
    for (std::size_t d = 0; d < dense_; ++d) all[design.dense[d]] = moments_[d];
    const auto n = static_cast<double>(design.rows);
    for (std::size_t j = 0; j < design.dim; ++j) {
      if (design.level_rows[j] == 0) continue;
      Moments& column = all[j];
      column.count = n;
      column.mean = sums_[j].sum / n;
      column.deviations = std::max(0.0, sums_[j].squares - n * column.mean * column.mean);
      column.constant = column.deviations <= 1e-13 * sums_[j].squares;
      column.first = column.mean;
    }
    return all;
  }

  // The sd of the numbers that multiply levels, by column; 1 for plain levels, 0 for dense columns.
  [[nodiscard]] std::vector<double> typical(const Design& design) const {
    std::vector<double> out(design.dim, 0);
    for (std::size_t b = 0; b < design.blocks.size(); ++b) {
      const LevelBlock& block = design.blocks[b];
      double size = 1;
      if (block.number != LevelBlock::no_number) {
        double rows = 0, sum = 0, squares = 0;
        for (const CellSums& cell : plan_.blocks[b].sums) {
          rows += cell.rows;
          sum += cell.sum;
          squares += cell.squares;
        }
        const double variance = squares / rows - (sum / rows) * (sum / rows);
        size = std::sqrt(variance > 1e-12 * squares / rows ? variance : squares / rows);
      }
      for (const std::uint32_t j : block.columns) out[j] = size;
    }
    return out;
  }

 private:
  static std::size_t levels_used(const Variable& variable) {
    return static_cast<std::size_t>(std::count_if(variable.level_counts.begin(), variable.level_counts.end(),
                                                  [](std::size_t n) { return n > 0; }));
  }

  // The text column that a factor is, without any function.
  [[nodiscard]] const Column* plain_text(const Variable& variable) const {
    if (!variable.is_factor() || variable.expression.kind != Expression::Kind::name) return nullptr;
    for (const Column& column : table_.columns)
      if (column.name == variable.expression.name && column.is_text()) return &column;
    return nullptr;
  }

  // Where things are in a record: dense columns, response, offset, weight, multipliers, codes.
  void lay_out() {
    dense_ = plan_.dense.size() + (formula_.intercept ? 1 : 0);
    stride_ = dense_ + 1 + (response_.has_offset() ? 1 : 0) + (response_.has_weight() ? 1 : 0);
    for (std::size_t m = 0; m < plan_.multipliers.size(); ++m) multiplier_slots_.push_back(stride_++);
    unsigned used = code_bits;
    for (Variable& variable : plan_.variables) {
      if (!variable.is_factor()) continue;
      const auto bits =
          static_cast<unsigned>(std::bit_width(std::max<std::size_t>(variable.values->levels.size(), 2) - 1));
      if (used + bits > code_bits) {
        code_slots_.push_back(stride_++);
        used = 0;
      }
      variable.field = {.slot = stride_ - 1, .shift = used, .mask = (std::uint64_t{1} << bits) - 1};
      used += bits;
    }
    if (!groups_.empty()) used_rows_.assign(table_.rows, false);
  }

  void evaluate_block(std::size_t first, std::size_t count) {
    response_.evaluate(first, count);
    block_.evaluate(plan_.variables, first, count);
    for (GroupReader& group : groups_) group.evaluate(first, count);
  }

  // Sets kept_ to the rows of the block, relative to its first, that are used.
  void find_complete_rows(Design& design, std::size_t first, std::size_t count) {
    keep_.assign(count, 1);
    bool all = true;
    const auto look_at = [&](std::span<const double> values, const Expression& e) {
      for (std::size_t i = 0; i < count; ++i) {
        if (std::isfinite(values[i])) continue;
        if (!std::isnan(values[i]) || !cells_.any_missing(e, first + i)) {
          if (keep_[i] != 0)
            refuse_.push_back(first + i);  // only if the row is not dropped for another reason
          continue;
        }
        keep_[i] = 0;
        all = false;
      }
    };
    refuse_.clear();
    response_.for_each([&](const Single& part) { look_at(part.block, part.expression); });
    const auto look_at_all = [&](std::span<const Variable> variables, const VariableBlock& block) {
      for (std::size_t v = 0; v < variables.size(); ++v) {
        const Variable& variable = variables[v];
        if (!variable.is_factor()) {
          for (std::size_t c = 0; c < variable.values->width; ++c)
            look_at(std::span(block.numbers[v]).subspan(c * count, count), variable.expression);
          continue;
        }
        for (std::size_t i = 0; i < count; ++i) {
          if (block.codes[v][i] < unknown_level) continue;
          if (variable.values->strict && !cells_.any_missing(variable.expression, first + i)) {
            refuse_.push_back(first + i);
            continue;
          }
          keep_[i] = 0;
          all = false;
        }
      }
    };
    look_at_all(plan_.variables, block_);
    for (const GroupReader& group : groups_) {
      look_at_all(group.grouping(), group.grouping_block());
      look_at_all(group.effects(), group.effects_block());
    }
    if (options_.missing == Missing::error && !all)
      refuse_missing(first +
                     static_cast<std::size_t>(std::find(keep_.begin(), keep_.end(), 0) - keep_.begin()));
    for (const std::size_t row : refuse_)
      if (keep_[row - first] != 0) refuse_non_finite(row);
    design.weightless += response_.combine(first, keep_);
    kept_.clear();
    for (std::size_t i = 0; i < count; ++i)
      if (keep_[i] != 0) kept_.push_back(i);
  }

  void add_block(Design& design, std::size_t first, std::size_t count) {
    evaluate_block(first, count);
    find_complete_rows(design, first, count);
    if (kept_.empty()) return;
    const std::size_t start = design.x.size();
    design.x.resize(start + kept_.size() * stride_);
    double* const out = design.x.data() + start;
    std::vector<double> column(kept_.size());
    const auto write = [&](std::size_t slot) {
      for (std::size_t i = 0; i < kept_.size(); ++i) out[i * stride_ + slot] = column[i];
    };
    const auto kept_of = [&](std::span<const double> values) {
      for (std::size_t i = 0; i < kept_.size(); ++i) column[i] = values[kept_[i]];
    };
    std::size_t slot = 0;
    const auto dense = [&] {
      moments_[slot].add(column);
      write(slot++);
    };
    if (formula_.intercept) {
      std::fill(column.begin(), column.end(), 1.0);
      dense();
    }
    for (const NumberProduct& product : plan_.dense) {
      product_of(product, first, count, column);
      dense();
    }
    kept_of(response_.y());
    write(slot++);
    if (design.has_offset) {
      kept_of(response_.offset());
      write(slot++);
    }
    if (design.has_weight) {
      kept_of(response_.weight());
      write(slot++);
    }
    for (const NumberProduct& product : plan_.multipliers) {
      product_of(product, first, count, column);
      write(slot++);
    }
    write_codes(out);
    for (BlockPlan& block : plan_.blocks) count_cells(block, out);
    for (GroupReader& group : groups_) group.add(kept_);
    if (!groups_.empty())
      for (const std::size_t i : kept_) used_rows_[first + i] = true;
    note_places(design, first);
    design.rows += kept_.size();
  }

  // The kept rows' products of numbers. Each number is finite; a product that is not is refused.
  void product_of(const NumberProduct& product, std::size_t first, std::size_t count,
                  std::span<double> out) const {
    std::fill(out.begin(), out.end(), 1.0);
    bool finite = true;
    for (std::size_t k = 0; k < product.parts.size(); ++k) {
      const auto& [v, c] = product.parts[k];
      const double* const values = block_.numbers[v].data() + c * count;
      for (std::size_t i = 0; i < kept_.size(); ++i) {
        out[i] = k == 0 ? values[kept_[i]] : out[i] * values[kept_[i]];
        finite = finite && std::isfinite(out[i]);
      }
    }
    if (finite) return;
    std::vector<Expression> parts;
    std::string name;
    for (const auto& [v, c] : product.parts) {
      name += (name.empty() ? "" : ":") + plan_.variables[v].name;
      parts.push_back(plan_.variables[v].expression);
    }
    for (std::size_t i = 0; i < kept_.size(); ++i)
      if (!std::isfinite(out[i])) cells_.refuse(name, out[i], parts, first + kept_[i]);
  }

  void write_codes(double* out) {
    if (code_slots_.empty()) return;
    std::vector<std::uint64_t> bits(kept_.size());
    for (const std::size_t slot : code_slots_) {
      std::fill(bits.begin(), bits.end(), no_codes);
      for (std::size_t v = 0; v < plan_.variables.size(); ++v) {
        Variable& variable = plan_.variables[v];
        if (!variable.is_factor() || variable.field.slot != slot) continue;
        for (std::size_t i = 0; i < kept_.size(); ++i) {
          const std::uint32_t code = block_.codes[v][kept_[i]];
          ++variable.level_counts[code];
          bits[i] |= static_cast<std::uint64_t>(code) << variable.field.shift;
        }
      }
      for (std::size_t i = 0; i < kept_.size(); ++i) out[i * stride_ + slot] = std::bit_cast<double>(bits[i]);
    }
  }

  void count_cells(BlockPlan& block, const double* rows) const {
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      const double* const row = rows + i * stride_;
      std::size_t cell = 0;
      for (std::size_t f = 0; f < block.factors.size(); ++f)
        cell += block.strides[f] * plan_.variables[block.factors[f]].field.read(row);
      const double m =
          block.multiplier == LevelBlock::no_number ? 1 : row[multiplier_slots_[block.multiplier]];
      CellSums& sums = block.sums[cell];
      sums.rows += 1;
      sums.sum += m;
      sums.squares += m * m;
    }
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

  // ---- messages; the slow way, taken once

  template <class Visit>
  void for_each_expression(const Visit& visit) const {
    response_.for_each([&](const Single& part) { visit(part.expression, *part.values); });
    for (const Variable& variable : plan_.variables) visit(variable.expression, *variable.values);
    for (const GroupReader& group : groups_)
      for (const std::span<const Variable> variables : {group.grouping(), group.effects()})
        for (const Variable& variable : variables) visit(variable.expression, *variable.values);
  }

  [[noreturn]] void refuse_missing(std::size_t row) const {
    std::string what;
    for_each_expression([&](const Expression& e, const Values&) {
      syntax::for_each_name(e, [&](const Expression& name) {
        if (what.empty() && cells_.is_missing(name.name, row))
          what = fmt::format("column \"{}\": the cell is empty or NA (`missing error`)", name.name);
      });
    });
    if (what.empty()) what = "a factor has none of its levels here (`missing error`)";
    throw DataError(table_.source.place(row), what);
  }

  [[noreturn]] void refuse_no_rows(const Design& design) const {
    if (table_.rows == 0) throw DataError(table_.source.name, "no rows");
    if (design.weightless > 0)
      throw DataError(table_.source.name, "no row is left: the complete ones all have the weight 0");
    std::string worst;
    std::size_t most = 0;
    std::vector<char> incomplete(table_.rows, 0);
    for_each_expression([&](const Expression& e, const Values&) {
      syntax::for_each_name(e, [&](const Expression& name) {
        std::size_t count = 0;
        for (std::size_t row = 0; row < table_.rows; ++row) {
          if (!cells_.is_missing(name.name, row)) continue;
          ++count;
          incomplete[row] = 1;
        }
        if (count <= most) return;
        most = count;
        worst = name.name;
      });
    });
    if (most == 0) refuse_missing_levels();
    if (const auto complete = std::count(incomplete.begin(), incomplete.end(), 0); complete > 0)
      throw DataError(
          table_.source.name,
          fmt::format("no row is left: in {} of {} rows a factor has none of its levels, and in the "
                      "others a cell is missing",
                      complete, table_.rows));
    throw DataError(
        table_.source.name,
        fmt::format("every row has a missing cell; column \"{}\" is missing most often, in {} of {} rows",
                    worst, most, table_.rows));
  }

  // No cell is missing, and yet no row is complete: the levels that a formula names do not occur.
  [[noreturn]] void refuse_missing_levels() const {
    std::vector<std::string> without;
    for_each_expression([&](const Expression& e, const Values& values) {
      if (values.type != Values::Type::factor) return;
      bool some = false;
      for (std::size_t row = 0; row < table_.rows && !some; ++row) {
        std::uint32_t code = 0;
        values.codes(row, {&code, 1});
        some = code < unknown_level;
      }
      if (!some) without.push_back(deparse(e));
    });
    throw DataError(table_.source.name,
                    without.empty()
                        ? "in every row a factor has none of the levels that the formula gives it"
                        : fmt::format("no row has any of the levels of {}", fmt::join(without, ", ")));
  }

  [[noreturn]] void refuse_non_finite(std::size_t row) const {
    for_each_expression([&](const Expression& e, const Values& values) {
      if (values.type == Values::Type::factor) {
        std::uint32_t code = 0;
        values.codes(row, {&code, 1});
        if (values.strict && code >= unknown_level) cells_.refuse(deparse(e), std::nan(""), {&e, 1}, row);
        return;
      }
      std::vector<double> here(values.width);
      values.numbers(row, 1, here);
      for (const double value : here)
        if (!std::isfinite(value)) cells_.refuse(deparse(e), value, {&e, 1}, row);
    });
    std::abort();  // a row is refused because one of its values is not finite
  }

  const Formula& formula_;
  const Table& table_;
  RowCells cells_{table_};
  const DesignOptions& options_;
  Binder binder_;
  ResponseReader response_;
  RecordPlan plan_;
  std::vector<GroupReader> groups_;
  std::vector<bool> used_rows_;  // of the table, if there are groups
  std::size_t dense_ = 0;
  std::size_t stride_ = 0;
  std::vector<std::size_t> multiplier_slots_;
  std::vector<std::size_t> code_slots_;

  // Of a block of rows:
  VariableBlock block_;
  std::vector<char> keep_;
  std::vector<std::size_t> kept_;
  std::vector<std::size_t> refuse_;  // rows of the table with a value that is not finite

  std::vector<Moments> moments_;  // of the dense columns
  std::vector<ColumnSums> sums_;  // of all columns; 0 for dense ones
};

}  // namespace

namespace {

// Levels of new data are those that the fit has coefficients for.
void keep_used_levels(std::span<const FactorLevels> factors, std::span<Learnt> learnt) {
  for (const FactorLevels& factor : factors)
    for (Learnt& entry : learnt)
      if (entry.expression == factor.name) {
        // The base of treatment contrasts may be another than the first.
        const auto base = std::find(factor.levels.begin(), factor.levels.end(), factor.base);
        entry.numbers = {base == factor.levels.end() ? 0 : static_cast<double>(base - factor.levels.begin())};
        entry.levels = factor.levels;
      }
}

}  // namespace

Design build_design(const Formula& formula, Table table, const DesignOptions& options) {
  std::vector<Learnt> learnt;
  Design design;
  std::vector<Moments> moments;
  std::vector<FactorLevels> effects;
  {
    Builder builder(formula, table, options, learnt);
    design = builder.evaluate_rows();
    effects = builder.finish_groups(design);
    moments = builder.moments(design);
    design.typical = builder.typical(design);
  }
  design.recipe.names = design.names;
  design.recipe.learnt = std::move(learnt);
  keep_used_levels(design.factors, design.recipe.learnt);
  keep_used_levels(effects, design.recipe.learnt);
  table.columns = {};  // x has taken their place

  check_columns(design, moments, options.scale);
  const std::vector<double> projections = scale_columns(design, moments, options.scale);
  // In few rows columns may coincide by chance, and priors tell their coefficients apart.
  if (design.rows > design.dim) check_pairs(design, moments, projections);
  return design;
}

void Design::working_row(std::size_t i, std::span<double> out) const noexcept {
  const double* const record = row(i);
  for (std::size_t j = 0; j < dim; ++j) out[j] = -shift[j] / divisor[j];
  for (std::size_t d = 0; d < dense.size(); ++d) out[dense[d]] = record[d];
  for (const LevelBlock& block : blocks) {
    const std::size_t cell = block.cell(record);
    for (std::size_t e = block.starts[cell]; e < block.starts[cell + 1]; ++e) {
      const std::size_t j = block.columns[e];
      out[j] = (block.values[e] * block.factor(record) - shift[j]) / divisor[j];
    }
  }
}

void Design::user_row(std::size_t i, std::span<double> out) const noexcept {
  working_row(i, out);
  for (std::size_t j = 0; j < dim; ++j) out[j] = centre[j] + scale[j] * out[j];
}

}  // namespace mlo
