// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/level_rows.hpp"

#include <algorithm>
#include <numeric>

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

template <class T>
HugeVector<T> permuted(const HugeVector<T>& from, std::span<const RowId> order, std::size_t width) {
  HugeVector<T> out(from.size());
  for (std::size_t k = 0; k < order.size(); ++k)
    std::copy_n(from.data() + order[k] * width, width, out.data() + k * width);
  return out;
}

}  // namespace

LevelRows::LevelRows(Design& design) : rows_(design.rows), columns_(design.dim) {
  HugeVector<RowId> order(rows_);
  std::iota(order.begin(), order.end(), RowId{0});
  for (std::size_t k = design.groups.size(); k-- > 0;) {
    const GroupDesign& group = design.groups[k];
    order = sorted_by(group.codes, starts_of(group.codes, group.levels.size()), order);
  }
  x_.resize(rows_ * columns_);
  y_.resize(rows_);
  if (design.has_offset) offset_.resize(rows_);
  if (design.has_weight) weight_.resize(rows_);
  std::vector<double> row(columns_);
  for (std::size_t k = 0; k < rows_; ++k) {
    const std::size_t i = order[k];
    design.working_row(i, row);
    for (std::size_t j = 0; j < columns_; ++j) x_[k * columns_ + j] = static_cast<float>(row[j]);
    y_[k] = design.y(i);
    if (design.has_offset) offset_[k] = design.offset(i);
    if (design.has_weight) weight_[k] = design.weight(i);
  }
  design.x = {};
  for (std::size_t k = 0; k < design.groups.size(); ++k) {
    GroupDesign& from = design.groups[k];
    Grouping to;
    to.name = from.name;
    to.level_names = from.levels;
    to.effects = from.effects;
    to.intercept = from.intercept;
    to.correlated = from.correlated;
    to.codes = permuted(from.codes, order, 1);
    from.codes = {};
    if (to.dim() > (to.intercept ? 1U : 0U))
      to.z = permuted(from.z, order, to.dim() - (to.intercept ? 1 : 0));
    from.z = {};
    to.starts = starts_of(to.codes, to.level_names.size());
    if (k > 0) {
      HugeVector<RowId> as_stored(rows_);
      std::iota(as_stored.begin(), as_stored.end(), RowId{0});
      to.order = sorted_by(to.codes, to.starts, as_stored);
    }
    groups_.push_back(std::move(to));
  }
  if (groups_.size() > 1 && plain()) make_cells();
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
    of.others.resize(count * (k_count - 1));
    for (std::size_t c = 0; c < count; ++c) {
      const std::size_t first = cells_.starts[of.ids[c]];
      std::size_t at = c * (k_count - 1);
      for (std::size_t j = 0; j < k_count; ++j)
        if (j != k) of.others[at++] = groups_[j].codes[first];
    }
    cells_.of.push_back(std::move(of));
  }
}

}  // namespace mlo
