// Copyright (c) the mlo authors. BSD-3-Clause.
// Generalised linear models over a design: eta_i = x_i' beta (+ offset_i), y_i ~ Family(eta_i).
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mlo/data/design.hpp"
#include "mlo/model/curve.hpp"
#include "mlo/model/family.hpp"
#include "mlo/model/layout.hpp"
#include "mlo/model/model.hpp"
#include "mlo/model/row_store.hpp"
#include "mlo/model/surface.hpp"

namespace mlo {

// Priors in the user's coordinates (the user's columns; sigma and size themselves, not their logs).
struct GlmPriors {
  std::vector<Prior> coefficients;
  // The intercept's prior is for the predictor at the columns' means, as in rstanarm, not at zero.
  bool intercept_at_means = false;
  Prior second = Prior::flat();
};

// The parameters of a generalised linear model: the coefficients of the design's columns and, where it is
// estimated, the family's second parameter.
[[nodiscard]] Layout glm_layout(const Design& design, const Family& family, GlmPriors priors);

// Weakly informative and scaled to the data, as in rstanarm.
[[nodiscard]] GlmPriors usual_priors(const Design& design, const Family& family);

// Throws DataError if a response breaks the family's rule, ModelError if it is of a kind that is not for it.
void check_responses(const Design& design, const Family& family);

class Glm {
 public:
  // Throws DataError if a response breaks the family's rule, ModelError if it is of a kind that is not for
  // it.
  Glm(Design design, std::shared_ptr<const Family> family, Layout layout);
  Glm(Design design, std::shared_ptr<const Family> family, GlmPriors priors);

  [[nodiscard]] std::size_t dim() const noexcept { return layout_.dim(); }
  [[nodiscard]] std::size_t rows() const noexcept { return store_.size(); }
  [[nodiscard]] const RowStore& store() const noexcept { return store_; }
  [[nodiscard]] const Design& design() const noexcept { return store_.design(); }
  [[nodiscard]] const Family& family() const noexcept { return *family_; }
  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  // The number of coefficients: they come first, and their columns must have full rank. Other parameters are
  // logarithms or logits.
  [[nodiscard]] std::size_t columns() const noexcept { return store_.dim(); }
  [[nodiscard]] bool has_levels() const noexcept { return !store_.design().blocks.empty(); }

  [[nodiscard]] bool proper_prior() const noexcept { return layout_.proper_prior(); }
  [[nodiscard]] bool quadratic_prior() const noexcept { return layout_.quadratic_prior(); }
  // The second parameter's part of it, at this value of its working coordinate; and whether all but this part
  // is quadratic.
  [[nodiscard]] double log_prior_of_second(double log_second) const noexcept {
    return layout_.log_prior_at(columns(), log_second);
  }
  [[nodiscard]] bool quadratic_but_second() const noexcept { return layout_.quadratic_coefficients(); }
  [[nodiscard]] double log_prior(Params theta) const noexcept { return layout_.log_prior(theta); }
  [[nodiscard]] double log_prior_of(std::span<const std::size_t> parameters, Params theta) const noexcept {
    return layout_.log_prior_of(parameters, theta);
  }
  void add_prior_derivatives(Params theta, Derivatives& d) const { layout_.add_prior_derivatives(theta, d); }

  void log_likelihoods(Params theta, Rows rows, std::span<double> terms) const noexcept;
  [[nodiscard]] double log_likelihood(Params theta, Rows rows) const noexcept;
  // The sum of the terms of at most Family::batch_rows rows whose predictors are known. With or without parts
  // that depend on y alone, as Family::sum.
  [[nodiscard]] double sum(const Batch& batch, Rows rows) const noexcept;
  void prefetch(std::span<const RowId> ids) const noexcept { store_.prefetch(ids); }
  void log_likelihood_differences(Params from, Params to, std::span<const RowId> ids,
                                  std::span<double> differences) const noexcept;
  void log_likelihood_remainders(Params centre, Params from, Params to, std::span<const RowId> ids,
                                 std::span<double> remainders) const noexcept;
  void gradients(Params theta, Rows rows, Eigen::MatrixXd& out) const;
  void add_derivatives(Params theta, Rows rows, Derivatives& d) const;
  [[nodiscard]] Eigen::VectorXd start() const;

  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return layout_.names(); }
  void to_user(Params theta, std::span<double> out) const noexcept { layout_.to_user(theta, out); }
  void to_working(Params user, std::span<double> out) const { layout_.to_working(user, out); }
  [[nodiscard]] Eigen::MatrixXd user_jacobian(Params theta) const { return layout_.user_jacobian(theta); }

  // Why the posterior or the likelihood has no mode, if theta and the derivatives there show it: for example,
  // because the columns predict a gaussian response exactly. Empty if nothing shows it.
  [[nodiscard]] std::string degenerate(Params theta, const Derivatives& at, bool with_prior) const;
  // Whether moving from any theta in the direction of these coefficients never lowers the likelihood of any
  // of these rows: then there is no finite maximum (separation). The direction's part for the second
  // parameter is ignored.
  [[nodiscard]] bool recedes(Params direction, Rows rows) const;

  // The rows' terms as curves of one number; empty if the family has no bounds for them.
  [[nodiscard]] std::optional<CurvedRows> curved() const;
  // The same as surfaces about this value of the second parameter, if it is estimated.
  [[nodiscard]] std::optional<SurfacedRows> surfaced(double log_second) const;
  [[nodiscard]] SummedLikelihood summed(const Mode& mode) const { return family_->summed(mode, weight_); }

 private:
  struct Rows256;
  void load(const Coefficients& beta, Rows rows, Rows256& block) const noexcept;
  [[nodiscard]] bool weighted() const noexcept { return store_.design().has_weight; }
  void weigh(Rows rows, std::initializer_list<std::span<double>> values) const noexcept;
  [[nodiscard]] double derivatives(Rows rows, const Batch& batch, const BatchDerivatives& f) const noexcept;
  [[nodiscard]] double log_second(Params theta) const noexcept {
    return family_->estimates_second() ? theta[columns()] : 0;
  }

  void check();

  RowStore store_;
  double weight_ = 0;  // of all rows: how many they are, if they have no weights
  std::shared_ptr<const Family> family_;
  std::shared_ptr<const RowCurve> curve_;  // may be null
  Layout layout_;
};

}  // namespace mlo
