// Copyright (c) the mlo authors. BSD-3-Clause.
// Everything a fit can be told, as the user gave it; an empty optional means "choose for me". The table of
// options (option_table.hpp) has a row per field; resolve() (plan.hpp) turns all of it into a Plan of numbers
// and enums.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mlo {

// What a chain on any model can be told.
struct MethodOptions {
  std::string method = "auto";
  std::optional<std::int64_t> subsample_size{};
  std::optional<std::int64_t> max_subsample_size{};
  std::optional<double> delta{};
  std::optional<std::string> estimator{};
  std::optional<std::string> weights{};
  std::optional<std::string> weights_at{};
  std::optional<double> uniform_share{};
  std::optional<std::string> replacement{};
  std::optional<double> noise_sd{};
  std::optional<std::string> bound{};
  std::optional<std::int64_t> blocks{};
  std::optional<std::int64_t> shards{};
  std::optional<double> bandwidth{};
  std::optional<std::string> thinning{};
  std::optional<std::int64_t> order{};
  bool audit = false;
  std::optional<std::int64_t> audit_every{};
  std::optional<std::string> proposal{};
  std::optional<double> proposal_scale{};
  std::optional<std::string> proposal_shape{};
  std::string start = "laplace";

  std::int64_t chains = 4;
  std::optional<std::int64_t> warmup{};
  std::int64_t draws = 1000;
  std::optional<std::int64_t> thin{};
  std::optional<std::uint64_t> seed{};
  std::int64_t threads = 0;  // 0: as many as the machine has

  bool operator==(const MethodOptions&) const = default;
};

struct FitOptions : MethodOptions {
  std::vector<std::string> data;  // files and patterns of one data set; with `sql` a database, or none
  std::string formula;
  std::optional<std::string> sql;  // the data are the rows of this query
  std::string family = "logistic";
  std::map<std::string, double, std::less<>>
      numbers;  // of the family, by name: "known-sigma", "freedom", "size", ...

  std::optional<std::string> prior;  // of all coefficients
  std::optional<std::string> prior_intercept;
  std::vector<std::pair<std::string, std::string>> prior_for;  // name, prior
  std::optional<std::string> prior_sd;                         // of all standard deviations of group effects
  std::optional<std::string> prior_cor;                        // of their correlations
  std::optional<std::string> save_groups;
  std::optional<std::string> base;  // of the response's classes
  std::string scale = "none";
  std::string missing = "drop";
  std::optional<double> holdout;           // the share of the rows that the fit does not see
  std::int64_t max_levels = 1000;          // of one factor
  std::optional<std::string> row_weights;  // a column
  std::optional<std::string> trials;       // a column

  std::optional<std::string> delimiter;  // of the file
  std::optional<std::string> decimal;
  std::optional<std::string> comment;
  std::optional<std::string> na;                           // spellings, with commas between them
  std::vector<std::pair<std::string, std::string>> types;  // column, type

  std::string out;                  // run directory; empty: nothing is written
  std::string format = "stan-csv";  // of the draws there; several with commas between them
  bool resume = false;
  bool report = false;  // also write report.html to the run directory

  bool operator==(const FitOptions&) const = default;
};

}  // namespace mlo
