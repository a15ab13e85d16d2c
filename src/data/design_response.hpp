// Copyright (c) the mlo authors. BSD-3-Clause.
// What a row has besides its columns: response, offset and weight.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "data/plain_rows.hpp"
#include "data/row_cells.hpp"
#include "data/values.hpp"
#include "mlo/data/design.hpp"

namespace mlo {

// One value per row that is not a design column: a count of the response, a part of the offset or the weight.
struct Single {
  Expression expression;
  ValuesPtr values;
  std::vector<double> block = std::vector<double>(block_rows);
};

class ResponseReader {
 public:
  // Throws UsageError and DataError, as build_design does.
  ResponseReader(const Formula& formula, const Table& table, const DesignOptions& options, Binder& binder);

  [[nodiscard]] const std::vector<std::string>& levels() const noexcept { return levels_; }
  [[nodiscard]] bool has_offset() const noexcept { return !offsets_.empty(); }
  [[nodiscard]] bool has_weight() const noexcept { return !weights_.empty() || shares(); }
  [[nodiscard]] bool shares() const noexcept { return of_trials() && !options_.counted; }
  [[nodiscard]] bool counted() const noexcept { return of_trials() && options_.counted; }

  void evaluate(std::size_t first, std::size_t count);
  // Calls visit(single) for all that were evaluated.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const Single& part : counts_) visit(part);
    for (const Single& part : offsets_) visit(part);
    for (const Single& part : weights_) visit(part);
    for (const Single& part : trials_) visit(part);
  }
  // Makes response, offset and weight of the block's rows. Rows that count for nothing are not kept; returns
  // how many these are.
  std::size_t combine(std::size_t first, std::span<char> keep);
  [[nodiscard]] std::span<const double> y() const noexcept { return y_; }
  [[nodiscard]] std::span<const double> offset() const noexcept { return offset_; }
  [[nodiscard]] std::span<const double> weight() const noexcept { return weight_; }

 private:
  [[nodiscard]] bool of_trials() const noexcept { return counts_.size() == 2 || !trials_.empty(); }
  void bind_response(Binder& binder);
  void check_counts(std::size_t first, std::span<const char> keep) const;
  void pack_outcomes(std::size_t first, std::span<const char> keep);

  const Formula& formula_;
  const Table& table_;
  const DesignOptions& options_;
  RowCells cells_{table_};
  std::vector<Single> counts_;  // the response; or successes and failures
  std::vector<Single> offsets_;
  std::vector<Single> weights_;
  std::vector<Single> trials_;  // the column of `trials`, or none
  std::vector<std::string> levels_;
  std::vector<double> y_, offset_, weight_;
};

}  // namespace mlo
