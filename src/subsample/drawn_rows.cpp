// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/subsample/drawn_rows.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cmath>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "mlo/subsample/alias_table.hpp"

namespace mlo {
namespace {

// A cell of a block's alias table: the share of the cell that belongs to its own row, in units of 2^-64 of
// which the last 6 bits are missing; in their place the row that has the rest.
using BlockCell = std::uint64_t;
constexpr BlockCell alias_mask = DrawnRows::block_rows - 1;
static_assert((DrawnRows::block_rows & alias_mask) == 0);

// Walker's alias table of a block, by Vose's method, as in AliasTable.
void fill_cells(std::span<const float> bounds, std::span<BlockCell> cells) {
  const std::size_t count = bounds.size();
  double total = 0;
  for (const float bound : bounds) total += static_cast<double>(bound);
  // By way of 2^63 and a signed number, which processors convert to.
  const auto cell = [](double share, std::size_t alias) {
    const BlockCell threshold =
        share >= 1 ? ~BlockCell{0}
                   : static_cast<BlockCell>(static_cast<std::int64_t>(std::max(share, 0.0) * 0x1p63)) << 1U;
    return (threshold & ~alias_mask) | alias;
  };
  // Where the bounds are beyond all bounds (or all 0), no row is ever drawn: all are read instead.
  if (!(total > 0 && std::isfinite(total))) {
    for (std::size_t i = 0; i < count; ++i) cells[i] = cell(1, i);
    return;
  }
  std::array<double, DrawnRows::block_rows> share;
  std::array<std::uint8_t, DrawnRows::block_rows> small, large;
  std::size_t smalls = 0, larges = 0;
  const double unit = static_cast<double>(count) / total;
  for (std::size_t i = 0; i < count; ++i) {
    share[i] = static_cast<double>(bounds[i]) * unit;
    const bool less = share[i] < 1;
    (less ? small[smalls++] : large[larges++]) = static_cast<std::uint8_t>(i);
  }
  while (smalls > 0 && larges > 0) {
    const std::size_t less = small[--smalls], more = large[larges - 1];
    cells[less] = cell(share[less], more);
    share[more] -= 1 - share[less];
    if (share[more] < 1) {
      --larges;
      small[smalls++] = static_cast<std::uint8_t>(more);
    }
  }
  // The remaining shares are 1 up to rounding.
  for (std::size_t k = 0; k < smalls; ++k) cells[small[k]] = cell(1, small[k]);
  for (std::size_t k = 0; k < larges; ++k) cells[large[k]] = cell(1, large[k]);
}

}  // namespace

struct DrawnRows::State {
  State(std::size_t rows, std::size_t dim, std::span<const double> sums, std::shared_ptr<const RowMaker> m,
        Pages pages)
      : size(rows), cells(rows, pages), table(sums), made(blocks_of(rows)), maker(std::move(m)) {
    if (pages == Pages::huge) kept.emplace(rows, dim, pages);
  }

  std::size_t size;
  RawArray<BlockCell> cells;
  AliasTable table;                     // over the blocks
  std::vector<std::atomic<bool>> made;  // the tables of the blocks
  std::array<std::mutex, 16> locks;     // block b has lock b % 16
  std::shared_ptr<const RowMaker> maker;
  std::optional<WhiteRows> kept;

  [[nodiscard]] std::size_t count(std::size_t block) const noexcept {
    return std::min(block_rows, size - block * block_rows);
  }

  void make_table(std::size_t block) {
    if (made[block].load(std::memory_order_acquire)) return;
    const std::scoped_lock lock(locks[block % locks.size()]);
    if (made[block].load(std::memory_order_relaxed)) return;
    std::array<float, block_rows> bounds;
    const std::size_t first = block * block_rows, rows = count(block);
    if (kept) {
      maker->records(first, rows, kept->record(first));
      for (std::size_t k = 0; k < rows; ++k) bounds[k] = kept->bound(first + k);
    } else {
      maker->bounds(first, rows, bounds.data());
    }
    fill_cells({bounds.data(), rows}, {cells.data() + first, rows});
    made[block].store(true, std::memory_order_release);
  }

  // As in AliasTable: the upper half of word * count is the cell, the lower half the uniform number.
  [[nodiscard]] std::size_t cell(std::size_t block, std::uint64_t word) const noexcept {
    return block * block_rows + static_cast<std::size_t>((static_cast<Uint128>(word) * count(block)) >> 64U);
  }
  [[nodiscard]] RowId row(std::size_t block, std::uint64_t word) const noexcept {
    const auto product = static_cast<Uint128>(word) * count(block);
    const auto own = static_cast<std::size_t>(product >> 64U);
    const BlockCell c = cells[block * block_rows + own];
    const bool stays = (static_cast<std::uint64_t>(product) | alias_mask) < (c | alias_mask);
    // By mask, not by branch: the outcome is a coin toss, which no branch predictor can learn.
    const auto stay = -static_cast<std::size_t>(stays);
    return static_cast<RowId>(block * block_rows + ((own & stay) | ((c & alias_mask) & ~stay)));
  }
};

DrawnRows::DrawnRows(std::size_t rows, std::size_t dim, std::span<const double> sums,
                     std::shared_ptr<const RowMaker> maker, ThreadPool* at_once)
    : size_(rows),
      dim_(dim),
      state_(std::make_unique<State>(rows, dim, sums, std::move(maker),
                                     at_once != nullptr ? Pages::huge : Pages::small)) {
  assert(sums.size() == blocks_of(rows));
  if (at_once == nullptr) return;
  constexpr std::size_t blocks_per_task = 64;
  const std::size_t blocks = sums.size();
  at_once->run((blocks + blocks_per_task - 1) / blocks_per_task, [&](std::size_t task) {
    const std::size_t last = std::min(blocks, (task + 1) * blocks_per_task);
    for (std::size_t b = task * blocks_per_task; b < last; ++b) state_->make_table(b);
  });
}
DrawnRows::~DrawnRows() = default;
DrawnRows::DrawnRows(DrawnRows&&) noexcept = default;
DrawnRows& DrawnRows::operator=(DrawnRows&&) noexcept = default;

bool DrawnRows::kept() const noexcept { return state_->kept.has_value(); }
std::size_t DrawnRows::tables() const noexcept {
  return static_cast<std::size_t>(std::count(state_->made.begin(), state_->made.end(), true));
}

// Two words per draw. Many draws wait for memory together: first for the table over the blocks, then for
// those of the blocks.
void DrawnRows::draw(Stream& stream, std::span<RowId> ids) const {
  State& s = *state_;
  if (ids.size() == 1) {
    const std::size_t block = s.table(stream());
    s.make_table(block);
    ids[0] = s.row(block, stream());
    return;
  }
  constexpr std::size_t batch = 64;
  std::array<std::uint64_t, 2 * batch> words;
  std::array<RowId, batch> blocks;
  for (std::size_t first = 0; first < ids.size(); first += batch) {
    const std::size_t count = std::min(batch, ids.size() - first);
    stream.fill({words.data(), 2 * count});
    for (std::size_t k = 0; k < count; ++k) {
      blocks[k] = s.table(words[2 * k]);
      __builtin_prefetch(s.cells.data() + s.cell(blocks[k], words[2 * k + 1]));
      __builtin_prefetch(&s.made[blocks[k]]);
    }
    for (std::size_t k = 0; k < count; ++k) {
      s.make_table(blocks[k]);
      ids[first + k] = s.row(blocks[k], words[2 * k + 1]);
    }
  }
}

const WhiteRows& DrawnRows::read(std::span<RowId> ids, WhiteRows& room) const {
  if (state_->kept) {
    if (ids.size() > 1)
      for (const RowId i : ids) state_->kept->prefetch(i);
    return *state_->kept;
  }
  assert(room.size() >= ids.size());
  for (std::size_t k = 0; k < ids.size(); ++k) {
    state_->maker->records(ids[k], 1, room.record(k));
    ids[k] = static_cast<RowId>(k);
  }
  return room;
}

const WhiteRows& DrawnRows::read_from(std::size_t first, std::span<RowId> ids, WhiteRows& room) const {
  const bool here = kept();
  for (std::size_t k = 0; k < ids.size(); ++k) ids[k] = static_cast<RowId>(here ? first + k : k);
  if (here) return *state_->kept;
  assert(room.size() >= ids.size() && first % block_rows == 0);
  for (std::size_t k = 0; k < ids.size(); k += block_rows)
    state_->maker->records(first + k, std::min(block_rows, ids.size() - k), room.record(k));
  return room;
}

}  // namespace mlo
