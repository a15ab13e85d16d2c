// Copyright (c) the mlo authors. BSD-3-Clause.
// Rows on their way into a JointExpansion: their bounds and records, and the pass that sums what an order
// needs.
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "mlo/base/thread_pool.hpp"
#include "mlo/model/row_store.hpp"
#include "mlo/model/surface.hpp"
#include "mlo/model/whitening.hpp"
#include "mlo/subsample/drawn_rows.hpp"
#include "mlo/subsample/joint_expansion.hpp"
#include "subsample/cubic_sums.hpp"
#include "subsample/white_records.hpp"

namespace mlo {

inline constexpr std::size_t box_count = 3;
// By which the bounds of the smallest box are multiplied.
using BoxFactors = std::array<double, box_count>;
inline constexpr std::size_t part_rows = 4 * DrawnRows::block_rows;
static_assert(DrawnRows::block_rows == Whitening::batch && rows_per_block % part_rows == 0);

struct JointBatch {
  std::array<double, part_rows> eta, y, a, b, scale, direction, lengths, reach, powers;
  std::array<SurfaceShape, part_rows> shapes;
  std::array<double, most_monomials * part_rows> suprema;
  std::array<std::array<double, part_rows>, box_count> sizes;
  std::array<float, part_rows> bounds;
};

// What an order's bounds are made of.
struct JointTerms {
  JointOrder order;
  std::array<double, most_monomials> expected;  // E m(v) + E m(v')
  double most_bound;                            // rows with larger bounds are always read, not drawn
};

// Rows on their way into the expansion; as BoundedRows of expansion.cpp.
class JointRows {
 public:
  JointRows(SurfacedRows model, const Eigen::VectorXd& centre, const Eigen::MatrixXd& unwhiten,
            std::span<const JointBox> boxes, double bound_factor);

  [[nodiscard]] std::size_t dim() const noexcept { return whitening_.dim(); }
  [[nodiscard]] std::size_t record_dim() const noexcept { return dim() + 1; }
  [[nodiscard]] std::size_t stride() const noexcept { return WhiteRows::stride_of(record_dim()); }

  // Rows first..first+count-1, at most part_rows; into records too, without bounds, if asked for.
  void load(std::size_t first, std::size_t count, JointBatch& batch, float* records = nullptr) const;

  // The bounds of loaded rows in the smallest box, 0 for those that are always read; the factors, if asked
  // for, become large enough for the others.
  void bound(const JointTerms& terms, std::size_t count, JointBatch& batch,
             BoxFactors* factors = nullptr) const;

  struct Thirds {
    std::array<double, part_rows> ttt, ttu, tuu, uuu;
  };
  void thirds(std::size_t count, const JointBatch& batch, Thirds& f) const;

  [[nodiscard]] const RowStore& store() const noexcept { return *model_.rows; }

 private:
  SurfacedRows model_;
  Coefficients centre_;
  Whitening whitening_;
  std::vector<JointBox> boxes_;
  double bound_factor_;
};

// All that an order needs of the rows.
struct JointSums {
  std::vector<double> blocks;  // of the bounds
  std::vector<float> bounds;   // of all rows, where they take little memory; otherwise empty
  double total = 0;
  std::vector<RowId> always;  // rows that are always read
  BoxFactors factors{};
  // In white coordinates, unless the order is two: sums of t^2 u, t u^2 and u^3.
  Eigen::MatrixXd square;
  Eigen::VectorXd linear;
  double third = 0;
  CubicForm cubic;  // for order three
};

// In one pass: rows are loaded and whitened once.
[[nodiscard]] JointSums sum_jointly(const JointRows& maker, const JointTerms& terms,
                                    const Eigen::MatrixXd& unwhiten, std::size_t n, ThreadPool& pool);

// Makes the rows that are drawn. `known`: the bounds of all rows, or nothing.
[[nodiscard]] std::shared_ptr<const RowMaker> drawn_jointly(std::shared_ptr<const JointRows> rows,
                                                            const JointTerms& terms,
                                                            std::vector<float> known);

// The records of these rows, as they are.
[[nodiscard]] WhiteRows records_of(const JointRows& rows, std::span<const RowId> ids);

}  // namespace mlo
