// Copyright (c) the mlo authors. BSD-3-Clause.
// What a chain keeps of the rows as odds.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "kernel/level_odds.hpp"
#include "kernel/level_parts.hpp"
#include "mlo/kernel/levels.hpp"

namespace mlo {

struct LevelKernel::Odds {
  // By slot of a grouping.
  struct Slots {
    std::vector<double> t, next, logs, next_logs, mean;
    std::vector<float> centre, slope, bend, skew;
  };
  explicit Odds(std::shared_ptr<const OddsRows> from) : rows(std::move(from)) {
    for (const OddsRows::Of& of : rows->groups()) {
      most_places = std::max(most_places, of.places());
      factors.emplace_back(std::max(of.slots(), level_passes::few_levels), 1.0F);
      Slots& to = slots.emplace_back();
      for (auto* const v : {&to.t, &to.next, &to.logs, &to.next_logs, &to.mean}) v->assign(of.slots(), 0);
      for (auto* const v : {&to.centre, &to.slope, &to.bend, &to.skew}) v->assign(of.slots(), 0);
    }
    odds.resize(most_places);
    other_factors = factors;
    for (auto* const v : {&x, &next_x, &with_own})
      v->assign(rows->groups()[0].places() + level_lanes, 0.0F);  // the last eight are empty
    own.assign(rows->groups()[0].slots(), 0);
    if (rows->groups().size() == 2 && rows->groups()[1].level.size() <= level_passes::few_levels)
      bytes.assign(rows->groups()[0].codes.begin(), rows->groups()[0].codes.end());
  }

  std::shared_ptr<const OddsRows> rows;
  std::size_t most_places = 0;
  HugeVector<std::uint8_t> bytes;  // the first grouping's codes, if they are so small
  // By place of the first grouping: e^(e + x'alpha), but for columns that are the same for all rows; the same
  // of a proposal; with the first grouping's effects. And by place of the grouping that is moved: without it.
  HugeVector<float> x, next_x, with_own, odds;
  bool has_x = false;
  std::vector<float> x_at;                          // the alpha of x, if there is an x
  using Factors = std::vector<std::vector<float>>;  // by grouping and level: e^t
  Factors factors, other_factors;                   // here; and elsewhere: of a proposal, or at alpha = 0
  Eigen::VectorXd along;  // a change of alpha by lift that M alpha and beta have not seen
  std::vector<Slots> slots;
  std::vector<float> own;  // by slot of the first grouping: its factor and that of the same columns
  double logs = 0;         // the sum over all rows of log(1 + e^eta)
  bool has_logs = false;   // whether it is known
  double entered = 0;      // the log-likelihood of the state that the step began with
  // What the log-likelihood has of alpha and of the effects besides `logs`: successes by level, and the sum
  // of y x less that of successes times M.
  std::vector<std::vector<double>> successes;
  Eigen::VectorXd owed;
  // The grouping whose effects move with the coefficients; or none, 0.
  std::size_t rider = 0;
  // Of the grouping that is moved: where lift would make the sum of the effects' means 0, at this tau.
  double best_tau = -1, best_lift = 0;

  [[nodiscard]] std::size_t rider_levels() const {
    return rider > 0 ? rows->groups()[rider].level.size() : 0;
  }
  [[nodiscard]] double lift(const Eigen::VectorXd& alpha) const { return rows->fixed().dot(alpha); }
  [[nodiscard]] std::vector<float> moving(const Eigen::VectorXd& alpha) const {
    std::vector<float> out;
    for (const std::size_t j : rows->moving()) out.push_back(static_cast<float>(alpha[index(j)]));
    return out;
  }
  [[nodiscard]] level_passes::OddsLevels levels(std::size_t k) {
    const OddsRows::Of& of = rows->groups()[k];
    level_passes::OddsLevels out;
    out.starts = of.starts.data();
    for (std::size_t j = 0, other = 0; j < factors.size(); ++j) {
      if (j == k) continue;
      if (j > 0) {
        out.codes[out.others] = of.codes.data() + other * of.places();
        out.common[out.others] = of.common.data() + other * of.starts.back();
        out.factors[out.others++] = factors[j].data();
      }
      ++other;
    }
    if (k == 0 && !bytes.empty()) out.bytes = bytes.data();
    out.x = x.data();
    if (k > 0) out.from = of.from.data();
    out.source = with_own.data();
    out.odds = odds.data();
    out.count = of.count.data();
    out.successes = of.successes.data();
    Slots& own_slots = slots[k];
    out.mean = own_slots.mean.data();
    out.t = own_slots.t.data();
    out.next = own_slots.next.data();
    out.logs = own_slots.logs.data();
    out.next_logs = own_slots.next_logs.data();
    out.centre = own_slots.centre.data();
    out.slope = own_slots.slope.data();
    out.bend = own_slots.bend.data();
    out.skew = own_slots.skew.data();
    out.count_of_levels = of.level.size();
    return out;
  }
  void take_own(const std::vector<float>& with, float factor) {
    const std::vector<std::uint32_t>& level = rows->groups()[0].level;
    for (std::size_t s = 0; s < level.size(); ++s) own[s] = with[level[s]] * factor;
  }
  // With these factors of all groupings.
  [[nodiscard]] level_passes::OddsColumns columns(const Factors& with, double lifted) {
    const OddsRows::Of& of = rows->groups()[0];
    level_passes::OddsColumns out;
    out.starts = of.starts.data();
    out.columns = rows->moving().size();
    for (std::size_t j = 1; j < with.size(); ++j) {
      out.codes[out.others] = of.codes.data() + out.others * of.places();
      out.common[out.others] = of.common.data() + out.others * of.starts.back();
      out.factors[out.others++] = with[j].data();
    }
    if (!bytes.empty()) out.bytes = bytes.data();
    take_own(with[0], static_cast<float>(std::exp(lifted)));
    out.own = own.data();
    out.base = rows->base();
    out.x = rows->columns();
    return out;
  }
};

}  // namespace mlo
