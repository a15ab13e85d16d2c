// Copyright (c) the mlo authors. BSD-3-Clause.
// A look at data before they are fitted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mlo/data/reader.hpp"
#include "mlo/data/table.hpp"
#include "mlo/method/options.hpp"

namespace mlo {

struct ColumnDescription {
  std::string name;
  bool text = false;
  bool logical = false;  // numbers that are 0 and 1 and stand for FALSE and TRUE
  std::uint64_t missing = 0;
  // Of numbers; NaN if all are missing.
  double least = 0, mean = 0, sd = 0, most = 0;
  // Of numbers: how many values differ, if they are few (at most `few_values`); of text: how many words.
  std::optional<std::uint64_t> distinct;
  // What values there are and how often, the most frequent first: all values of numbers if they are few, at
  // most `shown_levels` words of text.
  std::vector<std::pair<std::string, std::uint64_t>> levels;

  static constexpr std::size_t few_values = 20;
  static constexpr std::size_t shown_levels = 1000;
};

// What a formula makes of the data.
struct DesignDescription {
  std::string response;
  std::vector<std::string> columns;  // of the design, as R names them
  std::uint64_t parameters = 0;      // those of the table of a fit
  struct Group {
    std::string name;
    std::uint64_t levels = 0;
    std::vector<std::string> effects;
    std::uint64_t least_rows = 0, most_rows = 0;  // of one level
  };
  std::vector<Group> groups;
  std::uint64_t rows = 0, dropped = 0, held_out = 0;
  std::uint64_t design_bytes = 0;
  std::string method;  // what `method` means here, in words
};

struct Description {
  std::string data;
  std::uint64_t rows = 0, file_columns = 0;
  std::vector<ColumnDescription> columns;  // of the file; if there is a formula, those that it uses
  std::uint64_t table_bytes = 0;           // of these columns, in memory
  std::optional<DesignDescription> design;
};

[[nodiscard]] ColumnDescription describe(const Column& column);

// Reads options.data: all columns, or with options.formula those that it uses. Nothing is fitted. Throws what
// a fit would throw before it looks for the mode.
[[nodiscard]] Description describe(
    const FitOptions& options, const std::function<void(const std::string& what, double share)>& phase = {});
[[nodiscard]] Description describe(const FitOptions& options, Table table);
// The same for any reader, which must not have read yet. options.data is only a name.
[[nodiscard]] Description describe(const FitOptions& options, Reader& reader,
                                   const Reader::Progress& progress = {});

[[nodiscard]] std::string as_table(const Description& description);
[[nodiscard]] std::string as_json(const Description& description);

}  // namespace mlo
