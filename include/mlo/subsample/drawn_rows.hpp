// Copyright (c) the mlo authors. BSD-3-Clause.
// The rows as `exact` draws and reads them, in blocks of 64. A draw chooses a block in proportion to the sum
// of its bounds and then a row of that block in proportion to its own, by an alias table each. Of the blocks
// only the sums are needed from the start: the records and the table of a block are made when one of its rows
// is first drawn. A default run on three million rows draws some hundred of them, so that nearly no block is
// ever made. Made now or later, a block is the same, and so is every draw.
// docs/adr/0022-rows-made-when-drawn.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "mlo/base/random.hpp"
#include "mlo/base/thread_pool.hpp"
#include "mlo/model/model.hpp"
#include "mlo/subsample/row_source.hpp"
#include "mlo/subsample/white_rows.hpp"

namespace mlo {

class DrawnRows {
 public:
  static constexpr std::size_t block_rows = 64;
  [[nodiscard]] static constexpr std::size_t blocks_of(std::size_t rows) noexcept {
    return (rows + block_rows - 1) / block_rows;
  }

  // Writes the records of rows first..first+count-1 of one block, all of their floats. Law: the same floats
  // at every call. Called from any thread.
  using Make = std::function<void(std::size_t first, std::size_t count, float* records)>;

  // sums[b] is the sum of the bounds in block b: at least 0, finite, and not all are 0.
  DrawnRows(std::size_t rows, std::size_t dim, std::span<const double> sums, Make make, Pages pages);
  ~DrawnRows();
  DrawnRows(DrawnRows&&) noexcept;
  DrawnRows& operator=(DrawnRows&&) noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return white_->size(); }
  [[nodiscard]] std::size_t dim() const noexcept { return white_->dim(); }
  [[nodiscard]] std::size_t stride() const noexcept { return white_->stride(); }

  // Independent rows, each drawn in proportion to its bound. They can then be read. Safe from any thread.
  void draw(Stream& stream, std::span<RowId> ids) const;
  // Afterwards every row can be read.
  void make_all(ThreadPool& pool) const;
  // How many blocks have been made.
  [[nodiscard]] std::size_t made() const noexcept;

  // Of a row that can be read: see WhiteRows.
  [[nodiscard]] double e(std::size_t i) const noexcept { return white_->e(i); }
  [[nodiscard]] double scale(std::size_t i) const noexcept { return white_->scale(i); }
  [[nodiscard]] double bound(std::size_t i) const noexcept { return white_->bound(i); }
  [[nodiscard]] const float* record(std::size_t i) const noexcept { return white_->record(i); }
  void prefetch(std::size_t i) const noexcept { white_->prefetch(i); }
  void dots(std::span<const RowId> ids, const float* v, const float* u, float* from,
            float* to) const noexcept {
    white_->dots(ids, v, u, from, to);
  }

 private:
  struct State;
  std::unique_ptr<State> state_;
  const WhiteRows* white_;  // the state's
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
