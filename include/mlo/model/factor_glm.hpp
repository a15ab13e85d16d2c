// Copyright (c) the mlo authors. BSD-3-Clause.
// A generalised linear model whose factors with many levels are groupings, as the level kernel reads them.
// Parameters, names and priors stay those of the model; docs/methods/levels.md has the maths.
//
// eta_i = constant + x_i'a + sum_k b_k[g_k(i)] with x the other columns but the intercept: every level has an
// effect, the base too. So b_k[l] - b_k[base] is the level's coefficient, and the effects have more
// directions than the model: adding a number to all of factor k and taking it from factor 0 changes nothing.
// These numbers have a law of their own: m_k = the mean of factor k's effects over the rows ~ N(0,
// spread_k^2), k > 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "mlo/model/glm.hpp"
#include "mlo/model/grouped.hpp"

namespace mlo {

// One factor: its block of the design, and its levels, those that occur.
struct FactorBlock {
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  std::size_t block = 0;
  std::vector<std::uint32_t> level_of_cell;
  std::vector<std::size_t> rows;      // by level
  std::vector<std::uint32_t> column;  // of the model; none for the base
  std::vector<double> value;          // in that column, before it is centred and scaled
  std::size_t base = 0;
  [[nodiscard]] std::size_t levels() const noexcept { return rows.size(); }
};

// How the columns of a model are divided.
struct FactorChoice {
  std::vector<FactorBlock> factors;  // most levels first; empty: the model has none that suit
  std::vector<std::size_t> columns;  // all others but the intercept
  std::size_t cells = 0;             // combinations of the factors' levels that occur
  [[nodiscard]] std::size_t levels() const noexcept;
};

// Factors of at least this many levels, in treatment contrasts, of a model with an intercept whose terms have
// bounds.
inline constexpr std::size_t least_factor_levels = 16;
[[nodiscard]] FactorChoice choose_factors(const Glm& glm);

class FactorGlm {
 public:
  // `at`: a point near the posterior's centre, whose information about the intercept is `information`. The
  // model must outlive it.
  FactorGlm(const Glm& glm, FactorChoice choice, Params at, double information);

  [[nodiscard]] const Glm& glm() const noexcept { return *glm_; }
  // The effects of factor k are N(0, sd_k^2) in it. What the priors say beyond that is excess().
  [[nodiscard]] const GroupedModel& grouped() const noexcept { return *grouped_; }
  [[nodiscard]] std::size_t factors() const noexcept { return maps_.size(); }
  [[nodiscard]] double spread() const noexcept { return spread_; }

  // Between the model's working coordinates and the groupings'; means: m_k of factors 1, 2, ...
  void to_groups(Params theta, std::span<const double> means, GroupedPoint& out) const;
  void to_theta(const GroupedPoint& from, std::span<double> theta) const;

  // The log of the model's prior and of the law of the means, minus the prior of the grouped model.
  [[nodiscard]] double excess(const GroupedPoint& at) const;

  // The same while the effects of one factor move, one after the other.
  class Sweep {
   public:
    Sweep(const FactorGlm& model, const GroupedPoint& at, std::size_t factor);
    // The change as the effect of a level moves by `delta`; and the move itself.
    [[nodiscard]] double change(std::size_t level, double delta) const noexcept;
    void move(std::size_t level, double delta) noexcept;
    [[nodiscard]] std::size_t base() const noexcept { return model_->maps_[factor_].base; }
    // Whether a level's prior is normal; of the base, whether all are.
    [[nodiscard]] bool normal(std::size_t level) const noexcept {
      return model_->maps_[factor_].normal[level] != 0;
    }
    // Of the log of the model's prior and of the law of the means, along the base's effect, at this value.
    struct Slope {
      double slope = 0, curvature = 0;
    };
    [[nodiscard]] Slope of_base(double effect) const noexcept;

   private:
    const FactorGlm* model_;
    std::size_t factor_;
    std::vector<double> b_;
    double intercept_, mean_;
  };

 private:
  // One factor, by level.
  struct Map {
    std::size_t base = 0;
    std::vector<std::uint32_t> column;
    std::vector<double> working;    // theta = working * (b - b_base)
    std::vector<double> user;       // the user's coefficient = user * (b - b_base)
    std::vector<double> centre;     // what b adds to theta's intercept
    std::vector<double> intercept;  // what it adds to the number that the intercept's prior is about
    std::vector<double> share;      // of the rows
    std::vector<char> normal;       // Sweep's
    double omega = 0;               // 1 / sd^2 in the grouped model
  };
  [[nodiscard]] const Prior& prior(std::uint32_t column) const noexcept;
  [[nodiscard]] double intercept_of(const GroupedPoint& at) const noexcept;
  [[nodiscard]] double mean_of(std::size_t factor, std::span<const double> b) const noexcept;
  [[nodiscard]] double prior_of_means(std::size_t factor, double mean) const noexcept;

  const Glm* glm_;
  std::vector<std::size_t> columns_;
  std::vector<double> intercept_by_column_;  // what the other coefficients add to the same number
  std::vector<Map> maps_;
  double constant_ = 0, spread_ = 1;
  std::unique_ptr<GroupedModel> grouped_;
};

}  // namespace mlo
