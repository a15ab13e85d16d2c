// Copyright (c) the mlo authors. BSD-3-Clause.
// What a reproduced table or figure says: one plain struct, written as text for people, as CSV, JSON and
// HTML.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/claims.hpp"
#include "experiments/statistics.hpp"

namespace mlo::experiments {

struct Number {
  double ours = 0;
  std::optional<double> se;     // Monte Carlo standard error of ours
  std::optional<double> paper;  // as printed there

  Number(double value) : ours(value) {}  // NOLINT(google-explicit-constructor): a table is a list of these
  Number(Estimate e, double scale, std::optional<double> printed)
      : ours(scale * e.value), se(scale * e.se), paper(printed) {}
};

struct NumberRow {
  std::string label{};
  std::vector<std::optional<Number>> cells{};  // one per column; empty where there is nothing to show
};

struct NumberTable {
  std::string title{};
  std::vector<std::string> columns{};
  std::vector<NumberRow> rows{};
};

struct Picture {
  std::string name{};  // of the file, OUT/NAME.svg
  std::string svg{};
};

struct Result {
  std::string name{};  // "table4"
  std::string title{};
  std::vector<std::string> settings{};  // how the numbers were made
  std::vector<NumberTable> tables{};
  std::vector<Claim> claims{};
  std::vector<std::string> notes{};
  std::vector<Picture> pictures{};
};

[[nodiscard]] std::string as_text(const Result& result);
[[nodiscard]] std::string as_csv(const Result& result);  // table, row, column, ours, se, paper
[[nodiscard]] std::string as_json(const Result& result);
// A self-contained page with pictures inline; it needs no network.
[[nodiscard]] std::string as_html(const std::vector<Result>& results);

// A number as the tables show it: three or four figures, no exponent where it can be avoided.
[[nodiscard]] std::string shown(double value);

}  // namespace mlo::experiments
