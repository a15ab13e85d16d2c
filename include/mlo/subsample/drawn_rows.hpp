// Copyright (c) the mlo authors. BSD-3-Clause.
// The rows as `exact` draws and reads them. A draw chooses a block of 64 rows in proportion to the sum of its
// bounds and then a row of that block in proportion to its own, by an alias table each. Before a chain runs
// only the sums are needed: the table of a block is made when one of its rows is first drawn, and a row's
// record when it is read. A default run on three million rows draws some hundred of them. Where a run draws
// many, all tables and records are made and kept at once. Either way a draw is the same, and so is a record.
// docs/adr/0022-rows-made-when-drawn.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "mlo/base/random.hpp"
#include "mlo/base/thread_pool.hpp"
#include "mlo/model/model.hpp"
#include "mlo/subsample/row_source.hpp"
#include "mlo/subsample/white_rows.hpp"

namespace mlo {

// Rows of one block, first..first+count-1, of which a record may also be asked for alone. Law: a row's
// numbers are the same at every call, and its bound is that of its record. Called from any thread.
class RowMaker {
 public:
  RowMaker() = default;
  virtual ~RowMaker() = default;
  RowMaker(const RowMaker&) = delete;
  RowMaker& operator=(const RowMaker&) = delete;
  virtual void bounds(std::size_t first, std::size_t count, float* out) const = 0;
  // Records as WhiteRows has them: all of their floats.
  virtual void records(std::size_t first, std::size_t count, float* out) const = 0;
};

class DrawnRows {
 public:
  static constexpr std::size_t block_rows = 64;
  [[nodiscard]] static constexpr std::size_t blocks_of(std::size_t rows) noexcept {
    return (rows + block_rows - 1) / block_rows;
  }

  // sums[b] is the sum of the bounds in block b: at least 0, finite, and not all are 0. With a pool, all
  // tables and records are made now.
  DrawnRows(std::size_t rows, std::size_t dim, std::span<const double> sums,
            std::shared_ptr<const RowMaker> maker, ThreadPool* at_once = nullptr);
  ~DrawnRows();
  DrawnRows(DrawnRows&&) noexcept;
  DrawnRows& operator=(DrawnRows&&) noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t dim() const noexcept { return dim_; }
  // Floats per record.
  [[nodiscard]] std::size_t stride() const noexcept { return WhiteRows::stride_of(dim_); }
  // Whether all records are kept; how many blocks have a table.
  [[nodiscard]] bool kept() const noexcept;
  [[nodiscard]] std::size_t tables() const noexcept;

  // Independent rows, each drawn in proportion to its bound. Safe from any thread.
  void draw(Stream& stream, std::span<RowId> ids) const;

  // Where rows can be read. Kept rows are read where they are; others are made in `room`, which has as many
  // rows as ids at least, and ids becomes their places there.
  [[nodiscard]] const WhiteRows& read(std::span<RowId> ids, WhiteRows& room) const;
  // The same for rows first.. in ids.size() places; `first` is the first of a block.
  [[nodiscard]] const WhiteRows& read_from(std::size_t first, std::span<RowId> ids, WhiteRows& room) const;

 private:
  struct State;
  std::size_t size_, dim_;
  std::unique_ptr<State> state_;
};

// Rows drawn when they are asked for, from the tables over the bounds.
class TableRows {
 public:
  explicit TableRows(const DrawnRows& rows) : rows_(&rows) {}
  void draw(Stream& stream, std::span<RowId> ids) const { rows_->draw(stream, ids); }

 private:
  const DrawnRows* rows_;
};
static_assert(BoundRows<TableRows>);

}  // namespace mlo
