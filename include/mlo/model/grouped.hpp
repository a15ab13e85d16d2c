// Copyright (c) the mlo authors. BSD-3-Clause.
// Generalised linear models with group effects: eta_i = x_i'a + sum_k z_ik'b_k[g_k(i)] (+ offset_i),
// y_i ~ Family(eta_i), b_k[l] ~ N(0, Sigma_k).
#pragma once

#include <Eigen/Dense>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mlo/data/design.hpp"
#include "mlo/model/family.hpp"
#include "mlo/model/group_covariance.hpp"
#include "mlo/model/layout.hpp"
#include "mlo/model/level_rows.hpp"

namespace mlo {

// What a user says about the priors of group effects.
struct GroupPriorOptions {
  PriorOptions coefficients{};
  std::optional<std::string> prior_sd{};   // of all standard deviations
  std::optional<std::string> prior_cor{};  // "lkj(2)"
};

// A point of the parameter space, in working coordinates.
struct GroupedPoint {
  std::vector<double> coefficients;              // a
  double log_second = 0;                         // if a second parameter is estimated
  std::vector<std::vector<double>> covariances;  // by grouping, as GroupCovariance has them
  std::vector<std::vector<double>> effects;      // by grouping: b, level after level
};

class GroupedModel {
 public:
  // Throws UsageError (priors), DataError, ModelError.
  GroupedModel(Design design, std::shared_ptr<const Family> family, const GroupPriorOptions& priors);
  // Of rows and laws that are ready: design(), start() and twins are empty.
  GroupedModel(LevelRows rows, std::shared_ptr<const Family> family, Layout layout,
               std::vector<GroupCovariance> covariances);

  [[nodiscard]] const LevelRows& rows() const noexcept { return rows_; }
  [[nodiscard]] const Family& family() const noexcept { return *family_; }
  // Of the coefficients and the second parameter.
  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  [[nodiscard]] const std::vector<GroupCovariance>& covariances() const noexcept { return covariances_; }
  // What the family's start and checks saw, without the rows.
  [[nodiscard]] const Design& design() const noexcept { return design_; }
  [[nodiscard]] const StartingPoint& start() const noexcept { return start_; }
  [[nodiscard]] double response_sd() const noexcept { return response_sd_; }

  // The log-likelihood is precision(second) times a function of the predictors, plus a function of the second
  // parameter alone, if the parameter is estimated and a factor of the family's terms. Otherwise 1.
  [[nodiscard]] const SecondFactor* factor() const noexcept;  // null: it is not so
  [[nodiscard]] double precision(double log_second) const noexcept;
  // The rows' functions of the predictors, by precision 1, as curves. Null: they have none, depend on a
  // second parameter that is estimated, or are not concave. Far from a reference, the expansion of the last
  // is no guide, and what is left of it has lost all digits.
  [[nodiscard]] std::shared_ptr<const RowCurve> curve() const;
  // The rows as surfaces about this value of a second parameter that is estimated and no factor: with one
  // grouping and a concave log-likelihood. Null: there are no bounds, or the responses are too large for
  // them.
  [[nodiscard]] bool has_surface() const noexcept;
  [[nodiscard]] std::shared_ptr<const RowSurface> surface(double log_second) const;

  // Parameters besides the effects: coefficients, second parameter, standard deviations and correlations.
  [[nodiscard]] std::size_t main_parameters() const noexcept { return names_.size(); }
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }
  [[nodiscard]] std::size_t effects() const noexcept;  // of all levels
  [[nodiscard]] std::string effect_name(std::size_t group, std::size_t level, std::size_t effect) const;

  // A point as one vector, and back: coefficients, log second, covariances, effects.
  [[nodiscard]] std::size_t dim() const noexcept;
  void pack(const GroupedPoint& point, std::span<double> out) const noexcept;
  void unpack(std::span<const double> theta, GroupedPoint& point) const;
  // The user's parameters: the main ones, then, if there is room, all effects.
  void to_user(std::span<const double> theta, std::span<double> out) const;

  // Of the coefficients and the second parameter.
  [[nodiscard]] double log_prior_of_main(const GroupedPoint& point) const;
  [[nodiscard]] std::string prior_words() const;

  // The direction in the coefficients that changes every row's predictor as `effect` of all levels of a
  // grouping does: the fixed effect of the same column. Empty: there is none.
  [[nodiscard]] const Eigen::VectorXd& twin(std::size_t group, std::size_t effect) const noexcept {
    return twins_[group][effect];
  }

 private:
  void find_twins();

  std::shared_ptr<const Family> family_;
  StartingPoint start_;
  double response_sd_ = 1;
  Layout layout_;
  LevelRows rows_;
  Design design_;
  std::vector<GroupCovariance> covariances_;
  std::vector<std::string> names_;
  std::vector<std::vector<Eigen::VectorXd>> twins_;
};

}  // namespace mlo
