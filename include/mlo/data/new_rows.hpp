// Copyright (c) the mlo authors. BSD-3-Clause.
// Rows of other data in the columns of a formula, as its coefficients refer to them: what predictions and the
// scores of held-out rows are made from.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "mlo/data/design.hpp"
#include "mlo/data/formula.hpp"
#include "mlo/data/table.hpp"

namespace mlo {

// The columns that a formula's rows are made from. The response's columns are among them only if `response`.
[[nodiscard]] std::vector<std::string> columns_of_rows(const Formula& formula, bool response);

// Throws DataError if the data lack a wanted column; it names the nearest one that there is.
void check_header(const std::string& data, std::span<const std::string> header,
                  std::span<const std::string> wanted);

class NewRows {
 public:
  // The table has the columns of columns_of_rows(formula, response); it must outlive the object, and so must
  // the formula. Throws DataError: a text column.
  NewRows(const Formula& formula, const Table& table, bool response, Missing missing);

  [[nodiscard]] std::size_t rows() const noexcept { return table_.rows; }
  [[nodiscard]] std::size_t dim() const noexcept { return formula_.terms.size(); }
  // Where a row came from, for messages: "data.csv:17".
  [[nodiscard]] std::string place(std::size_t row) const { return table_.source.place(row); }

  // Rows [first, first + count). x: dim() numbers per row. complete: whether no cell of the row is missing;
  // if one is, all numbers of the row are 0. y is written only if the response is wanted, and may be empty
  // otherwise. Threads may call this at the same time. Throws DataError: a missing cell with Missing::error,
  // a term that is not finite.
  struct Block {
    std::span<double> x, offsets, y;
    std::span<char> complete;
  };
  void fill(std::size_t first, const Block& out) const;

 private:
  void find_complete(std::size_t first, std::span<char> complete) const;
  // Evaluates a product of expressions; refuses a value that is not finite in a complete row.
  void evaluate_product(std::span<const Expression> factors, std::size_t first,
                        std::span<const char> complete, std::span<double> out) const;
  [[noreturn]] void refuse(std::span<const Expression> factors, std::size_t row, double value) const;

  const Formula& formula_;
  const Table& table_;
  bool response_;
  Missing missing_;
  std::vector<std::string> names_;
};

}  // namespace mlo
