// Copyright (c) the mlo authors. BSD-3-Clause.
// The rows of a logistic model with plain groupings as odds e^eta, laid out for passes over all of them. The
// likelihood of a level is e^(Y t) / prod(1 + o_i e^t): two operations per row and one logarithm per sixteen,
// so that reading the few rows of a level costs as much as evaluating a polynomial that stands for them.
#pragma once

#include <Eigen/Dense>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mlo/base/huge_vector.hpp"
#include "mlo/model/grouped.hpp"
#include "mlo/subsample/level_table.hpp"

namespace mlo {

class OddsRows {
 public:
  // A grouping's rows: blocks of eight levels side by side, a row of each after the other. Levels of about
  // the same size share a block, so that little of it is empty; their places are called slots.
  struct Of {
    std::vector<std::uint32_t> level;   // by slot
    std::vector<std::uint32_t> starts;  // of blocks, in eights of places; one more than blocks
    HugeVector<std::uint32_t> codes;    // the levels in the other groupings, one array after the other
    // The same by eights of places: the level that all rows of an eight share, or `mixed`. Where all levels
    // of two groupings meet, most do, and a look-up is one number instead of eight.
    HugeVector<std::uint32_t> common;
    HugeVector<std::uint32_t> from;        // of all groupings but the first: the row's place in the first
    std::vector<double> count, successes;  // by slot, whole blocks
    [[nodiscard]] std::size_t blocks() const noexcept { return starts.size() - 1; }
    [[nodiscard]] std::size_t slots() const noexcept { return blocks() * level_lanes; }
    [[nodiscard]] std::size_t places() const noexcept { return starts.back() * level_lanes; }
  };

  static constexpr std::uint32_t mixed = 0xffffffff;

  // Whether the model has such rows.
  [[nodiscard]] static bool suit(const GroupedModel& model);
  // `eta`: the rows' predictors at the reference.
  OddsRows(const GroupedModel& model, std::span<const double> eta);

  [[nodiscard]] const std::vector<Of>& groups() const noexcept { return of_; }
  // In the places of the first grouping: e^eta at the reference, 0 where there is no row; and the columns
  // that differ between rows, an eight of places after the other: all columns of one, then those of the next.
  // A pass that reads a stream per column takes four times as long.
  [[nodiscard]] const float* base() const noexcept { return base_.data(); }
  [[nodiscard]] const float* columns() const noexcept { return columns_.data(); }
  // Which columns these are; and the value of each other one.
  [[nodiscard]] const std::vector<std::size_t>& moving() const noexcept { return moving_; }
  [[nodiscard]] const Eigen::VectorXd& fixed() const noexcept { return fixed_; }
  // The sums over rows of y x and of y times the reference's predictor.
  [[nodiscard]] const Eigen::VectorXd& pull() const noexcept { return pull_; }
  [[nodiscard]] double value() const noexcept { return value_; }
  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  // Whether no predictor is so large that odds as floats would be at their end.
  [[nodiscard]] bool tame() const noexcept { return tame_; }

 private:
  void place(const GroupedModel& model, std::size_t k, std::vector<std::uint32_t>& places);

  std::size_t rows_ = 0;
  std::vector<Of> of_;
  HugeVector<float> base_, columns_;
  std::vector<std::size_t> moving_;
  Eigen::VectorXd fixed_, pull_;
  double value_ = 0;
  bool tame_ = true;
};

}  // namespace mlo
