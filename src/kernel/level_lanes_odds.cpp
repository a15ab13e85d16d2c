// Copyright (c) the mlo authors. BSD-3-Clause.
// All rows of a logistic model as odds.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/level_lanes_odds.cpp"
#include <hwy/foreach_target.h>  // compiles this file once per instruction set
//
#include "kernel/level_lanes-inl.hpp"
#include "kernel/level_odds.hpp"

HWY_BEFORE_NAMESPACE();
namespace mlo::level_passes::HWY_NAMESPACE {

using Singles = hn::Rebind<float, Doubles>;
using F = hn::Vec<Singles>;

HWY_INLINE F single(float x) { return hn::Set(Singles(), x); }
HWY_INLINE F demoted(V v) { return hn::DemoteTo(Singles(), v); }
HWY_INLINE V promoted(F v) { return hn::PromoteTo(Doubles(), v); }
HWY_INLINE F load_single(const float* from) { return hn::LoadU(Singles(), from); }

constexpr std::size_t rows_of_log = 32;  // of which one logarithm is taken
constexpr float largest_odds = 50;       // sixteen factors 1 + this have a product that is a float

// e^x to 2e-7 of itself (the polynomial is that of the Cephes library), for |x| < 87; beyond, as there.
HWY_INLINE F exp_of(F x) {
  const Singles d;
  const hn::RebindToSigned<Singles> whole;
  x = hn::Max(single(-87.0F), hn::Min(single(87.0F), x));
  const F n = hn::Round(hn::Mul(x, single(1.44269504F)));
  const F r = hn::NegMulAdd(n, single(-2.12194440e-4F), hn::NegMulAdd(n, single(0.693359375F), x));
  F p = single(1.9875691500e-4F);
  for (const float next :
       {1.3981999507e-3F, 8.3334519073e-3F, 4.1665795894e-2F, 1.6666665459e-1F, 5.0000001201e-1F})
    p = hn::MulAdd(p, r, single(next));
  p = hn::Add(hn::MulAdd(hn::Mul(r, r), p, r), single(1.0F));
  const auto exponent = hn::Add(hn::ConvertTo(whole, n), hn::Set(whole, 127));
  return hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<23>(exponent)));
}

// Factors of a grouping with few levels, where a register holds eight.
class FewFactors {
 public:
  HWY_INLINE explicit FewFactors(const float* factors)
      : first_(load_single(factors)),
        second_(load_single(factors + 8)),
        third_(load_single(factors + 16)),
        fourth_(load_single(factors + 24)) {}
  HWY_INLINE F of(const std::uint8_t* codes) const {
    const hn::RebindToSigned<Singles> whole;
    const hn::Rebind<std::uint8_t, Singles> byte;
    const auto code = hn::PromoteTo(whole, hn::LoadU(byte, codes));
    const auto in = hn::IndicesFromVec(Singles(), hn::And(code, hn::Set(whole, 7)));
    const auto odd = hn::RebindMask(Singles(), hn::TestBit(code, hn::Set(whole, 8))),
               high = hn::RebindMask(Singles(), hn::TestBit(code, hn::Set(whole, 16)));
    const F low_half =
        hn::IfThenElse(odd, hn::TableLookupLanes(second_, in), hn::TableLookupLanes(first_, in));
    const F high_half =
        hn::IfThenElse(odd, hn::TableLookupLanes(fourth_, in), hn::TableLookupLanes(third_, in));
    return hn::IfThenElse(high, high_half, low_half);
  }

 private:
  F first_, second_, third_, fourth_;
};

// Calls f(place, factor) for the rows of a register's slots, rows_of_log at a time; then flush(place, rows).
template <class Each, class Flush>
HWY_INLINE void over_rows(const OddsFactors& of, std::size_t first, std::size_t depth, const Each& f,
                          const Flush& flush) {
  const std::size_t width = hn::Lanes(Doubles());
  const auto over = [&](const auto& prepare, const auto& factor) HWY_ATTR {
    for (std::size_t done = 0; done < depth; done += rows_of_log) {
      const std::size_t some = depth - done < rows_of_log ? depth - done : rows_of_log,
                        at = first + done * level_lanes;
      prepare(at, some);
      for (std::size_t r = 0; r < some; ++r) f(at + r * level_lanes, factor(at + r * level_lanes, r));
      flush(at, some);
    }
  };
  const auto nothing = [](std::size_t /*at*/, std::size_t /*rows*/) {};
  if (of.others == 0 && of.from == nullptr)
    return over(nothing, [](std::size_t /*at*/, std::size_t /*r*/) HWY_ATTR { return single(1.0F); });
  if constexpr (hn::MaxLanes(Singles()) == level_lanes)
    if (of.bytes != nullptr) {
      const FewFactors few(of.factors[0]);
      return over(nothing, [&](std::size_t at, std::size_t /*r*/) HWY_ATTR { return few.of(of.bytes + at); });
    }
  HWY_ALIGN float factors[rows_of_log * level_lanes];
  over(
      [&](std::size_t at, std::size_t rows) {
        look_up(of, {at, rows, width}, factors);
      },
      [&](std::size_t /*at*/, std::size_t r) HWY_ATTR { return hn::Load(Singles(), factors + r * width); });
}

// The sum of log(1 + a) for odds a >= 0. What the product of factors 1 + a exceeds 1 by is kept as a float:
// q becomes q + a + q a, so that no digit of a small sum is lost. Two products, because one would wait for
// itself.
class LogSum {
 public:
  HWY_INLINE LogSum() : even_(hn::Zero(Singles())), odd_(even_), most_(even_), sum_(zero()) {}
  HWY_INLINE void add(F a) {
    const F next = hn::MulAdd(even_, a, hn::Add(even_, a));
    most_ = hn::Max(most_, a);
    even_ = odd_;
    odd_ = next;
  }
  // After at most rows_of_log rows: again(r) has their odds, if some are too large for a product.
  template <class Again>
  HWY_INLINE void flush(std::size_t rows, const Again& again) {
    const V one = set(1);
    if (HWY_LIKELY(hn::AllTrue(Singles(), hn::Lt(most_, single(largest_odds))))) {
      const V product = hn::Mul(hn::Add(one, promoted(even_)), hn::Add(one, promoted(odd_)));
      sum_ = hn::Add(sum_, special::log(Doubles(), product));
    } else {
      for (std::size_t r = 0; r < rows; ++r)
        sum_ = hn::Add(sum_, special::log(Doubles(), hn::Add(one, promoted(again(r)))));
    }
    even_ = odd_ = most_ = hn::Zero(Singles());
  }
  HWY_INLINE V sum() const { return sum_; }

 private:
  F even_, odd_, most_;
  V sum_;
};

// The normal law about the mode of the cubic and the prior, and how the true one leans. Numbers are floats:
// what is made of them is exact in whatever they are.
struct OddsLaw {
  V mode, root;  // root: of the curvature
  // Places z of a standard normal law become mode + (c z + s sqrt(1 + z^2)) / root, c^2 - s^2 = 1.
  V c, s;
};

// The slots of a register.
struct OddsLanes {
  const OddsLevels& of;
  std::size_t block, part;

  HWY_INLINE std::size_t slot() const { return block * level_lanes + part; }
  HWY_INLINE std::size_t first_place() const { return of.starts[block] * level_lanes + part; }
  HWY_INLINE std::size_t depth() const { return of.starts[block + 1] - of.starts[block]; }
  HWY_INLINE V load(const double* from) const { return hn::LoadU(Doubles(), from + slot()); }
  HWY_INLINE void store(V v, double* to) const { hn::StoreU(v, Doubles(), to + slot()); }
  HWY_INLINE F load(const float* from) const { return load_single(from + slot()); }
  HWY_INLINE void store(F v, float* to) const { hn::StoreU(v, Singles(), to + slot()); }

  HWY_INLINE F odds_of(std::size_t at, F factor) const {
    return of.from == nullptr ? hn::Mul(load_single(of.x + at), factor) : factor;
  }
  // Returns the sum of the odds.
  HWY_INLINE V fill() const {
    V sum = zero();
    over_rows(
        of, first_place(), depth(),
        [&](std::size_t at, F factor) HWY_ATTR {
          const F o = odds_of(at, factor);
          // What is kept is what every later pass of this grouping reads.
          hn::StoreU(o, Singles(), of.odds + at);
          sum = hn::Add(sum, promoted(o));
        },
        [](std::size_t /*at*/, std::size_t /*rows*/) {});
    return sum;
  }
  // The same, and the log-likelihood's derivatives at the centre, to the digits of floats, which is enough
  // for proposals.
  HWY_INLINE void expand() const {
    const F one = single(1.0F), e = demoted(special::exp(Doubles(), promoted(load(of.centre))));
    V first = zero(), second = zero(), third = zero();
    F first_of = hn::Zero(Singles()), second_of = first_of, third_of = first_of;
    over_rows(
        of, first_place(), depth(),
        [&](std::size_t at, F factor) HWY_ATTR {
          const F o = odds_of(at, factor);
          hn::StoreU(o, Singles(), of.odds + at);
          const F a = hn::Mul(o, e), p = hn::Div(a, hn::Add(one, a)), spread = hn::NegMulAdd(p, p, p);
          first_of = hn::Add(first_of, p);
          second_of = hn::Add(second_of, spread);
          third_of = hn::MulAdd(spread, hn::NegMulAdd(single(2.0F), p, one), third_of);
        },
        [&](std::size_t /*at*/, std::size_t /*rows*/) HWY_ATTR {
          first = hn::Add(first, promoted(first_of));
          second = hn::Add(second, promoted(second_of));
          third = hn::Add(third, promoted(third_of));
          first_of = second_of = third_of = hn::Zero(Singles());
        });
    store(demoted(hn::Sub(load(of.successes), first)), of.slope);
    store(demoted(second), of.bend);
    store(demoted(third), of.skew);
  }
  // Sums of log(1 + o e^t).
  HWY_INLINE V logs(V t) const {
    const F e = demoted(special::exp(Doubles(), hn::Add(t, set(of.lift))));
    LogSum sum;
    const float* at = of.odds + first_place();
    for (std::size_t left = depth(); left > 0;) {
      const std::size_t some = left < rows_of_log ? left : rows_of_log;
      for (std::size_t r = 0; r < some; ++r) sum.add(hn::Mul(load_single(at + r * level_lanes), e));
      sum.flush(some, [&](std::size_t r) HWY_ATTR { return hn::Mul(load_single(at + r * level_lanes), e); });
      at += some * level_lanes;
      left -= some;
    }
    return sum.sum();
  }
  // Where the log-likelihood is expanded, in s = t + lift: near the mode with the reference's prior, as if
  // all rows had the same odds.
  HWY_INLINE V near_mode(V odds) const {
    const V n = load(of.count), y = load(of.successes), mean = load(of.mean), one = set(1);
    const V tau = set(of.reference_tau), each = hn::Div(odds, hn::Max(n, one));
    V s = zero();
    for (int newton = 0; newton < 4; ++newton) {
      const V a = hn::Mul(each, special::exp(Doubles(), s));
      const V p = hn::Div(a, hn::Add(one, a)), np = hn::Mul(n, p);
      const V slope = hn::NegMulAdd(tau, hn::Sub(s, mean), hn::Sub(y, np));
      const V curvature = hn::MulAdd(np, hn::Sub(one, p), tau);
      s = hn::Add(s, hn::Max(hn::Neg(one), hn::Min(one, hn::Div(slope, curvature))));
    }
    return s;
  }
  // The mode of t with the cubic and the prior, by two steps of Newton's method, and the curvature there.
  HWY_INLINE void mode_of(F tau, F lift, F& mode, F& precision) const {
    const F bend = load(of.bend), skew = load(of.skew), slope = load(of.slope);
    const F centre = hn::Sub(load(of.centre), lift);  // in terms of t
    const F least = hn::MulAdd(single(static_cast<float>(least_precision)), bend, tau),
            whole = hn::Add(bend, tau);
    const F right = hn::NegMulAdd(tau, hn::Sub(centre, demoted(load(of.mean))), slope);
    F y = hn::Div(right, whole);
    const F left = hn::NegMulAdd(y, hn::MulAdd(hn::Mul(single(0.5F), skew), y, whole), right);
    y = hn::Add(y, hn::Div(left, hn::Max(least, hn::MulAdd(skew, y, whole))));
    precision = hn::Max(least, hn::MulAdd(skew, y, whole));
    mode = hn::Add(centre, y);
  }
  HWY_INLINE OddsLaw law(double tau, double lift) const {
    F mode;
    F precision;
    mode_of(single(static_cast<float>(tau)), single(static_cast<float>(lift)), mode, precision);
    const F root = hn::Sqrt(precision), most = single(0.3F);
    // The tangent of half the angle: c = (1 + h^2) / (1 - h^2), s = 2 h / (1 - h^2).
    const F half = hn::Div(load(of.skew), hn::Mul(single(-6.0F), hn::Mul(precision, root)));
    const V h = promoted(hn::Max(hn::Neg(most), hn::Min(most, half))), one = set(1);
    const V inverse = hn::Div(one, hn::NegMulAdd(h, h, one));
    return {promoted(mode), promoted(root), hn::Mul(hn::MulAdd(h, h, one), inverse),
            hn::Mul(hn::Add(h, h), inverse)};
  }
  // 1 for levels, 0 for slots that fill the last block.
  HWY_INLINE M filled() const {
    const V at = hn::Iota(Doubles(), static_cast<double>(slot()));
    return hn::Lt(at, set(static_cast<double>(of.count_of_levels)));
  }
};

// Calls f for every register of every block.
template <class F>
HWY_INLINE void over_slots(const OddsLevels& levels, Range range, const F& f) {
  for (std::size_t block = range.first; block < range.last; ++block)
    for (std::size_t part = 0; part < level_lanes; part += hn::Lanes(Doubles()))
      f(OddsLanes{levels, block, part});
}

void FillOdds(const OddsLevels& levels, Range range) {
  over_slots(levels, range, [](const OddsLanes& of) HWY_ATTR { static_cast<void>(of.fill()); });
}

void CentreOdds(const OddsLevels& levels, float* centre, Range range) {
  over_slots(levels, range,
             [&](const OddsLanes& of) HWY_ATTR { of.store(demoted(of.near_mode(of.fill())), centre); });
}

double SweepOdds(const OddsLevels& levels, const double* noise, const double* uniforms, Range range) {
  V count = zero();
  const std::size_t skipped = range.first * level_lanes;
  over_slots(levels, range, [&](const OddsLanes& of) HWY_ATTR {
    of.expand();
    const V tau = set(levels.tau), mean = of.load(levels.mean), t = of.load(levels.t);
    const OddsLaw law = of.law(levels.tau, levels.lift);
    const V root = hn::Mul(set(std::sqrt(curve_width)), law.root);
    const V z = of.load(noise - skipped), next = hn::Add(law.mode, hn::Div(z, root));
    const V back = hn::Mul(hn::Sub(t, law.mode), root);
    const V here = of.logs(t), there = of.logs(next);
    V ratio = hn::MulAdd(of.load(levels.successes), hn::Sub(next, t), hn::Sub(here, there));
    const V up = hn::Sub(next, mean), down = hn::Sub(t, mean);
    const V prior = hn::Mul(tau, hn::MulSub(down, down, hn::Mul(up, up)));
    ratio = hn::MulAdd(set(0.5), hn::Add(prior, hn::MulSub(z, z, hn::Mul(back, back))), ratio);
    const M yes = hn::Lt(special::log(Doubles(), of.load(uniforms - skipped)), ratio);
    of.store(hn::IfThenElse(yes, next, t), levels.t);
    of.store(hn::IfThenElse(yes, there, here), levels.logs);
    count = hn::Add(count, hn::IfThenElseZero(hn::And(yes, of.filled()), set(1)));
  });
  return sum_of(count);
}

double MoveOdds(const OddsLevels& levels, Range range) {
  V sum = zero();
  over_slots(levels, range, [&](const OddsLanes& of) HWY_ATTR {
    const V next = of.load(levels.next), there = of.logs(next);
    of.store(there, levels.next_logs);
    sum = hn::Add(sum, hn::MulAdd(of.load(levels.successes), hn::Sub(next, of.load(levels.t)),
                                  hn::Sub(of.load(levels.logs), there)));
  });
  return sum_of(sum);
}

double RescaleOdds(const OddsLevels& levels, double tau_next, double lift_next, Range range) {
  V sum = zero();
  const V one = set(1);
  over_slots(levels, range, [&](const OddsLanes& of) HWY_ATTR {
    const OddsLaw from = of.law(levels.tau, levels.lift), to = of.law(tau_next, lift_next);
    const V t = of.load(levels.t), mean = of.load(levels.mean);
    const V w = hn::Mul(hn::Sub(t, from.mode), from.root), w_root = hn::Sqrt(hn::MulAdd(w, w, one));
    const V z = hn::MulSub(from.c, w, hn::Mul(from.s, w_root)), z_root = hn::Sqrt(hn::MulAdd(z, z, one));
    const V next = hn::Add(to.mode, hn::Div(hn::MulAdd(to.c, z, hn::Mul(to.s, z_root)), to.root));
    of.store(next, levels.next);
    const V up = hn::Sub(next, mean), down = hn::Sub(t, mean);
    const V prior = hn::MulSub(set(levels.tau), hn::Mul(down, down), hn::Mul(set(tau_next), hn::Mul(up, up)));
    // dz / dt and dt' / dz
    const V slope =
        hn::Mul(hn::MulSub(from.c, w_root, hn::Mul(from.s, w)), hn::MulAdd(to.c, z_root, hn::Mul(to.s, z)));
    const V ratio = hn::Div(hn::Mul(slope, from.root), hn::Mul(hn::Mul(w_root, z_root), to.root));
    const V both = hn::MulAdd(set(0.5), prior, special::log(Doubles(), ratio));
    sum = hn::Add(sum, hn::IfThenElseZero(of.filled(), both));
  });
  return sum_of(sum);
}

OddsCentre CentreOfOdds(const OddsLevels& levels, double tau_there, Range range) {
  V sum = zero(), fall = zero();
  const F tau = single(static_cast<float>(tau_there));
  over_slots(levels, range, [&](const OddsLanes& of) HWY_ATTR {
    F mode;
    F precision;
    of.mode_of(tau, hn::Zero(Singles()), mode, precision);
    // The mean of a law with a cubic term is beside its mode.
    const F beside = hn::Div(hn::Mul(single(0.5F), of.load(levels.skew)), hn::Mul(precision, precision));
    const V mean = hn::Sub(promoted(hn::Sub(mode, beside)), of.load(levels.mean));
    sum = hn::Add(sum, hn::IfThenElseZero(of.filled(), mean));
    const V drop = promoted(hn::Sub(single(1.0F), hn::Div(tau, precision)));
    fall = hn::Add(fall, hn::IfThenElseZero(of.filled(), drop));
  });
  return {sum_of(sum), sum_of(fall)};
}

void FactorsOf(const double* beta, const double* ma, std::size_t count, float* out) {
  for (std::size_t i = 0; i < count; i += hn::Lanes(Doubles())) {
    V t = hn::LoadU(Doubles(), beta + i);
    if (ma != nullptr) t = hn::Sub(t, hn::LoadU(Doubles(), ma + i));
    hn::StoreU(demoted(special::exp(Doubles(), t)), Singles(), out + i);
  }
}

void SlopeOfOdds(const OddsColumns& of, double* sums, double* slots, double* const* by_level, Range range) {
  constexpr std::size_t most_columns = 64;  // at a time
  const std::size_t width = hn::Lanes(Doubles());
  const std::size_t stride = of.columns * level_lanes;
  HWY_ALIGN float shares[rows_of_log * level_lanes];
  for (std::size_t begin = 0; begin < of.columns || begin == 0; begin += most_columns) {
    const std::size_t end = begin + most_columns < of.columns ? begin + most_columns : of.columns;
    HWY_ALIGN double totals[most_columns * level_lanes] = {};
    for (std::size_t block = range.first; block < range.last; ++block)
      for (std::size_t part = 0; part < level_lanes; part += width) {
        const F own = load_single(of.own + block * level_lanes + part);
        V sum = zero();
        std::size_t row = 0;
        over_rows(
            of, of.starts[block] * level_lanes + part, of.starts[block + 1] - of.starts[block],
            [&](std::size_t at, F factor) HWY_ATTR {
              const F a = hn::Mul(hn::Mul(load_single(of.base + at), own), factor);
              hn::Store(hn::Div(a, hn::Add(single(1.0F), a)), Singles(), shares + row++ * width);
            },
            [&](std::size_t at, std::size_t rows) HWY_ATTR {
              F all = hn::Zero(Singles());
              for (std::size_t r = 0; r < rows; ++r)
                all = hn::Add(all, hn::Load(Singles(), shares + r * width));
              sum = hn::Add(sum, promoted(all));
              for (std::size_t j = begin; j < end; ++j) {
                const float* const x = of.column(at, j);
                F product = hn::Zero(Singles());
                for (std::size_t r = 0; r < rows; ++r)
                  product = hn::MulAdd(hn::Load(Singles(), shares + r * width), load_single(x + r * stride),
                                       product);
                double* const total = totals + (j - begin) * level_lanes;
                hn::Store(hn::Add(promoted(product), hn::Load(Doubles(), total)), Doubles(), total);
              }
              if (begin == 0) add_by_level(of, {at, rows, width}, shares, by_level);
              row = 0;
            });
        if (begin == 0) hn::StoreU(sum, Doubles(), slots + block * level_lanes + part);
      }
    for (std::size_t j = begin; j < end; ++j)
      for (std::size_t lane = 0; lane < level_lanes; ++lane)
        sums[j] += totals[(j - begin) * level_lanes + lane];
  }
}

// The sum of log(1 + x times the factors), x(place) being odds without any effect.
template <class X>
HWY_INLINE double logs_of_all(const OddsColumns& of, Range range, const X& x) {
  LogSum sum;
  const std::size_t width = hn::Lanes(Doubles());
  HWY_ALIGN float odds[rows_of_log * level_lanes];
  for (std::size_t block = range.first; block < range.last; ++block)
    for (std::size_t part = 0; part < level_lanes; part += width) {
      const F own = load_single(of.own + block * level_lanes + part);
      std::size_t row = 0;
      over_rows(
          of, of.starts[block] * level_lanes + part, of.starts[block + 1] - of.starts[block],
          [&](std::size_t at, F factor) HWY_ATTR {
            const F a = hn::Mul(hn::Mul(x(at), factor), own);
            hn::Store(a, Singles(), odds + row++ * width);
            sum.add(a);
          },
          [&](std::size_t /*at*/, std::size_t rows) HWY_ATTR {
            sum.flush(rows, [&](std::size_t r) HWY_ATTR { return hn::Load(Singles(), odds + r * width); });
            row = 0;
          });
    }
  return sum_of(sum.sum());
}

double LogsOfOdds(const OddsColumns& of, const float* x, Range range) {
  return logs_of_all(of, range, [&](std::size_t at) HWY_ATTR { return load_single(x + at); });
}

double MoveColumns(const OddsColumns& of, const float* alpha, float* out, Range range) {
  return logs_of_all(of, range, [&](std::size_t at) HWY_ATTR {
    F u = hn::Zero(Singles());
    for (std::size_t j = 0; j < of.columns; ++j)
      u = hn::MulAdd(load_single(of.column(at, j)), single(alpha[j]), u);
    const F moved = hn::Mul(load_single(of.base + at), exp_of(u));
    hn::StoreU(moved, Singles(), out + at);
    return moved;
  });
}

void WithOwnFactors(const std::uint32_t* starts, const float* x, const float* own, float* out, Range range) {
  for (std::size_t block = range.first; block < range.last; ++block)
    for (std::size_t part = 0; part < level_lanes; part += hn::Lanes(Doubles())) {
      const F factor = load_single(own + block * level_lanes + part);
      for (std::size_t eight = starts[block]; eight < starts[block + 1]; ++eight) {
        const std::size_t at = eight * level_lanes + part;
        hn::StoreU(hn::Mul(load_single(x + at), factor), Singles(), out + at);
      }
    }
}

}  // namespace mlo::level_passes::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mlo::level_passes {

HWY_EXPORT(FillOdds);
HWY_EXPORT(CentreOdds);
HWY_EXPORT(LogsOfOdds);
HWY_EXPORT(SweepOdds);
HWY_EXPORT(MoveOdds);
HWY_EXPORT(RescaleOdds);
HWY_EXPORT(CentreOfOdds);
HWY_EXPORT(FactorsOf);
HWY_EXPORT(SlopeOfOdds);
HWY_EXPORT(MoveColumns);
HWY_EXPORT(WithOwnFactors);

void fill_odds(const OddsLevels& levels, Range range) { HWY_DYNAMIC_DISPATCH(FillOdds)(levels, range); }
void centre_odds(const OddsLevels& levels, float* centre, Range range) {
  HWY_DYNAMIC_DISPATCH(CentreOdds)(levels, centre, range);
}
double sweep_odds(const OddsLevels& levels, const double* noise, const double* uniforms, Range range) {
  return HWY_DYNAMIC_DISPATCH(SweepOdds)(levels, noise, uniforms, range);
}
double move_odds(const OddsLevels& levels, Range range) {
  return HWY_DYNAMIC_DISPATCH(MoveOdds)(levels, range);
}
double rescale_odds(const OddsLevels& levels, double tau, double lift, Range range) {
  return HWY_DYNAMIC_DISPATCH(RescaleOdds)(levels, tau, lift, range);
}
OddsCentre centre_of_odds(const OddsLevels& levels, double tau, Range range) {
  return HWY_DYNAMIC_DISPATCH(CentreOfOdds)(levels, tau, range);
}
void factors_of(const double* beta, const double* ma, std::size_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(FactorsOf)(beta, ma, count, out);
}
void slope_of_odds(const OddsColumns& of, double* sums, double* slots, double* const* by_level, Range range) {
  HWY_DYNAMIC_DISPATCH(SlopeOfOdds)(of, sums, slots, by_level, range);
}
double logs_of_odds(const OddsColumns& of, const float* x, Range range) {
  return HWY_DYNAMIC_DISPATCH(LogsOfOdds)(of, x, range);
}
double move_columns(const OddsColumns& of, const float* alpha, float* out, Range range) {
  return HWY_DYNAMIC_DISPATCH(MoveColumns)(of, alpha, out, range);
}
void with_own_factors(const std::uint32_t* starts, const float* x, const float* own, float* out,
                      Range range) {
  HWY_DYNAMIC_DISPATCH(WithOwnFactors)(starts, x, own, out, range);
}

}  // namespace mlo::level_passes
#endif
