// Copyright (c) the mlo authors. BSD-3-Clause.
// Generalised linear models over a design: eta_i = x_i' beta (+ offset_i), y_i ~ Family(eta_i).
#pragma once

#include <string>
#include <vector>

#include "mlo/data/design.hpp"
#include "mlo/model/family.hpp"
#include "mlo/model/model.hpp"
#include "mlo/model/prior.hpp"

namespace mlo {

// Law: derivatives() are those of terms(); terms() are finite for |eta| < 700.
template <class F>
concept Family = requires(const F& f, const Batch& batch, std::span<double> out, const BatchDerivatives& d) {
  { f.terms(batch, out) }
  noexcept->std::same_as<void>;
  { f.sum(batch) }
  noexcept->std::same_as<double>;
  { f.derivatives(batch, d) }
  noexcept->std::same_as<double>;
};

// One prior a parameter, in the user's coordinates (the user's columns; sigma and size themselves, not their
// logs).
struct GlmPriors {
  std::vector<Prior> coefficients;
  // The intercept's prior speaks of the predictor at the columns' means, as in rstanarm, not at zero.
  bool intercept_at_means = false;
  Prior aux = Prior::flat();
};

// Working coordinates: the coefficients of the design's working columns, then (if the family has one) log of
// the auxiliary parameter.
template <Family F>
class Glm {
 public:
  // Throws DataError if a response breaks the family's rule.
  Glm(Design design, F family, GlmPriors priors);

  [[nodiscard]] std::size_t dim() const noexcept { return design_.dim + (F::has_aux ? 1 : 0); }
  [[nodiscard]] std::size_t rows() const noexcept { return design_.rows; }
  [[nodiscard]] const Design& design() const noexcept { return design_; }
  [[nodiscard]] const F& family() const noexcept { return family_; }
  [[nodiscard]] const GlmPriors& priors() const noexcept { return priors_; }
  [[nodiscard]] bool proper_prior() const noexcept;
  // Whether the log prior is a polynomial of degree 2 at most: normal and flat priors of the coefficients.
  [[nodiscard]] bool quadratic_prior() const noexcept;

  [[nodiscard]] double log_prior(Params theta) const noexcept;
  void log_likelihoods(Params theta, Rows rows, std::span<double> terms) const noexcept;
  [[nodiscard]] double log_likelihood(Params theta, Rows rows) const noexcept;
  // Asks for the first of these rows, which will be read soon; reading them asks for the others.
  void prefetch(std::span<const RowId> ids) const noexcept;
  void log_likelihood_differences(Params from, Params to, std::span<const RowId> ids,
                                  std::span<double> differences) const noexcept;
  void log_likelihood_remainders(Params centre, Params from, Params to, std::span<const RowId> ids,
                                 std::span<double> remainders) const noexcept;
  void gradients(Params theta, Rows rows, Eigen::MatrixXd& out) const;
  void add_derivatives(Params theta, Rows rows, Derivatives& d) const;
  void add_prior_derivatives(Params theta, Derivatives& d) const;
  [[nodiscard]] Eigen::VectorXd start() const;

  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }
  void to_user(Params theta, std::span<double> out) const noexcept;
  void to_working(Params user, std::span<double> out) const;
  [[nodiscard]] Eigen::MatrixXd user_jacobian(Params theta) const;

  // Why there is no mode, of the posterior or of the likelihood, if theta and the
  // derivatives there show it: the columns predict a
  // gaussian response exactly, say. Empty: no reason seen.
  [[nodiscard]] std::string degenerate(Params theta, const Derivatives& at, bool with_prior) const;

  // Whether the likelihood of every one of these rows never falls on the way from any theta in the direction
  // of these coefficients: then there is no finite maximum (separation). What the direction says of the
  // auxiliary parameter does not count.
  [[nodiscard]] bool recedes(Params direction, Rows rows) const;

 private:
  struct Block;
  void load(Params theta, Rows rows, Block& block) const noexcept;

  Design design_;
  F family_;
  GlmPriors priors_;
  std::vector<std::string> names_;
};

extern template class Glm<Logistic>;
extern template class Glm<Probit>;
extern template class Glm<Poisson>;
extern template class Glm<GaussianMean>;
extern template class Glm<Gaussian>;
extern template class Glm<StudentKnownScale>;
extern template class Glm<Student>;
extern template class Glm<NegativeBinomialKnownSize>;
extern template class Glm<NegativeBinomial>;

}  // namespace mlo
