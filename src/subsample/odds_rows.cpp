// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/subsample/odds_rows.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "mlo/model/curve.hpp"

namespace mlo {

bool OddsRows::suit(const GroupedModel& model) {
  const auto curve = model.family().curve();
  const LevelRows& rows = model.rows();
  return curve != nullptr && curve->softplus() && curve->unscaled() && !rows.weighted() && rows.plain() &&
         !rows.groups().empty();
}

OddsRows::OddsRows(const GroupedModel& model, std::span<const double> eta) : rows_(model.rows().size()) {
  const LevelRows& rows = model.rows();
  const std::size_t q = rows.columns();
  of_.resize(rows.groups().size());
  std::vector<std::uint32_t> first;
  for (std::size_t k = 0; k < of_.size(); ++k) place(model, k, first);
  fixed_ = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(q));
  pull_ = fixed_;
  for (std::size_t j = 0; j < q; ++j) {
    const float value = rows.x(0)[j];
    bool same = true;
    for (std::size_t i = 1; i < rows_ && same; ++i) same = rows.x(i)[j] == value;
    if (same)
      fixed_[static_cast<Eigen::Index>(j)] = static_cast<double>(value);
    else
      moving_.push_back(j);
  }
  const std::size_t places = of_[0].places();
  base_.assign(places + level_lanes, 0.0F);  // one more block: places that other groupings leave empty
  columns_.assign(moving_.size() * places, 0.0F);
  constexpr double largest = 30;
  for (std::size_t i = 0; i < rows_; ++i) {
    const float* const x = rows.x(i);
    base_[first[i]] = static_cast<float>(std::exp(eta[i]));
    tame_ = tame_ && std::abs(eta[i]) <= largest;
    const std::size_t eight = first[i] / level_lanes, lane = first[i] % level_lanes;
    for (std::size_t m = 0; m < moving_.size(); ++m)
      columns_[(eight * moving_.size() + m) * level_lanes + lane] = x[moving_[m]];
    const double y = rows.y(i);
    if (y == 0) continue;
    value_ += y * eta[i];
    for (std::size_t j = 0; j < q; ++j) pull_[static_cast<Eigen::Index>(j)] += y * static_cast<double>(x[j]);
  }
}

// `places`: by row, in the first grouping; written for the first, read for the others.
void OddsRows::place(const GroupedModel& model, std::size_t k, std::vector<std::uint32_t>& places) {
  const LevelRows& rows = model.rows();
  const Grouping& group = rows.groups()[k];
  const std::size_t levels = group.levels(), blocks = lane_blocks(levels), others = of_.size() - 1;
  Of& of = of_[k];
  of.level.resize(levels);
  std::iota(of.level.begin(), of.level.end(), 0U);
  std::stable_sort(of.level.begin(), of.level.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return group.size(a) > group.size(b); });
  of.starts.assign(1, 0);
  for (std::size_t block = 0; block < blocks; ++block)
    of.starts.push_back(of.starts.back() +
                        static_cast<std::uint32_t>(group.size(of.level[block * level_lanes])));
  of.count.assign(blocks * level_lanes, 0);
  of.successes.assign(blocks * level_lanes, 0);
  of.codes.assign(others * of.places(), 0);
  if (k == 0)
    places.resize(rows.size());
  else
    of.from.assign(of.places(), static_cast<std::uint32_t>(of_[0].places()));
  for (std::size_t slot = 0; slot < levels; ++slot) {
    const std::size_t level = of.level[slot], begin = group.starts[level];
    of.count[slot] = static_cast<double>(group.size(level));
    for (std::size_t r = 0; r < group.size(level); ++r) {
      const std::size_t row = group.row(begin + r),
                        at = (of.starts[slot / level_lanes] + r) * level_lanes + slot % level_lanes;
      of.successes[slot] += rows.y(row);
      if (k == 0)
        places[row] = static_cast<std::uint32_t>(at);
      else
        of.from[at] = places[row];
      for (std::size_t j = 0, other = 0; j < of_.size(); ++j)
        if (j != k) of.codes[other++ * of.places() + at] = rows.groups()[j].codes[row];
    }
  }
  const std::size_t eights = of.starts.back();
  of.common.resize(others * eights);
  for (std::size_t block = 0; block < blocks; ++block)
    for (std::size_t eight = of.starts[block]; eight < of.starts[block + 1]; ++eight)
      for (std::size_t other = 0; other < others; ++other) {
        const std::uint32_t* const codes = of.codes.data() + other * of.places() + eight * level_lanes;
        bool same = true;  // empty places, of odds 0, agree with any
        for (std::size_t lane = 1; lane < level_lanes; ++lane)
          same = same && (codes[lane] == codes[0] || static_cast<double>(eight - of.starts[block]) >=
                                                         of.count[block * level_lanes + lane]);
        of.common[other * eights + eight] = same ? codes[0] : mixed;
      }
}

}  // namespace mlo
