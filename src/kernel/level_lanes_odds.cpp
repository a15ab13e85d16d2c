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

// Sixteen factors below this have a product that is a double.
constexpr double largest_factor = 1e15;
constexpr std::size_t rows_of_log = 16;

HWY_INLINE V promoted(const float* from) { return hn::PromoteTo(Doubles(), hn::LoadU(Singles(), from)); }

// Calls f(place, factor) for the rows of a register's slots, sixteen at a time; then flush(place, rows).
template <class F, class G>
HWY_INLINE void over_rows(const OddsFactors& of, std::size_t first, std::size_t depth, const F& f,
                          const G& flush) {
  const std::size_t width = hn::Lanes(Doubles());
  HWY_ALIGN double factors[rows_of_log * level_lanes];
  for (std::size_t done = 0; done < depth; done += rows_of_log) {
    const std::size_t some = depth - done < rows_of_log ? depth - done : rows_of_log,
                      at = first + done * level_lanes;
    const bool any = of.others > 0 || of.from != nullptr;
    if (any) look_up(of, {at, some, width}, factors);
    for (std::size_t r = 0; r < some; ++r)
      f(at + r * level_lanes, any ? hn::Load(Doubles(), factors + r * width) : set(1));
    flush(at, some);
  }
}

// o / (1 + o) to the digits of a float: enough for proposals, and a cheaper division.
HWY_INLINE V rough_share(V odds) {
  const Singles d;
  const auto o = hn::DemoteTo(d, odds);
  return hn::PromoteTo(Doubles(), hn::Div(o, hn::Add(hn::Set(d, 1.0F), o)));
}

// The sum of log(f) for factors f >= 1, of which a product of sixteen is taken at a time.
class LogSum {
 public:
  HWY_INLINE LogSum() : product_(set(1)), sum_(zero()) {}
  HWY_INLINE void times(V factor) {
    if (HWY_LIKELY(hn::AllTrue(Doubles(), hn::Lt(factor, set(largest_factor)))))
      product_ = hn::Mul(product_, factor);
    else
      sum_ = hn::Add(sum_, special::log(Doubles(), factor));
  }
  HWY_INLINE void flush() {
    sum_ = hn::Add(sum_, special::log(Doubles(), product_));
    product_ = set(1);
  }
  HWY_INLINE V sum() const { return sum_; }

 private:
  V product_, sum_;
};

// The slots of a register.
struct OddsLanes {
  const OddsLevels& of;
  std::size_t block, part;

  HWY_INLINE std::size_t first_place() const { return of.starts[block] * level_lanes + part; }
  HWY_INLINE std::size_t depth() const { return of.starts[block + 1] - of.starts[block]; }
  HWY_INLINE V load(const double* from) const {
    return hn::LoadU(Doubles(), from + block * level_lanes + part);
  }
  HWY_INLINE void store(V v, double* to) const { hn::StoreU(v, Doubles(), to + block * level_lanes + part); }

  // Returns the sum of the odds.
  HWY_INLINE V fill() const {
    V sum = zero();
    over_rows(
        of, first_place(), depth(),
        [&](std::size_t at, V factor) HWY_ATTR {
          const V o = of.from == nullptr ? hn::Mul(promoted(of.x + at), factor) : factor;
          // What is kept is what every later pass of this grouping reads.
          hn::StoreU(hn::DemoteTo(Singles(), o), Singles(), of.odds + at);
          sum = hn::Add(sum, o);
        },
        [](std::size_t /*at*/, std::size_t /*rows*/) {});
    return sum;
  }
  HWY_INLINE V logs(V t) const {
    const V e = special::exp(Doubles(), hn::Add(t, set(of.lift))), one = set(1);
    LogSum sum;
    const float* at = of.odds + first_place();
    for (std::size_t left = depth(); left > 0;) {
      const std::size_t some = left < rows_of_log ? left : rows_of_log;
      for (std::size_t r = 0; r < some; ++r, at += level_lanes) sum.times(hn::MulAdd(promoted(at), e, one));
      sum.flush();
      left -= some;
    }
    return sum.sum();
  }
  // Where the log-likelihood is expanded, in s = t + lift: near the mode with the reference's prior and
  // lift, as if all rows had the same odds.
  HWY_INLINE V near_mode(V odds) const {
    const V n = load(of.count), y = load(of.successes), mean = load(of.mean), one = set(1);
    const V tau = set(of.reference_tau), each = hn::Div(odds, hn::Max(n, one));
    V s = zero();
    for (int newton = 0; newton < 3; ++newton) {
      const V a = hn::Mul(each, special::exp(Doubles(), s));
      const V p = hn::Div(a, hn::Add(one, a)), np = hn::Mul(n, p);
      const V slope = hn::NegMulAdd(tau, hn::Sub(s, mean), hn::Sub(y, np));
      const V curvature = hn::MulAdd(np, hn::Sub(one, p), tau);
      s = hn::Add(s, hn::Max(hn::Neg(one), hn::Min(one, hn::Div(slope, curvature))));
    }
    return s;
  }
  // The log-likelihood's derivatives at s, to the digits of floats, which is enough for proposals.
  HWY_INLINE void expand(V s) const {
    const Singles d;
    const auto e = hn::DemoteTo(d, special::exp(Doubles(), s)), one = hn::Set(d, 1.0F);
    V first = zero(), second = zero(), third = zero();
    const float* at = of.odds + first_place();
    for (std::size_t left = depth(); left > 0;) {
      const std::size_t some = left < rows_of_log ? left : rows_of_log;
      auto first_of = hn::Zero(d), second_of = hn::Zero(d), third_of = hn::Zero(d);
      for (std::size_t r = 0; r < some; ++r, at += level_lanes) {
        const auto a = hn::Mul(hn::LoadU(d, at), e), p = hn::Div(a, hn::Add(one, a));
        const auto spread = hn::NegMulAdd(p, p, p);
        first_of = hn::Add(first_of, p);
        second_of = hn::Add(second_of, spread);
        third_of = hn::MulAdd(spread, hn::NegMulAdd(hn::Set(d, 2.0F), p, one), third_of);
      }
      first = hn::Add(first, hn::PromoteTo(Doubles(), first_of));
      second = hn::Add(second, hn::PromoteTo(Doubles(), second_of));
      third = hn::Add(third, hn::PromoteTo(Doubles(), third_of));
      left -= some;
    }
    store(s, of.centre);
    store(hn::Sub(load(of.successes), first), of.slope);
    store(second, of.bend);
    store(third, of.skew);
  }
  // The mode of t with the cubic and the prior, by two steps of Newton's method, and the curvature there.
  HWY_INLINE void law(V tau, V lift, V& mode, V& precision) const {
    const V bend = load(of.bend), skew = load(of.skew), slope = load(of.slope);
    const V centre = hn::Sub(load(of.centre), lift);  // in terms of t
    const V least = hn::MulAdd(set(least_precision), bend, tau), whole = hn::Add(bend, tau);
    const V right = hn::NegMulAdd(tau, hn::Sub(centre, load(of.mean)), slope);
    V y = hn::Div(right, whole);
    const V left = hn::NegMulAdd(y, hn::MulAdd(hn::Mul(set(0.5), skew), y, whole), right);
    y = hn::Add(y, hn::Div(left, hn::Max(least, hn::MulAdd(skew, y, whole))));
    precision = hn::Max(least, hn::MulAdd(skew, y, whole));
    mode = hn::Add(centre, y);
  }
  // 1 for levels, 0 for slots that fill the last block.
  HWY_INLINE M filled() const {
    const V at = hn::Iota(Doubles(), static_cast<double>(block * level_lanes + part));
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

double SweepOdds(const OddsLevels& levels, const double* noise, const double* uniforms, Range range) {
  V count = zero();
  const std::size_t skipped = range.first * level_lanes;
  over_slots(levels, range, [&](const OddsLanes& of) HWY_ATTR {
    of.expand(of.near_mode(of.fill()));
    const V tau = set(levels.tau), mean = of.load(levels.mean), t = of.load(levels.t);
    V mode;
    V precision;
    of.law(tau, set(levels.lift), mode, precision);
    const V root = hn::Sqrt(hn::Mul(set(curve_width), precision));
    const V z = of.load(noise - skipped), next = hn::Add(mode, hn::Div(z, root));
    const V back = hn::Mul(hn::Sub(t, mode), root);
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
  over_slots(levels, range, [&](const OddsLanes& of) HWY_ATTR {
    const V tau = set(levels.tau), there = set(tau_next);
    V mode;
    V precision;
    V mode_next;
    V precision_next;
    of.law(tau, set(levels.lift), mode, precision);
    of.law(there, set(lift_next), mode_next, precision_next);
    const V ratio = hn::Div(precision, precision_next), t = of.load(levels.t), mean = of.load(levels.mean);
    const V next = hn::MulAdd(hn::Sub(t, mode), hn::Sqrt(ratio), mode_next);
    of.store(next, levels.next);
    const V up = hn::Sub(next, mean), down = hn::Sub(t, mean);
    const V prior = hn::MulSub(tau, hn::Mul(down, down), hn::Mul(there, hn::Mul(up, up)));
    const V both = hn::Mul(set(0.5), hn::Add(special::log(Doubles(), ratio), prior));
    sum = hn::Add(sum, hn::IfThenElseZero(of.filled(), both));
  });
  return sum_of(sum);
}

OddsCentre CentreOfOdds(const OddsLevels& levels, double tau_there, Range range) {
  V sum = zero(), fall = zero();
  over_slots(levels, range, [&](const OddsLanes& of) HWY_ATTR {
    const V tau = set(tau_there);
    V mode;
    V precision;
    of.law(tau, zero(), mode, precision);
    // The mean of a law with a cubic term is beside its mode.
    const V beside = hn::Div(hn::Mul(set(0.5), of.load(levels.skew)), hn::Mul(precision, precision));
    const V mean = hn::Sub(hn::Sub(mode, of.load(levels.mean)), beside);
    sum = hn::Add(sum, hn::IfThenElseZero(of.filled(), mean));
    fall = hn::Add(fall, hn::IfThenElseZero(of.filled(), hn::Sub(set(1), hn::Div(tau, precision))));
  });
  return {sum_of(sum), sum_of(fall)};
}

void FactorsOf(const double* beta, const double* ma, std::size_t count, double* out) {
  for (std::size_t i = 0; i < count; i += hn::Lanes(Doubles())) {
    V t = hn::LoadU(Doubles(), beta + i);
    if (ma != nullptr) t = hn::Sub(t, hn::LoadU(Doubles(), ma + i));
    hn::StoreU(special::exp(Doubles(), t), Doubles(), out + i);
  }
}

void SlopeOfOdds(const OddsColumns& of, double* sums, double* slots, double* const* by_level, Range range) {
  constexpr std::size_t most_columns = 64;  // at a time
  const std::size_t width = hn::Lanes(Doubles());
  HWY_ALIGN double shares[rows_of_log * level_lanes];
  for (std::size_t begin = 0; begin < of.columns || begin == 0; begin += most_columns) {
    const std::size_t end = begin + most_columns < of.columns ? begin + most_columns : of.columns;
    HWY_ALIGN double totals[most_columns * level_lanes] = {};
    for (std::size_t block = range.first; block < range.last; ++block)
      for (std::size_t part = 0; part < level_lanes; part += width) {
        const V own = hn::LoadU(Doubles(), of.own + block * level_lanes + part);
        V sum = zero();
        std::size_t row = 0;
        over_rows(
            of, of.starts[block] * level_lanes + part, of.starts[block + 1] - of.starts[block],
            [&](std::size_t at, V factor) HWY_ATTR {
              const V p = rough_share(hn::Mul(hn::Mul(promoted(of.base + at), own), factor));
              for (std::size_t j = begin; j < end; ++j) {
                double* const total = totals + (j - begin) * level_lanes;
                const V x = promoted(of.x + j * of.places + at);
                hn::Store(hn::MulAdd(p, x, hn::Load(Doubles(), total)), Doubles(), total);
              }
              sum = hn::Add(sum, p);
              hn::Store(p, Doubles(), shares + row++ * width);
            },
            [&](std::size_t at, std::size_t rows) HWY_ATTR {
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

double MoveColumns(const OddsColumns& of, const double* alpha, float* out, Range range) {
  const V one = set(1);
  LogSum sum;
  for (std::size_t block = range.first; block < range.last; ++block)
    for (std::size_t part = 0; part < level_lanes; part += hn::Lanes(Doubles())) {
      const V own = hn::LoadU(Doubles(), of.own + block * level_lanes + part);
      over_rows(
          of, of.starts[block] * level_lanes + part, of.starts[block + 1] - of.starts[block],
          [&](std::size_t at, V factor) HWY_ATTR {
            V u = zero();
            for (std::size_t j = 0; j < of.columns; ++j)
              u = hn::MulAdd(promoted(of.x + j * of.places + at), set(alpha[j]), u);
            const auto kept =
                hn::DemoteTo(Singles(), hn::Mul(promoted(of.base + at), special::exp(Doubles(), u)));
            hn::StoreU(kept, Singles(), out + at);
            sum.times(hn::MulAdd(hn::Mul(hn::PromoteTo(Doubles(), kept), own), factor, one));
          },
          [&](std::size_t /*at*/, std::size_t /*rows*/) HWY_ATTR { sum.flush(); });
    }
  return sum_of(sum.sum());
}

void WithOwnFactors(const std::uint32_t* starts, const float* x, const double* own, float* out, Range range) {
  for (std::size_t block = range.first; block < range.last; ++block)
    for (std::size_t part = 0; part < level_lanes; part += hn::Lanes(Doubles())) {
      const V factor = hn::LoadU(Doubles(), own + block * level_lanes + part);
      for (std::size_t eight = starts[block]; eight < starts[block + 1]; ++eight) {
        const std::size_t at = eight * level_lanes + part;
        hn::StoreU(hn::DemoteTo(Singles(), hn::Mul(promoted(x + at), factor)), Singles(), out + at);
      }
    }
}

}  // namespace mlo::level_passes::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mlo::level_passes {

HWY_EXPORT(FillOdds);
HWY_EXPORT(SweepOdds);
HWY_EXPORT(MoveOdds);
HWY_EXPORT(RescaleOdds);
HWY_EXPORT(CentreOfOdds);
HWY_EXPORT(FactorsOf);
HWY_EXPORT(SlopeOfOdds);
HWY_EXPORT(MoveColumns);
HWY_EXPORT(WithOwnFactors);

void fill_odds(const OddsLevels& levels, Range range) { HWY_DYNAMIC_DISPATCH(FillOdds)(levels, range); }
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
void factors_of(const double* beta, const double* ma, std::size_t count, double* out) {
  HWY_DYNAMIC_DISPATCH(FactorsOf)(beta, ma, count, out);
}
void slope_of_odds(const OddsColumns& of, double* sums, double* slots, double* const* by_level, Range range) {
  HWY_DYNAMIC_DISPATCH(SlopeOfOdds)(of, sums, slots, by_level, range);
}
double move_columns(const OddsColumns& of, const double* alpha, float* out, Range range) {
  return HWY_DYNAMIC_DISPATCH(MoveColumns)(of, alpha, out, range);
}
void with_own_factors(const std::uint32_t* starts, const float* x, const double* own, float* out,
                      Range range) {
  HWY_DYNAMIC_DISPATCH(WithOwnFactors)(starts, x, own, out, range);
}

}  // namespace mlo::level_passes
#endif
