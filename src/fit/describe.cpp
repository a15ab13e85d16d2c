// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/fit/describe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_set>

#include "fit/data_source.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/data/design.hpp"
#include "mlo/data/formula.hpp"
#include "mlo/data/holdout.hpp"
#include "mlo/data/reader.hpp"
#include "mlo/data/table_reader.hpp"
#include "mlo/diagnose/quantile.hpp"
#include "mlo/method/methods.hpp"
#include "mlo/method/plan.hpp"
#include "mlo/model/family.hpp"
#include "mlo/model/glm.hpp"
#include "mlo/model/softmax.hpp"

namespace mlo {
namespace {

using Counted = std::pair<std::string, std::uint64_t>;

// The most frequent first; of equally frequent ones, in the given order.
void sort_by_count(std::vector<Counted>& levels) {
  std::stable_sort(levels.begin(), levels.end(),
                   [](const Counted& a, const Counted& b) { return a.second > b.second; });
}

void describe_numbers(std::span<const double> cells, ColumnDescription& out) {
  Numbers values;
  values.reserve(cells.size());
  std::copy_if(cells.begin(), cells.end(), std::back_inserter(values),
               [](double v) { return !std::isnan(v); });
  out.missing = cells.size() - values.size();
  if (values.empty()) {
    out.least = out.mean = out.sd = out.most = std::numeric_limits<double>::quiet_NaN();
    out.distinct = 0;
    return;
  }
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const Spread spread = spread_of(values);
  out.least = *least;
  out.most = *most;
  out.mean = spread.mean;
  out.sd = spread.sd;
  std::vector<std::pair<double, std::uint64_t>> counts;
  for (const double v : values) {
    const auto at =
        std::find_if(counts.begin(), counts.end(), [v](const auto& entry) { return entry.first == v; });
    if (at != counts.end()) {
      ++at->second;
    } else if (counts.size() < ColumnDescription::few_values) {
      counts.emplace_back(v, 1);
    } else {
      return;
    }
  }
  out.distinct = counts.size();
  std::sort(counts.begin(), counts.end());
  for (const auto& [value, count] : counts)
    out.levels.emplace_back(out.logical ? (value != 0 ? "TRUE" : "FALSE") : fmt::format("{}", value), count);
  sort_by_count(out.levels);
}

void describe_text(const Text& text, ColumnDescription& out) {
  std::vector<std::uint64_t> counts(text.levels.size(), 0);
  for (const std::uint32_t code : text.codes) {
    if (code == Text::missing) {
      ++out.missing;
    } else {
      ++counts[code];
    }
  }
  for (std::size_t k = 0; k < counts.size(); ++k)
    if (counts[k] > 0) out.levels.emplace_back(text.levels[k], counts[k]);
  out.distinct = out.levels.size();
  std::sort(out.levels.begin(), out.levels.end());
  sort_by_count(out.levels);
  if (out.levels.size() > ColumnDescription::shown_levels) out.levels.resize(ColumnDescription::shown_levels);
  out.least = out.mean = out.sd = out.most = std::numeric_limits<double>::quiet_NaN();
}

std::uint64_t bytes_of(const Table& table) {
  std::uint64_t bytes = 0;
  for (const Column& column : table.columns) {
    if (column.is_text()) {
      bytes += column.text().codes.size() * sizeof(std::uint32_t);
      for (const std::string& level : column.text().levels) bytes += sizeof(std::string) + level.size();
    } else {
      bytes += column.size() * sizeof(double);
    }
  }
  return bytes;
}

// What `method auto` will do is decided when the mode is known; what it may be is known now.
std::string method_words(const FitOptions& options, bool groups) {
  if (find_method(options.method)->role != Role::automatic) return options.method;
  if (groups)
    return "auto: exact, from rows that are drawn level by level, or from all rows where these have no bounds";
  const FamilySpec& family = *find_family(options.family);
  if (family.sums) return "auto: exact, from a few sums over the rows";
  if (family.classes || (estimates_second(family, options.numbers) ? family.surfaced : family.curved))
    return "auto: exact or full, whichever is expected to take less time once the mode is known";
  return "auto: full, or difference where full would take more than minutes";
}

DesignDescription describe_design(const FitOptions& options, const Formula& formula, Table table) {
  DesignDescription out;
  if (options.holdout) out.held_out = hold_out(table, options.seed.value_or(1), *options.holdout).rows;
  Design design = build_design(formula, std::move(table), design_options(options));
  const FamilySpec& family = *find_family(options.family);
  if (family.make != nullptr) check_responses(design, *make_family(options.family, options.numbers));
  out.response = design.response;
  out.columns = design.names;
  out.parameters = design.dim + (estimates_second(family, options.numbers) ? 1 : 0);
  if (family.classes) {
    design.response_base = options.base.value_or("");
    out.parameters = design.dim * (classes_of(design).names.size() - 1);
  }
  out.rows = design.rows;
  out.dropped = design.dropped;
  out.design_bytes = design.x.size() * sizeof(double);
  for (const GroupDesign& group : design.groups) {
    std::vector<std::uint64_t> rows(group.levels.size(), 0);
    for (const std::uint32_t code : group.codes) ++rows[code];
    const auto [least, most] = std::minmax_element(rows.begin(), rows.end());
    const std::size_t d = group.dim();
    out.parameters += d + (group.correlated ? d * (d - 1) / 2 : 0);
    out.groups.push_back({group.name, group.levels.size(), group.effects, *least, *most});
    out.design_bytes += group.codes.size() * sizeof(std::uint32_t) + group.z.size() * sizeof(float);
  }
  out.method = method_words(options, !design.groups.empty());
  return out;
}

Description describe(const FitOptions& options, Reader& reader, const std::string& name,
                     const Reader::Progress& progress) {
  Description out;
  out.data = name;
  std::optional<Formula> formula;
  std::vector<std::string> wanted;
  if (!options.formula.empty()) {
    check(options);
    formula = parse_formula(options.formula, reader.header());
    wanted = wanted_columns(options, *formula, reader.header());
  } else {
    std::unordered_set<std::string_view> seen;  // a name may occur twice, and there may be a million of them
    for (const std::string& column : reader.header())
      if (seen.insert(column).second) wanted.push_back(column);
  }
  out.file_columns = reader.header().size();
  Table table = reader.read(wanted, progress);
  out.rows = table.rows;
  out.table_bytes = bytes_of(table);
  for (const Column& column : table.columns) out.columns.push_back(describe(column));
  if (formula) out.design = describe_design(options, *formula, std::move(table));
  return out;
}

}  // namespace

ColumnDescription describe(const Column& column) {
  ColumnDescription out;
  out.name = column.name;
  out.text = column.is_text();
  out.logical = column.logical;
  if (out.text) {
    describe_text(column.text(), out);
  } else {
    Column numbers = column;
    numbers.make_doubles();
    describe_numbers(numbers.values(), out);
  }
  return out;
}

Description describe(const FitOptions& options,
                     const std::function<void(const std::string& what, double share)>& phase) {
  const std::unique_ptr<Reader> reader = open_data(options);
  const std::string name = data_words(options);
  return describe(options, *reader, name, [&](double share) {
    if (phase) phase("reading " + name, share);
  });
}

Description describe(const FitOptions& options, Reader& reader, const Reader::Progress& progress) {
  return describe(options, reader, data_words(options), progress);
}

Description describe(const FitOptions& options, Table table) {
  const std::string name = table.source.name;
  TableReader reader(std::move(table));
  return describe(options, reader, name, {});
}

}  // namespace mlo
