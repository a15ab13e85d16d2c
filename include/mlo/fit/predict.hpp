// Copyright (c) the mlo authors. BSD-3-Clause.
// Predictions from a run that was kept.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mlo/data/reader.hpp"
#include "mlo/data/table.hpp"
#include "mlo/diagnose/predictions.hpp"
#include "mlo/fit/runs.hpp"

namespace mlo {

struct PredictOptions {
  std::string run;                // the run directory
  std::string data;               // the file with the rows to predict; the response need not be in it
  std::string type = "response";  // "response", "link" or "draw"
  double interval = 0.9;          // the share of the draws between the ends of the interval
  std::string missing = "empty";  // rows with a missing cell: "empty" or "error"
  // Levels that the fit has not seen. "sample": effects of a new group are drawn from the group's law, in
  // each draw; "population": they are 0. For a factor, both are the same as "error". "missing", for factors
  // and groups: as if the cell were.
  std::string new_levels = "sample";
  std::optional<std::uint64_t> seed{};  // of `type draw` and of new groups; empty: the run's
  // How the file is read, if not as that of the run was.
  std::optional<std::string> delimiter{}, decimal{}, comment{}, na{};
  std::int64_t threads = 0;  // 0: as many as the machine has
};

// Both may be empty.
struct PredictWatcher {
  std::function<void(const std::string& what, double share)> phase;
  const std::atomic<bool>* interrupt = nullptr;  // set: end early, with Interrupted
};

// Consecutive rows of the data. A row that is not complete, because a cell is missing, has no prediction.
struct PredictedRows {
  std::size_t first = 0;  // the number of the first of them, from 0
  std::size_t rows = 0;
  std::span<const Prediction> predictions;  // as many per row as outputs_of() says, row after row
  std::span<const char> complete;
};

struct PredictAccount {
  std::uint64_t rows = 0, missing = 0;
  std::uint64_t new_groups = 0;  // rows with a group that the fit has not seen, and a prediction
  // Rows with a group of the fit whose effects are left out: `new-levels population`, and no draws of them.
  std::uint64_t without_effects = 0;
  std::uint64_t draws = 0;
};

// Throws UsageError, DataError; Interrupted.
void check(const PredictOptions& options);
// Calls take() with all rows in order, some thousands at a time. A row's prediction does not depend on how
// the rows are divided, nor on the threads.
PredictAccount predict(const PredictOptions& options, const std::function<void(const PredictedRows&)>& take,
                       const PredictWatcher& watcher = {});
// The same for a table in memory; options.data is not used.
PredictAccount predict(const PredictOptions& options, Table table,
                       const std::function<void(const PredictedRows&)>& take,
                       const PredictWatcher& watcher = {});

// The same from a run in memory; options.run is not used.
PredictAccount predict(const PredictOptions& options, const KeptRun& run,
                       const std::function<void(const PredictedRows&)>& take,
                       const PredictWatcher& watcher = {});
// And for any reader, which must not have read yet; options.data is only its name. What was text in the fit
// must be text here, even if all its words look like numbers: see text_columns_of().
PredictAccount predict(const PredictOptions& options, const KeptRun& run, Reader& reader,
                       const std::function<void(const PredictedRows&)>& take,
                       const PredictWatcher& watcher = {});

// The columns of the formula's right-hand side that were text in the fit.
[[nodiscard]] std::vector<std::string> text_columns_of(const KeptRun& run);

// What is predicted of a row: {""} alone or, of a family of classes, the names of the classes.
[[nodiscard]] std::vector<std::string> outputs_of(const PredictOptions& options, const KeptRun& run);

// "q5" and "q95" for an interval of 0.9: the quantiles' names, as in the summary.
[[nodiscard]] std::pair<std::string, std::string> quantile_names(double interval);

// The columns of predict_csv(): row, mean, sd and the two quantiles. Of a family of classes, those of each
// class: "CLASS:mean" and so on.
[[nodiscard]] std::vector<std::string> prediction_columns(const PredictOptions& options, const KeptRun& run);

// The same as CSV, with a header line. The fields of a row without a
// prediction are empty, but for its number.
PredictAccount predict_csv(const PredictOptions& options, const std::function<void(std::string_view)>& write,
                           const PredictWatcher& watcher = {});

}  // namespace mlo
