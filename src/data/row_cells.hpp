// Copyright (c) the mlo authors. BSD-3-Clause.
// The cells of a table that an expression uses in one row, for messages and to tell a missing value from a
// mistake.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "mlo/data/formula.hpp"
#include "mlo/data/table.hpp"

namespace mlo {

class RowCells {
 public:
  explicit RowCells(const Table& table) : table_(table) {}
  [[nodiscard]] const Column& column(const std::string& name) const;
  [[nodiscard]] bool is_missing(const std::string& name, std::size_t row) const;
  [[nodiscard]] bool any_missing(const Expression& e, std::size_t row) const;
  // "x = 0, g = "a"": each column once.
  [[nodiscard]] std::string words(std::span<const Expression> expressions, std::size_t row) const;
  // Throws DataError: "data.csv:17: log(x) is -inf (x = 0)".
  [[noreturn]] void refuse(const std::string& what, double value, std::span<const Expression> expressions,
                           std::size_t row) const;

 private:
  const Table& table_;
};

}  // namespace mlo
