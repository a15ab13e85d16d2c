// Copyright (c) the mlo authors. BSD-3-Clause.
// Stage 2 of `exact`: whether a move survives the rows' remainders, from a Poisson number of rows drawn in
// proportion to their bounds. docs/methods/exact.md.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "mlo/base/random.hpp"
#include "mlo/kernel/kernel.hpp"
#include "mlo/subsample/expansion.hpp"
#include "mlo/subsample/row_source.hpp"

namespace mlo {

// How the rows that are read decide. Both rules are exact; `balanced` accepts more.
enum class Thinning {
  balanced,    // rates c M - max(0, r) and c M - max(0, -r)
  factorised,  // rates max(0, -r) and max(0, r): the first row against the move rejects it
};

// u < exp(log_ratio), without the exponential where the answer is known: e^x >= 1 + x. A random number is
// used up unless log_ratio >= 0. That is a coin toss, which no branch predictor can learn: so it is no
// branch.
[[nodiscard]] inline bool accepts(Stream& stream, double log_ratio) noexcept {
  const double u = uniform_of(stream.peek());
  stream.skip(log_ratio >= 0 ? 0 : 1);
  if (u < 1 + log_ratio) [[likely]]
    return true;
  return u < std::exp(log_ratio);
}

// Law: with a(from, to) the probability that a move survives, a(from, to) / a(to, from) = exp(sum_i r_i),
// r_i = d_i(to) - d_i(from), for every pair with a finite limit(): detailed balance for the remainders.
// E is an expansion: Expansion, or JointExpansion.
template <class E, BoundRows S>
class RemainderTest {
 public:
  using Point = typename E::Point;
  static constexpr bool with_polynomial = E::one_number;

  RemainderTest(std::shared_ptr<const E> expansion, Thinning thinning) requires std::same_as<S, TableRows>
      : RemainderTest(expansion, thinning, TableRows(expansion->rows)) {}
  RemainderTest(std::shared_ptr<const E> expansion, Thinning thinning, S source)
      : expansion_(std::move(expansion)),
        source_(std::move(source)),
        thinning_(thinning),
        room_(batch, expansion_->rows.dim()) {}

  // `limit` is a cheap upper bound on the mean number of rows. The tighter bound is worth computing only if
  // the looser one would read at least one row.
  // With the polynomial, one exponential number decides about it and says when the first row arrives: above
  // minus the log ratio, what is left of it is an exponential number again.
  bool operator()(Stream& stream, const Point& from, const Point& to, const RowLimit& limit, StepInfo& info) {
    const double most = limit.rows;
    double first = 0;
    if constexpr (with_polynomial) {
      first = exponential(stream) + std::min(info.log_ratio, 0.0);
      if (first <= 0) return false;
    } else if (most <= few) {
      first = exponential(stream);
    }
    if (most <= few && first >= most) return true;
    const double mean = expansion_->mean_rows(limit, from, to);
    const std::uint64_t count = most <= few ? arrivals(stream, first, mean) : poisson(stream, mean);
    if (count == 0) return true;
    const double unit = mean / expansion_->total_bound;  // factor * M
    return survives(stream, from, to, unit, count, info);
  }

  // The sum of the remainders' changes over all rows, and how many break their bounds.
  struct Sums {
    double change = 0;
    std::uint64_t violations = 0;
    Sums& operator+=(const Sums& other) {
      change += other.change;
      violations += other.violations;
      return *this;
    }
  };
  [[nodiscard]] Sums over_all_rows(ThreadPool& pool, const Point& here, const Point& there) const {
    const E& x = *expansion_;
    const double unit = x.mean_rows(x.limit(here, there), here, there) / x.total_bound;
    return block_sum(pool, x.rows.size(), batch, Sums{}, [&](std::size_t first, std::size_t count) {
      std::array<RowId, batch> ids;
      WhiteRows room(batch, x.rows.dim());
      const WhiteRows& rows = x.rows.read_from(first, {ids.data(), count}, room);
      RowChanges changes;
      x.evaluate(rows, {ids.data(), count}, here, there, changes);
      Sums part;
      for (std::size_t k = 0; k < count; ++k) {
        part.change += changes.r[k];
        if (std::isfinite(unit) && std::abs(changes.r[k]) > rows.bound(ids[k]) * unit) ++part.violations;
      }
      return part;
    });
  }

 private:
  static constexpr std::size_t batch = RowChanges::batch;
  static_assert(batch % DrawnRows::block_rows == 0);
  // Rows, up to which counting exponential gaps is the faster way to a Poisson number.
  static constexpr double few = 12;
  static std::uint64_t arrivals(Stream& stream, double first, double mean) noexcept {
    std::uint64_t count = 0;
    for (double at = first; at < mean; at += exponential(stream)) ++count;
    return count;
  }

  bool survives(Stream& stream, const Point& here, const Point& there, double unit, std::uint64_t count,
                StepInfo& info) {
    const E& x = *expansion_;
    double log_ratio = 0;
    bool alive = true;
    while (count > 0 && alive) {
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(batch, count));
      count -= size;
      const std::span<RowId> ids(ids_.data(), size);
      source_.draw(stream, ids);
      const WhiteRows& rows = x.rows.read(ids, room_);
      x.evaluate(rows, ids, here, there, changes_);
      info.rows_read += size;
      for (std::size_t k = 0; k < size && alive; ++k) {
        const double rate = rows.bound(ids[k]) * unit;
        double share = changes_.r[k] / rate;  // in [-1, 1] if the bound holds
        if (!(std::abs(share) <= 1)) {
          ++info.bound_violations;
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
    return alive && accepts(stream, log_ratio);
  }

  std::shared_ptr<const E> expansion_;
  S source_;
  Thinning thinning_;
  std::array<RowId, batch> ids_;
  RowChanges changes_;
  WhiteRows room_;  // for rows that are not kept
};

}  // namespace mlo
