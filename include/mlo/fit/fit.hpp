// Copyright (c) the mlo authors. BSD-3-Clause.
// From a file or a table to a posterior: the one function behind every front end.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "mlo/base/errors.hpp"
#include "mlo/chain/control.hpp"
#include "mlo/chain/draws.hpp"
#include "mlo/data/design.hpp"
#include "mlo/data/reader.hpp"
#include "mlo/data/table.hpp"
#include "mlo/method/options.hpp"
#include "mlo/method/watcher.hpp"
#include "mlo/report/facts.hpp"
#include "mlo/report/run_summary.hpp"

namespace mlo {

struct Samples;  // method/sample.hpp

// How a front end watches a fit. Every member may be empty.
struct FitWatcher : SampleWatcher {
  std::function<void(const std::string& note)> note;  // e.g. the seed that was drawn
  // How the front end writes the options that messages name in backquotes, for `report`.
  std::function<std::string(std::string_view message)> wording;
};

// A column of the data that the formula uses.
struct UsedColumn {
  std::string name;
  bool text = false;     // otherwise numbers
  bool logical = false;  // numbers that are 0 and 1 and stand for FALSE and TRUE
};

struct FitResult {
  std::vector<std::string> names;
  std::vector<UsedColumn> columns;  // in the order of the data, so that '.' means the same again
  Recipe recipe;                    // how other rows are made into the columns of this fit
  std::vector<ChainDraws> chains;
  RunSummary summary;
  std::vector<GroupEffect> effects;  // of all levels, unless nothing was to be kept of them
  RunFacts facts;                    // what a report shows beside it
  FitOptions options;                // those in force: with the seed that was drawn
  std::uint64_t fingerprint = 0;     // of the data
};

// Reads options.data. With options.out, writes the run directory there (or continues it, with
// options.resume), and with options.report also report.html in it.
[[nodiscard]] FitResult fit(const FitOptions& options, const FitWatcher& watcher = {});

// The same for columns in memory; options.data is only a name. A run of a table is resumed with the same
// table.
[[nodiscard]] FitResult fit(const FitOptions& options, Table table, const FitWatcher& watcher = {});

// The same for any reader, which must not have read yet. options.data is only a name.
[[nodiscard]] FitResult fit(const FitOptions& options, Reader& reader, const FitWatcher& watcher = {});

// What fit() says of its draws, for the samples of any other model. Throws Interrupted if there are none.
[[nodiscard]] RunSummary summary_of(const Samples& samples, const std::vector<std::string>& names,
                                    const ChainOptions& chain, std::uint64_t rows);

[[nodiscard]] const char* version();

}  // namespace mlo
