// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/fit/predict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <optional>
#include <thread>

#include "fit/data_source.hpp"
#include "fit/group_rows.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/base/thread_pool.hpp"
#include "mlo/data/new_rows.hpp"
#include "mlo/data/reader.hpp"
#include "mlo/data/table_reader.hpp"
#include "mlo/data/text_columns.hpp"
#include "mlo/diagnose/class_predictions.hpp"
#include "mlo/fit/runs.hpp"

namespace mlo {
namespace {

// Rows that are predicted before they are handed over: enough work for all threads, in little memory.
constexpr std::size_t rows_at_a_time = 16'384;

PredictionType type_of(const std::string& word) {
  if (word == "link") return PredictionType::link;
  if (word == "response") return PredictionType::response;
  if (word == "draw") return PredictionType::draw;
  throw UsageError(fmt::format("`type` must be one of response, link, draw (got \"{}\")", word));
}

const FamilySpec& family_of(const KeptRun& run) {
  const FamilySpec* const family = find_family(run.options.family);
  if (family == nullptr || (family->make == nullptr && !family->classes))
    throw UsageError(
        fmt::format("{} is of `family {}`, which has no columns: there is nothing to predict",
                    run.directory.empty() ? "this fit" : fmt::format("the run in {}", run.directory),
                    run.options.family));
  return *family;
}

[[noreturn]] void refuse_prediction(const NewRows& rows, std::size_t row, PredictionType type) {
  throw DataError(rows.place(row),
                  type == PredictionType::link
                      ? "the linear predictor of this row is too large for double precision"
                  : type == PredictionType::response
                      ? "the mean response of this row is too large for double precision; is the row far "
                        "outside the data of the fit? `type link` shows its linear predictor"
                      : "a response simulated for this row is too large for double precision; is the row far "
                        "outside the data of the fit? `type link` shows its linear predictor");
}

// What one block of rows needs.
struct Buffers {
  std::vector<double> x, offsets;
  std::vector<char> complete;
  std::vector<Prediction> predictions;

  Buffers(std::size_t rows, std::size_t dim, std::size_t outputs)
      : x(rows * dim), offsets(rows), complete(rows), predictions(rows * outputs) {}
};

// Predicts rows from their columns, whatever the family is.
using PredictBlock = std::function<void(ThreadPool& pool, std::size_t first, std::span<const double> x,
                                        std::span<const double> offsets, std::span<Prediction> out,
                                        const AddToPredictors& more)>;

struct BlockPredictor {
  PredictBlock predict;
  std::uint64_t draws;
};

BlockPredictor predictor_of(const PredictOptions& options, const KeptRun& run, const FamilySpec& family) {
  const PredictorOptions how{.type = type_of(options.type),
                             .interval = options.interval,
                             .seed = options.seed.value_or(*run.options.seed)};
  const std::size_t width = run.recipe.names.size();
  if (family.classes) {
    const auto predictor =
        std::make_shared<const ClassPredictor>(run.chains, width, run.recipe.classes.size());
    return {[predictor, how](ThreadPool& pool, std::size_t /*first*/, std::span<const double> x,
                             std::span<const double> /*offsets*/, std::span<Prediction> out,
                             const AddToPredictors& /*more*/) { predictor->predict(pool, how, x, out); },
            predictor->draws()};
  }
  const auto draws = std::make_shared<const PosteriorDraws>(run.chains, width,
                                                            estimates_second(family, run.options.numbers));
  const auto predictor = std::make_shared<const Predictor>(family, run.options.numbers, *draws, how);
  return {[draws, predictor](ThreadPool& pool, std::size_t first, std::span<const double> x,
                             std::span<const double> offsets, std::span<Prediction> out,
                             const AddToPredictors& more) {
            predictor->predict(pool, first, x, offsets, out, more);
          },
          draws->draws()};
}

// The parameters that a recipe with these columns has.
std::size_t parameters_of(const KeptRun& run, const FamilySpec& family) {
  const std::size_t width = run.recipe.names.size();
  if (family.classes) return run.recipe.classes.size() < 2 ? 0 : width * (run.recipe.classes.size() - 1);
  return width + (estimates_second(family, run.options.numbers) ? 1 : 0);
}

NewRowOptions row_options(const PredictOptions& options) {
  NewRowOptions out{.response = false,
                    .missing = options.missing == "error" ? Missing::error : Missing::drop,
                    .new_levels = options.new_levels == "missing" ? NewLevels::missing : NewLevels::error};
  if (options.new_levels == "missing" || options.new_levels == "error") out.new_groups = out.new_levels;
  return out;
}

// The parameters of a run are coefficients, the second parameter, and the terms' sds and correlations.
void check_parameters(const KeptRun& run, const FamilySpec& family, const std::vector<GroupLaw>& laws) {
  std::size_t expected = parameters_of(run, family);
  for (const GroupLaw& law : laws) expected += law.parameters();
  if (expected != run.names.size())
    throw DataError(run.directory + "/run.json",
                    fmt::format("{} parameters, but its recipe has {} columns and {} groupings: not a run of "
                                "this version",
                                run.names.size(), run.recipe.names.size(), laws.size()));
}

// Whether something is simulated, so that a seed has a meaning.
void check_seed(const PredictOptions& options, bool groups) {
  if (!options.seed || options.type == "draw" || (groups && options.new_levels == "sample")) return;
  throw UsageError(fmt::format("`seed` has no meaning with `type {}`{}: nothing is simulated", options.type,
                               groups ? fmt::format(" and `new-levels {}`", options.new_levels) : ""));
}

// The groups of some rows: looks at them before they are predicted.
class GroupsOfRows {
 public:
  GroupsOfRows(const PredictOptions& options, const KeptRun& run, const NewRows& rows,
               std::vector<GroupLaw> laws, std::size_t first_parameter)
      : population_(options.new_levels == "population"),
        rows_(rows),
        draws_(run.chains, std::move(laws), first_parameter,
               {.sample = options.new_levels == "sample", .seed = options.seed.value_or(*run.options.seed)}) {
  }

  // So many that the effects of their levels take little memory, though every row may have levels of its own.
  [[nodiscard]] std::size_t at_a_time(std::size_t most) const {
    std::size_t effects = 0;
    for (const GroupLaw& law : draws_.laws()) effects += law.dim;
    if (effects == 0) return most;
    constexpr std::size_t bytes = std::size_t{64} << 20U, fewest = 1024;
    return std::clamp(bytes / (sizeof(float) * effects * std::max<std::size_t>(draws_.draws(), 1)), fewest,
                      most);
  }
  void resize(std::size_t count) { groups_ = row_groups(rows_, count); }
  [[nodiscard]] std::vector<NewRows::GroupBlock> blocks(std::size_t first, std::size_t count) {
    return group_blocks(rows_, groups_, first, count);
  }

  // After the groups of the rows were written; `first` is the number of the first of them.
  void prepare(ThreadPool& pool, std::size_t first, std::span<const char> complete, PredictAccount& account) {
    if (groups_.empty()) return;
    for (std::size_t i = 0; i < complete.size(); ++i) {
      bool fresh = false, known = false;
      for (const RowGroups& term : groups_) (term.codes[i] == GroupDraws::new_level ? fresh : known) = true;
      if (complete[i] == 0) continue;
      account.new_groups += fresh ? 1 : 0;
      if (!known || draws_.kept()) continue;
      if (!population_) refuse(first + i);
      ++account.without_effects;
    }
    for (RowGroups& term : groups_)  // the last rows are fewer
      std::fill(term.codes.begin() + static_cast<std::ptrdiff_t>(complete.size()), term.codes.end(),
                GroupDraws::new_level);
    draws_.prepare(groups_, pool);
  }
  [[nodiscard]] AddToPredictors more() const {
    if (groups_.empty()) return {};
    return [this](std::size_t row, std::size_t first, std::span<double> eta) {
      draws_.add(groups_, row, first, eta);
    };
  }

 private:
  [[noreturn]] void refuse(std::size_t row) const {
    throw UsageError(fmt::format(
        "{}: the draws of this row's group effects were not kept, so it cannot be predicted; fit again with "
        "`save-groups yes`, or leave the effects out with `new-levels population`",
        rows_.place(row)));
  }

  bool population_;
  const NewRows& rows_;
  GroupDraws draws_;
  std::vector<RowGroups> groups_;
};

// Text where the fit had numbers. Groups and levels may be spelled as text: "12", and "12.0" too, is the
// group 12, as it would be in a file. Elsewhere it is a mistake, with its place.
void make_numbers(const Formula& formula, const Table& table, Column& column) {
  std::optional<Numbers> numbers = spelled_numbers(column.text());
  if (!numbers) throw not_numbers(table, column);
  if (!only_levels_matter(formula, column.name))
    throw DataError(table.source.name,
                    fmt::format("column \"{}\" holds numbers as text (\"{}\"), but it held "
                                "numbers in the data of the fit; convert it to numbers",
                                column.name, column.text().levels.empty() ? "" : column.text().levels[0]));
  column.cells = *std::move(numbers);
}

// Gives the columns the types that they had in the fit: numbers that are 0 and 1 may stand for FALSE and
// TRUE, and the other way round.
void agree_on_types(const KeptRun& run, const Formula& formula, Table& table) {
  for (Column& column : table.columns) {
    const auto used = std::find_if(run.columns.begin(), run.columns.end(),
                                   [&](const UsedColumn& c) { return c.name == column.name; });
    if (used == run.columns.end() || used->text) continue;
    if (column.is_text()) make_numbers(formula, table, column);
    column.make_doubles();
    const std::span<const double> cells = column.values();
    const auto odd =
        std::find_if(cells.begin(), cells.end(), [](double v) { return v != 0 && v != 1 && !std::isnan(v); });
    if (used->logical && odd != cells.end())
      throw DataError(
          table.source.place(static_cast<std::size_t>(odd - cells.begin())),
          fmt::format("column \"{}\": {} is neither TRUE nor FALSE, as its cells were in the data "
                      "of the fit",
                      column.name, *odd));
    column.logical = used->logical;
  }
}

PredictAccount predict(const PredictOptions& options, const KeptRun& run, Reader& reader,
                       const std::string& data, const std::function<void(const PredictedRows&)>& take,
                       const PredictWatcher& watcher) {
  const FamilySpec& family = family_of(run);
  const Formula formula = parse_formula(run.options.formula, run.column_names());
  if (formula.groups.size() != run.recipe.groups.size())
    throw DataError(run.directory + "/run.json", "its formula and its recipe differ in their groupings");
  std::vector<GroupLaw> laws = laws_of(formula, run.recipe);
  check_parameters(run, family, laws);
  check_seed(options, !laws.empty());
  const auto interrupted = [&] { return watcher.interrupt != nullptr && watcher.interrupt->load(); };
  const auto show = [&](const std::string& what, double share) {
    if (interrupted()) throw Interrupted("interrupted before all rows were predicted");
    if (watcher.phase) watcher.phase(what, share);
  };
  const std::vector<std::string> wanted = columns_of_rows(formula, false);
  check_header(data, reader.header(), wanted);
  Table table = reader.read(wanted, [&](double share) { show("reading " + data, share); });
  agree_on_types(run, formula, table);
  const NewRows rows(formula, run.recipe, table, row_options(options));
  const PredictionType type = type_of(options.type);
  const std::size_t outputs = outputs_of(options, run).size();
  const BlockPredictor predictor = predictor_of(options, run, family);
  ThreadPool pool(options.threads == 0 ? std::max(1U, std::thread::hardware_concurrency())
                                       : static_cast<std::size_t>(options.threads));

  GroupsOfRows groups(options, run, rows, std::move(laws), parameters_of(run, family));

  PredictAccount account;
  account.draws = predictor.draws;
  const std::size_t at_a_time = groups.at_a_time(rows_at_a_time);
  Buffers all(std::min(at_a_time, rows.rows()), rows.dim(), outputs);
  groups.resize(std::min(at_a_time, rows.rows()));
  const AddToPredictors more = groups.more();
  for (std::size_t first = 0; first < rows.rows(); first += at_a_time) {
    const std::size_t count = std::min(at_a_time, rows.rows() - first);
    constexpr std::size_t part = 1024;
    const std::size_t dim = rows.dim();
    pool.run((count + part - 1) / part, [&](std::size_t task) {
      const std::size_t at = task * part, here = std::min(part, count - at);
      const std::vector<NewRows::GroupBlock> blocks = groups.blocks(at, here);
      rows.fill(first + at, {.x = std::span(all.x).subspan(at * dim, here * dim),
                             .offsets = std::span(all.offsets).subspan(at, here),
                             .y = {},
                             .complete = std::span(all.complete).subspan(at, here),
                             .groups = blocks});
    });
    groups.prepare(pool, first, std::span(all.complete).first(count), account);
    const std::span<Prediction> predictions = std::span(all.predictions).first(count * outputs);
    predictor.predict(pool, first, std::span(all.x).first(count * dim), std::span(all.offsets).first(count),
                      predictions, more);
    for (std::size_t i = 0; i < count; ++i) {
      if (all.complete[i] == 0) {
        ++account.missing;
        continue;
      }
      for (std::size_t m = 0; m < outputs; ++m)
        if (!std::isfinite(predictions[i * outputs + m].mean)) refuse_prediction(rows, first + i, type);
    }
    take({first, count, predictions, std::span(all.complete).first(count)});
    account.rows += count;
    show("predicting", static_cast<double>(account.rows) / static_cast<double>(rows.rows()));
  }
  return account;
}

// The new data are read as the run's were, unless the options say otherwise. What is a factor there is one
// here, though all its levels may look like numbers. The header is read first: a column that is not there is
// not a type that is wrong. Standard input can be opened only once.
std::unique_ptr<Reader> open_new_data(const PredictOptions& options, const KeptRun& run) {
  FitOptions data = run.options;
  data.data = {options.data};
  data.sql = {};
  data.threads = options.threads;
  data.types = {};
  if (options.delimiter) data.delimiter = options.delimiter;
  if (options.decimal) data.decimal = options.decimal;
  if (options.comment) data.comment = options.comment;
  if (options.na) data.na = options.na;
  const Formula formula = parse_formula(run.options.formula, run.column_names());
  const std::vector<std::string> wanted = columns_of_rows(formula, false);
  if (options.data != "-") check_header(options.data, open_data(data)->header(), wanted);
  for (const std::string& column : text_columns_of(run)) data.types.emplace_back(column, "text");
  return open_data(data);
}

}  // namespace

std::pair<std::string, std::string> quantile_names(double interval) {
  const auto name = [](double probability) { return fmt::format("q{:.6g}", 100 * probability); };
  return {name(0.5 - 0.5 * interval), name(0.5 + 0.5 * interval)};
}

void check(const PredictOptions& options) {
  static_cast<void>(type_of(options.type));
  if (!(options.interval > 0 && options.interval < 1))
    throw UsageError(fmt::format("`interval` must be between 0 and 1, exclusive (got {})", options.interval));
  if (options.missing != "empty" && options.missing != "error")
    throw UsageError(fmt::format("`missing` must be one of empty, error (got \"{}\")", options.missing));
  if (options.new_levels != "sample" && options.new_levels != "population" && options.new_levels != "error" &&
      options.new_levels != "missing")
    throw UsageError(fmt::format(
        "`new-levels` must be one of sample, population, error, missing (got \"{}\")", options.new_levels));
  if (options.threads < 0 || options.threads > 1024)
    throw UsageError(fmt::format("`threads` must be between 0 and 1024 (got {})", options.threads));
}

std::vector<std::string> text_columns_of(const KeptRun& run) {
  const std::vector<std::string> wanted =
      columns_of_rows(parse_formula(run.options.formula, run.column_names()), false);
  std::vector<std::string> out;
  for (const UsedColumn& column : run.columns)
    if (column.text && std::find(wanted.begin(), wanted.end(), column.name) != wanted.end())
      out.push_back(column.name);
  return out;
}

PredictAccount predict(const PredictOptions& options, const std::function<void(const PredictedRows&)>& take,
                       const PredictWatcher& watcher) {
  check(options);
  return predict(options, read_run(options.run), take, watcher);
}

PredictAccount predict(const PredictOptions& options, const KeptRun& run,
                       const std::function<void(const PredictedRows&)>& take, const PredictWatcher& watcher) {
  check(options);
  const std::unique_ptr<Reader> reader = open_new_data(options, run);
  return predict(options, run, *reader, options.data, take, watcher);
}

PredictAccount predict(const PredictOptions& options, const KeptRun& run, Reader& reader,
                       const std::function<void(const PredictedRows&)>& take, const PredictWatcher& watcher) {
  check(options);
  return predict(options, run, reader, options.data, take, watcher);
}

PredictAccount predict(const PredictOptions& options, Table table,
                       const std::function<void(const PredictedRows&)>& take, const PredictWatcher& watcher) {
  check(options);
  const std::string name = table.source.name;
  TableReader reader(std::move(table));
  return predict(options, read_run(options.run), reader, name, take, watcher);
}

std::vector<std::string> outputs_of(const PredictOptions& options, const KeptRun& run) {
  if (!family_of(run).classes) return {""};
  const PredictionType type = type_of(options.type);
  if (type == PredictionType::draw)
    throw UsageError(
        "`type draw` has no meaning with `family softmax`: classes have no mean; `type response` gives their "
        "probabilities");
  std::vector<std::string> out = run.recipe.classes;
  if (type == PredictionType::link && !out.empty()) out.erase(out.begin());  // the base's predictor is 0
  return out;
}

std::vector<std::string> prediction_columns(const PredictOptions& options, const KeptRun& run) {
  const auto [low, high] = quantile_names(options.interval);
  std::vector<std::string> out{"row"};
  for (const std::string& output : outputs_of(options, run))
    for (const std::string& figure : {std::string("mean"), std::string("sd"), low, high})
      out.push_back(output.empty() ? figure : fmt::format("{}:{}", output, figure));
  return out;
}

namespace {

// A cell of a CSV file; in quotes where it must be.
std::string cell_of(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  out += '"';
  return out;
}

}  // namespace

PredictAccount predict_csv(const PredictOptions& options, const std::function<void(std::string_view)>& write,
                           const PredictWatcher& watcher) {
  check(options);
  const KeptRun run = read_run(options.run);
  std::string text;
  for (const std::string& column : prediction_columns(options, run))
    fmt::format_to(std::back_inserter(text), "{}{}", text.empty() ? "" : ",", cell_of(column));
  text += '\n';
  const PredictAccount account = predict(
      options, run,
      [&](const PredictedRows& rows) {
        const std::size_t outputs = rows.predictions.size() / rows.rows;
        for (std::size_t i = 0; i < rows.rows; ++i) {
          fmt::format_to(std::back_inserter(text), "{}", rows.first + i + 1);
          for (const Prediction& p : rows.predictions.subspan(i * outputs, outputs)) {
            if (rows.complete[i] != 0) {
              fmt::format_to(std::back_inserter(text), ",{},{},{},{}", p.mean, p.sd, p.low, p.high);
            } else {
              text += ",,,,";
            }
          }
          text += '\n';
        }
        write(text);
        text.clear();
      },
      watcher);
  if (!text.empty()) write(text);  // no rows: the header alone
  return account;
}

}  // namespace mlo
