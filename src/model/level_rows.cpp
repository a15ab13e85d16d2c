// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/level_rows.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "mlo/base/pages.hpp"

namespace mlo {
namespace {

// Where the rows of each level begin, if sorted.
std::vector<std::uint32_t> starts_of(std::span<const std::uint32_t> codes, std::size_t levels) {
  std::vector<std::uint32_t> starts(levels + 1, 0);
  for (const std::uint32_t code : codes) ++starts[code + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  return starts;
}

// The rows in `order`, sorted by their codes; rows of the same level stay in their order.
HugeVector<RowId> sorted_by(std::span<const std::uint32_t> codes, std::vector<std::uint32_t> starts,
                            std::span<const RowId> order) {
  HugeVector<RowId> out(order.size());
  for (const RowId row : order) out[starts[codes[row]]++] = row;
  return out;
}

// Rows of `width` numbers, sorted. Each is somewhere else in memory: those that will be needed are fetched
// before.
template <class T>
void sort_by(std::span<const RowId> order, std::size_t width, HugeVector<T>& numbers) {
  if (numbers.empty()) return;
  constexpr std::size_t ahead = 24;
  HugeVector<T> out(numbers.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (k + ahead < order.size()) __builtin_prefetch(numbers.data() + order[k + ahead] * width);
    std::copy_n(numbers.data() + order[k] * width, width, out.data() + k * width);
  }
  numbers = std::move(out);
}

// v = {} would keep the memory.
template <class T>
void release(HugeVector<T>& v) {
  HugeVector<T>().swap(v);
}

}  // namespace

LevelCodes::LevelCodes(std::size_t rows, std::size_t levels) {
  if (levels <= std::size_t{std::numeric_limits<std::uint16_t>::max()} + 1)
    narrow_.resize(rows);
  else
    wide_.resize(rows);
}

void RowResponses::resize(std::size_t rows, bool bytes) {
  if (bytes)
    narrow_.resize(rows);
  else
    wide_.resize(rows);
}

void RowResponses::sort(std::span<const RowId> order) {
  sort_by(order, 1, narrow_);
  sort_by(order, 1, wide_);
}

LevelRows::LevelRows(Design& design) : rows_(design.rows), columns_(design.dim) {
  take_rows(design);
  HugeVector<RowId> order(rows_);
  std::iota(order.begin(), order.end(), RowId{0});
  for (std::size_t k = design.groups.size(); k-- > 0;) {
    const GroupDesign& group = design.groups[k];
    order = sorted_by(group.codes, starts_of(group.codes, group.levels.size()), order);
  }
  sort_rows(order);
  for (std::size_t k = 0; k < design.groups.size(); ++k) {
    GroupDesign& from = design.groups[k];
    Grouping to;
    to.name = from.name;
    to.level_names = std::move(from.levels);
    to.effects = from.effects;
    to.intercept = from.intercept;
    to.correlated = from.correlated;
    const std::size_t levels = to.level_names.size();
    to.starts = starts_of(from.codes, levels);
    to.codes = LevelCodes(rows_, levels);
    if (k == 0) {
      for (std::size_t l = 0; l < levels; ++l)
        for (std::size_t i = to.starts[l]; i < to.starts[l + 1]; ++i)
          to.codes.set(i, static_cast<std::uint32_t>(l));
    } else {
      for (std::size_t i = 0; i < rows_; ++i) to.codes.set(i, from.codes[order[i]]);
    }
    release(from.codes);
    to.z = std::move(from.z);
    sort_by(order, to.dim() - (to.intercept ? 1 : 0), to.z);
    if (k > 0) {
      to.order.resize(rows_);
      std::vector<std::uint32_t> next = to.starts;
      for (std::size_t i = 0; i < rows_; ++i) to.order[next[to.codes[i]]++] = static_cast<RowId>(i);
    }
    groups_.push_back(std::move(to));
  }
  if (groups_.size() > 1 && plain()) make_cells();
}

// The rows in the design's order. Its memory is given back as they are taken.
void LevelRows::take_rows(Design& design) {
  bool bytes = true;
  for (std::size_t i = 0; i < rows_ && bytes; ++i) {
    const double y = design.y(i);
    bytes = y >= 0 && y <= std::numeric_limits<std::uint8_t>::max() && y == static_cast<std::uint8_t>(y);
  }
  x_.reserve(rows_ * columns_);
  y_.resize(rows_, bytes);
  if (design.has_offset) offset_.resize(rows_);
  if (design.has_weight) weight_.resize(rows_);
  std::vector<double> row(columns_);
  FrontRelease taken(design.x.data());
  for (std::size_t i = 0; i < rows_; ++i) {
    design.working_row(i, row);
    for (const double x : row) x_.push_back(static_cast<float>(x));
    y_.set(i, design.y(i));
    if (design.has_offset) offset_[i] = design.offset(i);
    if (design.has_weight) weight_[i] = design.weight(i);
    if (i % 4096 == 0) taken.up_to(i * design.stride * sizeof(double));
  }
  release(design.x);
}

void LevelRows::sort_rows(std::span<const RowId> order) {
  sort_by(order, columns_, x_);
  y_.sort(order);
  sort_by(order, 1, offset_);
  sort_by(order, 1, weight_);
}

bool LevelRows::plain() const noexcept {
  return std::all_of(groups_.begin(), groups_.end(), [](const Grouping& g) { return g.plain(); });
}

void LevelRows::make_cells() {
  const std::size_t k_count = groups_.size();
  const auto same = [&](std::size_t a, std::size_t b) {
    return std::all_of(groups_.begin(), groups_.end(),
                       [&](const Grouping& g) { return g.codes[a] == g.codes[b]; });
  };
  for (std::size_t i = 0; i < rows_; ++i)
    if (i == 0 || !same(i - 1, i)) cells_.starts.push_back(static_cast<std::uint32_t>(i));
  cells_.starts.push_back(static_cast<std::uint32_t>(rows_));
  const std::size_t count = cells_.size();
  for (std::size_t k = 0; k < k_count; ++k) {
    LevelCells::Of of;
    HugeVector<std::uint32_t> codes(count);
    for (std::size_t c = 0; c < count; ++c) codes[c] = groups_[k].codes[cells_.starts[c]];
    of.starts = starts_of(codes, groups_[k].levels());
    HugeVector<std::uint32_t> in_order(count);
    std::iota(in_order.begin(), in_order.end(), 0U);
    of.ids = sorted_by(codes, of.starts, in_order);
    of.others.resize(count * (k_count - 1) + LevelCells::pad);
    for (std::size_t c = 0; c < count; ++c) {
      const std::size_t first = cells_.starts[of.ids[c]];
      std::size_t at = c;
      for (std::size_t j = 0; j < k_count; ++j) {
        if (j == k) continue;
        of.others[at] = groups_[j].codes[first];
        at += count;
      }
    }
    cells_.of.push_back(std::move(of));
  }
}

}  // namespace mlo
