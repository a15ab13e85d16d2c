// Copyright (c) the mlo authors. BSD-3-Clause.
// A formula applied to a table: the design rows, the response and the offset.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "mlo/base/huge_vector.hpp"
#include "mlo/data/formula.hpp"
#include "mlo/data/source.hpp"
#include "mlo/data/table.hpp"

namespace mlo {

enum class Scale { none, sd, standard };
enum class Missing { drop, error };

// Rows are stored in *working* columns, centred (when there is an intercept) and divided by their sd (by
// their root mean square if there is no intercept), so that no method ever sees a badly scaled column. The
// user's column j is centre[j] + scale[j] * working column j, where "user's" means after the option `scale`:
// coefficients and priors refer to that column.
// A row is one record: its dim columns, its response and, if there is one, its offset are stored side by
// side, because reading a random row costs one cache miss per array.
struct Design {
  Source source;                   // where the kept rows came from
  std::string response;            // as written in the formula
  std::vector<std::string> names;  // one per column, as R names them: "(Intercept)", "x1", "I(x^2)", "x1:x2"
  std::size_t rows = 0;
  std::size_t dim = 0;
  bool intercept = false;  // if so, it is column 0

  // `rows` records of `stride` values each, then row_padding zeros, so that a SIMD load of the last record
  // may read past its end.
  HugeVector<double> x;
  static constexpr std::size_t row_padding = 16;
  std::size_t stride = 0;
  bool has_offset = false;

  std::vector<double> centre;  // of the user's columns; 0 for the intercept, and all 0 if there is none
  std::vector<double> scale;   // of the user's columns; 1 for the intercept
  std::vector<double> sd;      // standard deviation (n - 1) of the user's columns; 0 for the intercept

  std::size_t rows_in_file = 0;
  std::size_t dropped = 0;  // rows with a missing cell

  [[nodiscard]] const double* row(std::size_t i) const noexcept { return x.data() + i * stride; }
  [[nodiscard]] double y(std::size_t i) const noexcept { return row(i)[dim]; }
  [[nodiscard]] double offset(std::size_t i) const noexcept { return row(i)[dim + 1]; }
  // Where a row came from, for messages: "data.csv:17".
  [[nodiscard]] std::string place(std::size_t i) const { return source.place(i); }
};

struct DesignOptions {
  Scale scale = Scale::none;
  Missing missing = Missing::drop;
};

// Takes the table by value and frees its columns as soon as the rows are made. An interaction is scaled as
// one column: the product of its unscaled factors. Throws DataError (a text column, missing cells with
// Missing::error, all rows missing, a term that is not finite, with its place, more than 2^32 - 1 rows),
// ModelError (a constant column as well as an intercept, a column of zeros, two equal columns where there are
// more rows than columns).
[[nodiscard]] Design build_design(const Formula& formula, Table table, const DesignOptions& options);

}  // namespace mlo
