// Copyright (c) the mlo authors. BSD-3-Clause.
// Cells of crossed groupings, and rows of levels with curves.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/level_lanes_cells.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
//
#include "kernel/level_lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mlo::level_passes::HWY_NAMESPACE {

// Cells c, c + 1, ...: gamma, and the rows.
struct CellLanes {
  const Cells& cells;
  HWY_INLINE V floats(const float* from, std::size_t c) const {
    return hn::PromoteTo(Doubles(), hn::LoadU(hn::Rebind<float, Doubles>(), from + c));
  }
  HWY_INLINE V gamma(std::size_t c) const {
    const hn::Rebind<std::int32_t, Doubles> di;
    const hn::Rebind<std::int64_t, Doubles> dl;
    V sum = zero();
    for (std::size_t j = 0; j < cells.others; ++j) {
      const auto at = hn::LoadU(di, reinterpret_cast<const std::int32_t*>(cells.levels[j] + c));
      sum = hn::Add(sum, hn::GatherIndex(Doubles(), cells.betas[j], hn::PromoteTo(dl, at)));
    }
    return sum;
  }
  HWY_INLINE V cubes(std::size_t c, V gamma) const {
    const V cube = hn::Mul(hn::Mul(gamma, gamma), hn::Abs(gamma));
    return cells.count == nullptr ? cube : hn::Mul(floats(cells.count, c), cube);
  }
  double gamma_of(std::size_t c) const {
    double sum = 0;
    for (std::size_t j = 0; j < cells.others; ++j) sum += cells.betas[j][cells.levels[j][c]];
    return sum;
  }
  double cubes_of(std::size_t c, double gamma) const {
    const double size = std::abs(gamma), cube = size * size * size;
    return cells.count == nullptr ? cube : static_cast<double>(cells.count[c]) * cube;
  }
};

double AddCells(const Levels& levels, const Cells& cells, Range range) {
  const std::size_t lanes = hn::Lanes(Doubles()), first = range.first * level_lanes,
                    last = range.last * level_lanes < levels.count ? range.last * level_lanes : levels.count;
  const CellLanes of{cells};
  V whole = zero();
  double rest = 0;
  for (std::size_t l = first; l < last; ++l) {
    V f2g = zero(), f3g = zero(), f3gg = zero(), most = zero();
    std::size_t c = cells.starts[l];
    const std::size_t end = cells.starts[l + 1];
    double* const chunks = levels.chunks + cells.chunk_of(l);
    std::size_t chunk = 0;
    double all_cubes = 0;
    for (; c + lanes <= end; ++chunk) {
      const std::size_t stop = c + Cells::chunk < end ? c + Cells::chunk : end;
      V cubes = zero();
      for (; c + lanes <= stop; c += lanes) {
        const V gamma = of.gamma(c), f2 = of.floats(cells.f2, c), f3 = of.floats(cells.f3, c);
        f2g = hn::MulAdd(f2, gamma, f2g);
        f3g = hn::MulAdd(f3, gamma, f3g);
        f3gg = hn::MulAdd(f3, hn::Mul(gamma, gamma), f3gg);
        cubes = hn::Add(cubes, of.cubes(c, gamma));
        most = hn::Max(most, hn::Abs(gamma));
        if (cells.f1 != nullptr) {
          const V bent = hn::MulAdd(hn::Mul(set(1.0 / 6), f3), gamma, hn::Mul(set(0.5), f2));
          whole = hn::MulAdd(hn::MulAdd(bent, gamma, of.floats(cells.f1, c)), gamma, whole);
        }
      }
      chunks[chunk] = sum_of(cubes);
      all_cubes += chunks[chunk];
    }
    // A few cells at the end. They are of the last chunk, or of one of their own: what is left of the level.
    double sums[5] = {sum_of(f2g), sum_of(f3g), sum_of(f3gg), all_cubes,
                      hn::GetLane(hn::MaxOfLanes(Doubles(), most))};
    for (; c < end; ++c) {
      const double gamma = of.gamma_of(c), f2 = cells.f2[c], f3 = cells.f3[c], size = std::abs(gamma);
      sums[0] += f2 * gamma;
      sums[1] += f3 * gamma;
      sums[2] += f3 * gamma * gamma;
      sums[3] += of.cubes_of(c, gamma);
      sums[4] = size > sums[4] ? size : sums[4];
      if (cells.f1 != nullptr)
        rest += gamma * (static_cast<double>(cells.f1[c]) + gamma * (0.5 * f2 + gamma * f3 / 6));
    }
    levels.cell_linear[l] = sums[0] + 0.5 * sums[2];
    levels.cell_first[l] = sums[0];
    levels.cell_bend[l] = sums[1];
    levels.cubes[l] = sums[3];
    levels.others[l] = sums[4];
  }
  return sum_of(whole) + rest;
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
  const CellLanes of{cells};
  const std::size_t lanes = hn::Lanes(Doubles());
  std::size_t c = first;
  for (; c + lanes <= last; c += lanes) {
    const double sum = sum_of(of.cubes(c, of.gamma(c)));
    if (target < sum) break;
    target -= sum;
  }
  for (; c + 1 < last; ++c) {
    target -= of.cubes_of(c, of.gamma_of(c));
    if (target < 0) break;
  }
  return c < last ? c : last - 1;
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
