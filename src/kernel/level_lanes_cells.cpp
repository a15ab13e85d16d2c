// Copyright (c) the mlo authors. BSD-3-Clause.
// Cells of crossed groupings, and rows of levels with curves.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/level_lanes_cells.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
//
#include "kernel/level_lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mlo::level_passes::HWY_NAMESPACE {

using Floats = hn::CappedTag<float, 2 * level_lanes>;
using F = hn::Vec<Floats>;
#if HWY_TARGET == HWY_SCALAR
constexpr hn::Rebind<double, Floats> wide;
using D = hn::Vec<hn::Rebind<double, Floats>>;
HWY_INLINE D doubled(F v) { return hn::PromoteTo(wide, v); }
#else
constexpr hn::Repartition<double, Floats> wide;
using D = hn::Vec<hn::Repartition<double, Floats>>;
HWY_INLINE D doubled(F v) {
  const hn::Half<Floats> half;
  return hn::Add(hn::PromoteTo(wide, hn::LowerHalf(half, v)), hn::PromoteTo(wide, hn::UpperHalf(half, v)));
}
#endif
HWY_INLINE double sum_of_doubles(D v) { return hn::GetLane(hn::SumOfLanes(wide, v)); }
HWY_INLINE double sum_of_floats(F v) { return sum_of_doubles(doubled(v)); }

// Cells c, c + 1, ...: as many as a register holds of floats, or the first `n` of them and gamma 0. `others`
// groupings; 0: as many as `cells` says.
template <int others>
struct CellLanes {
  const Cells& cells;
  HWY_INLINE std::size_t count() const { return others > 0 ? others : cells.others; }
  HWY_INLINE F gamma(std::size_t c) const {
    const hn::RebindToSigned<Floats> di;
    F sum = hn::Zero(Floats());
    for (std::size_t j = 0; j < count(); ++j) {
      const auto at = hn::LoadU(di, reinterpret_cast<const std::int32_t*>(cells.levels[j] + c));
      sum = hn::Add(sum, hn::GatherIndex(Floats(), cells.betas[j], at));
    }
    return sum;
  }
  HWY_INLINE F gamma(std::size_t c, std::size_t n) const {
    const hn::RebindToSigned<Floats> di;
    const auto few = hn::FirstN(di, n);
    F sum = hn::Zero(Floats());
    for (std::size_t j = 0; j < count(); ++j) {
      const auto at = hn::LoadU(di, reinterpret_cast<const std::int32_t*>(cells.levels[j] + c));
      sum = hn::Add(sum, hn::GatherIndex(Floats(), cells.betas[j], hn::IfThenElseZero(few, at)));
    }
    return hn::IfThenElseZero(hn::FirstN(Floats(), n), sum);
  }
  HWY_INLINE F floats(const float* from, std::size_t c) const { return hn::LoadU(Floats(), from + c); }
  HWY_INLINE F cubes(F gamma, std::size_t c) const {
    const F cube = hn::Mul(hn::Mul(gamma, gamma), hn::Abs(gamma));
    return cells.count == nullptr ? cube : hn::Mul(floats(cells.count, c), cube);
  }
};

// Sums of a chunk.
struct CellTotals {
  F f2g, f3g, f3gg, cubes, most, whole;
  // `n`: the number of cells, or nothing if all are.
  template <int others, class... N>
  HWY_INLINE void add(const CellLanes<others>& of, std::size_t c, N... n) {
    const Cells& cells = of.cells;
    const F gamma = of.gamma(c, n...), f2 = of.floats(cells.f2, c), f3 = of.floats(cells.f3, c);
    const F bent = hn::Mul(f3, gamma);
    f2g = hn::MulAdd(f2, gamma, f2g);
    f3g = hn::Add(f3g, bent);
    f3gg = hn::MulAdd(bent, gamma, f3gg);
    cubes = hn::Add(cubes, of.cubes(gamma, c));
    most = hn::Max(most, hn::Abs(gamma));
    if constexpr (others != 1) {
      if (cells.f1 == nullptr) return;
      const F slope = hn::MulAdd(hn::Set(Floats(), 1.0F / 6), bent, hn::Mul(hn::Set(Floats(), 0.5F), f2));
      whole = hn::MulAdd(hn::MulAdd(slope, gamma, of.floats(cells.f1, c)), gamma, whole);
    }
  }
};

// Within a chunk in floats, of which a lane adds up few; chunks and lanes in doubles.
template <int others>
double AddCellsOf(const Levels& levels, const Cells& cells, Range range) {
  const std::size_t lanes = hn::Lanes(Floats()), first = range.first * level_lanes,
                    last = range.last * level_lanes < levels.count ? range.last * level_lanes : levels.count;
  const CellLanes<others> of{cells};
  const F none = hn::Zero(Floats());
  double whole = 0;
  for (std::size_t l = first; l < last; ++l) {
    auto f2g = hn::Zero(wide), f3g = f2g, f3gg = f2g;
    F most = none;
    std::size_t c = cells.starts[l];
    const std::size_t end = cells.starts[l + 1];
    double* const chunks = levels.chunks + cells.chunk_of(l);
    double all_cubes = 0;
    for (std::size_t chunk = 0; c < end; ++chunk) {
      const std::size_t stop = c + Cells::chunk < end ? c + Cells::chunk : end;
      CellTotals sums{none, none, none, none, most, none};
      for (; c + lanes <= stop; c += lanes) sums.add(of, c);
      if (c < stop) sums.add(of, c, stop - c);
      c = stop;
      f2g = hn::Add(f2g, doubled(sums.f2g));
      f3g = hn::Add(f3g, doubled(sums.f3g));
      f3gg = hn::Add(f3gg, doubled(sums.f3gg));
      most = sums.most;
      chunks[chunk] = sum_of_floats(sums.cubes);
      all_cubes += chunks[chunk];
      if (others != 1 && cells.f1 != nullptr) whole += sum_of_floats(sums.whole);
    }
    const double slope = sum_of_doubles(f2g);
    levels.cell_linear[l] = slope + 0.5 * sum_of_doubles(f3gg);
    levels.cell_first[l] = slope;
    levels.cell_bend[l] = sum_of_doubles(f3g);
    levels.cubes[l] = all_cubes;
    // A bound: not below the largest |gamma| before it was rounded.
    levels.others[l] = (1 + 1e-6) * static_cast<double>(hn::GetLane(hn::MaxOfLanes(Floats(), most)));
  }
  return whole;
}
double AddCells(const Levels& levels, const Cells& cells, Range range) {
  return cells.others == 1 ? AddCellsOf<1>(levels, cells, range) : AddCellsOf<0>(levels, cells, range);
}

void CurvedChanges(const CurvedRows& rows, std::size_t count, double* out) {
  const Doubles d;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const V e = hn::LoadU(d, rows.e + i), u = hn::LoadU(d, rows.u + i);
    const V a = hn::Add(e, hn::LoadU(d, rows.from + i)), b = hn::Add(e, hn::LoadU(d, rows.to + i));
    const V there = special::softplus_difference(d, hn::Add(a, u), hn::Add(b, u));
    const V s = special::sigmoid(d, e), bend = hn::Mul(s, hn::Sub(set(1), s));
    const V mixed = hn::Sub(special::softplus_difference(d, a, b), there);
    hn::StoreU(hn::MulAdd(hn::Mul(bend, u), hn::LoadU(d, rows.phi + i), mixed), d, out + i);
  }
}

std::size_t CellOf(const Cells& cells, std::size_t first, std::size_t last, double target) {
  const CellLanes<0> of{cells};
  const std::size_t lanes = hn::Lanes(Floats());
  HWY_ALIGN float cubes[2 * level_lanes] = {};
  for (std::size_t c = first; c < last; c += lanes) {
    const std::size_t n = c + lanes < last ? lanes : last - c;
    const F some = of.cubes(of.gamma(c, n), c);
    const double sum = sum_of_floats(some);
    if (target >= sum) {
      target -= sum;
      continue;
    }
    hn::Store(some, Floats(), cubes);
    for (std::size_t i = 0; i + 1 < n; ++i) {
      target -= static_cast<double>(cubes[i]);
      if (target < 0) return c + i;
    }
    return c + n - 1;
  }
  return last - 1;
}

}  // namespace mlo::level_passes::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mlo::level_passes {

HWY_EXPORT(AddCells);
HWY_EXPORT(CellOf);
HWY_EXPORT(CurvedChanges);

double add_cells(const Levels& levels, const Cells& cells, Range range) {
  return HWY_DYNAMIC_DISPATCH(AddCells)(levels, cells, range);
}
std::size_t cell_of(const Cells& cells, std::size_t first, std::size_t last, double target) {
  return HWY_DYNAMIC_DISPATCH(CellOf)(cells, first, last, target);
}
void curved_changes(const CurvedRows& rows, std::size_t count, double* out) {
  HWY_DYNAMIC_DISPATCH(CurvedChanges)(rows, count, out);
}

}  // namespace mlo::level_passes
#endif
