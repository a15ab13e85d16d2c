// Copyright (c) the mlo authors. BSD-3-Clause.
// Stage 2 of `exact` for softmax regression: like RemainderTest, with one stream of rows per pair of classes.
// A row can be drawn from the streams of all its pairs; together they draw it at the rate of its bound.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "mlo/base/random.hpp"
#include "mlo/kernel/kernel.hpp"
#include "mlo/kernel/remainder_test.hpp"
#include "mlo/subsample/class_expansion.hpp"

namespace mlo {

// WhiteProposal::Options::most_walks for classes. With dozens of parameters, proposals are refused because
// the posterior departs a little from its fit in each of them, not because of a heavy tail: walks help
// little.
inline constexpr double most_class_walks = 0.05;

// Law: with a(from, to) the probability that a move is accepted, a(from, to) / a(to, from) = exp(log_ratio +
// sum_i r_i) over the rows that are not always read. The balanced rule decides once, about the product of the
// polynomial's ratio and the rows' factors: it accepts more than two decisions in turn, and a cubic
// polynomial, which is unbounded, is never alone. The marks of the kept rows are part of the proposal: with
// rates phi and phi' the ratio of their Poisson densities is prod phi'/phi times exp(-sum r).
class ClassRemainders {
 public:
  using Point = ClassPoint;
  static constexpr bool with_polynomial = true;

  ClassRemainders(std::shared_ptr<const ClassExpansion> expansion, Thinning thinning)
      : expansion_(std::move(expansion)),
        thinning_(thinning),
        upto_(expansion_->pairs()),
        changes_(expansion_->classes) {}

  bool operator()(Stream& stream, const Point& from, const Point& to, const RowLimit& limit, StepInfo& info) {
    const std::uint64_t count = limit.rows > 0 ? poisson(stream, limit.rows) : 0;
    if (count == 0) return accepts(stream, info.log_ratio);
    double sum = 0;
    for (std::size_t k = 0; k < upto_.size(); ++k)
      upto_[k] = sum += expansion_->totals[k] * (from.powers[k] + to.powers[k]);
    return survives(stream, from, to, count, info);
  }

  struct Sums {
    double change = 0;
    std::uint64_t violations = 0;
    Sums& operator+=(const Sums& other) {
      change += other.change;
      violations += other.violations;
      return *this;
    }
  };
  // The sum of the changes over all rows but those that are always read, and how many break their bounds.
  [[nodiscard]] Sums over_all_rows(ThreadPool& pool, const Point& here, const Point& there) const {
    const ClassExpansion& x = *expansion_;
    const bool bounded = std::isfinite(x.limit(here, there).rows);
    return block_sum(pool, x.rows.size(), 4096, Sums{}, [&](std::size_t first, std::size_t count) {
      std::array<RowId, batch> ids;
      ClassChanges changes(x.classes);
      Sums part;
      for (std::size_t at = first; at < first + count; at += batch) {
        const std::size_t size = std::min(batch, first + count - at);
        for (std::size_t k = 0; k < size; ++k) ids[k] = static_cast<RowId>(at + k);
        x.evaluate({ids.data(), size}, here, there, changes);
        for (std::size_t k = 0; k < size; ++k) {
          part.change += changes.r[k];
          if (bounded && std::abs(changes.r[k]) > x.bound(ids[k], here, there) + rounding) ++part.violations;
        }
      }
      return part;
    });
  }

 private:
  static constexpr std::size_t batch = ClassChanges::batch;
  // What a remainder, a difference of numbers of size 10, can be wrong by.
  static constexpr double rounding = 1e-13;

  // The stream at this place. Few rates are counted without branches, which would be guesses.
  [[nodiscard]] std::size_t pair_at(double at) const noexcept {
    constexpr std::size_t few = 64;
    if (upto_.size() > few)
      return static_cast<std::size_t>(std::upper_bound(upto_.begin(), upto_.end(), at) - upto_.begin());
    std::size_t pair = 0;
    for (const double end : upto_) pair += end <= at ? 1 : 0;
    return pair;
  }

  // Rows of random streams. First the cells of the tables, then the rows themselves are fetched together.
  void draw(Stream& stream, std::span<RowId> ids) {
    const ClassExpansion& x = *expansion_;
    for (std::size_t k = 0; k < ids.size(); ++k) {
      const double at = uniform(stream) * upto_.back();
      pairs_[k] = std::min(pair_at(at), upto_.size() - 1);
      words_[k] = stream();
      cells_[k] = x.tables[pairs_[k]].cell(words_[k]);
      __builtin_prefetch(cells_[k]);
    }
    for (std::size_t k = 0; k < ids.size(); ++k) {
      ids[k] = x.tables[pairs_[k]].row(words_[k], cells_[k]);
      x.rows.prefetch(ids[k]);
    }
  }

  bool survives(Stream& stream, const Point& here, const Point& there, std::uint64_t count, StepInfo& info) {
    const ClassExpansion& x = *expansion_;
    double log_ratio = 0;
    bool alive = true;
    while (count > 0 && alive) {
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(batch, count));
      count -= size;
      const std::span<RowId> ids(ids_.data(), size);
      draw(stream, ids);
      x.evaluate(ids, here, there, changes_);
      info.rows_read += size;
      for (std::size_t k = 0; k < size && alive; ++k) {
        const double rate = x.bound(ids[k], here, there);
        double share = changes_.r[k] / rate;  // in [-1, 1] if the bound holds
        if (!(std::abs(share) <= 1)) {
          if (!(std::abs(changes_.r[k]) <= rate + rounding)) ++info.bound_violations;
          share = std::isnan(share) ? 0 : std::clamp(share, -1.0, 1.0);
        }
        if (thinning_ == Thinning::factorised) {
          alive = share >= 0 || uniform(stream) >= -share;
        } else if (share < 0) {
          log_ratio += std::log1p(share);
        } else if (uniform(stream) >= share) {
          log_ratio -= std::log1p(-share);
        }
      }
    }
    info.log_ratio += log_ratio;
    return alive && accepts(stream, info.log_ratio);
  }

  std::shared_ptr<const ClassExpansion> expansion_;
  Thinning thinning_;
  std::vector<double> upto_;  // rates of the streams, added up
  std::array<RowId, batch> ids_;
  std::array<std::uint64_t, batch> words_;
  std::array<std::size_t, batch> pairs_;
  std::array<const PairTable::Cell*, batch> cells_;
  ClassChanges changes_;
};

}  // namespace mlo
