// Copyright (c) the mlo authors. BSD-3-Clause.
// Softmax (multinomial logistic) regression over a design: classes 0 .. K-1, of which 0 is the base,
//   P(y_i = k) = e^eta_ik / sum_l e^eta_il,  eta_ik = x_i' beta_k,  eta_i0 = 0.
// The parameters are K - 1 blocks of coefficients, class after class.
#pragma once

#include <Eigen/Dense>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "mlo/data/design.hpp"
#include "mlo/model/layout.hpp"
#include "mlo/model/model.hpp"
#include "mlo/model/row_store.hpp"

namespace mlo {

// The classes of a response, the base first, then the others in the order of the levels. Text has its levels
// in the order of bytes; whole numbers are in ascending order.
struct ResponseClasses {
  std::vector<std::string> names;
  std::vector<double> values;  // the response of a row of that class, as the design has it
};
// The classes that occur in the rows of the design. Throws ModelError: one class alone, too many of them,
// numbers that are not whole, shares; UsageError: a base that is not a class.
[[nodiscard]] ResponseClasses classes_of(const Design& design);
// A whole number as the name of a class.
[[nodiscard]] std::string class_name(double value);

inline constexpr std::size_t most_classes = 100;

class Softmax {
 public:
  // Default priors: those of logistic regression, the same for every class.
  [[nodiscard]] static Layout layout_of(const Design& design, std::span<const std::string> classes);

  // Throws ModelError: an offset, too many parameters.
  Softmax(Design design, ResponseClasses classes, Layout layout);

  [[nodiscard]] std::size_t dim() const noexcept { return layout_.dim(); }
  [[nodiscard]] std::size_t rows() const noexcept { return store_.size(); }
  [[nodiscard]] const RowStore& store() const noexcept { return store_; }
  [[nodiscard]] const Design& design() const noexcept { return store_.design(); }
  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  [[nodiscard]] const std::vector<std::string>& classes() const noexcept { return classes_; }
  // Coefficients of a class; classes with coefficients.
  [[nodiscard]] std::size_t width() const noexcept { return store_.dim(); }
  [[nodiscard]] std::size_t others() const noexcept { return classes_.size() - 1; }
  [[nodiscard]] std::size_t columns() const noexcept { return dim(); }
  [[nodiscard]] bool has_levels() const noexcept { return !design().blocks.empty(); }
  [[nodiscard]] bool weighted() const noexcept { return design().has_weight; }

  [[nodiscard]] bool proper_prior() const noexcept { return layout_.proper_prior(); }
  [[nodiscard]] bool quadratic_prior() const noexcept { return layout_.quadratic_prior(); }
  [[nodiscard]] double log_prior(Params theta) const noexcept { return layout_.log_prior(theta); }
  void add_prior_derivatives(Params theta, Derivatives& d) const { layout_.add_prior_derivatives(theta, d); }

  void log_likelihoods(Params theta, Rows rows, std::span<double> terms) const;
  [[nodiscard]] double log_likelihood(Params theta, Rows rows) const;
  void prefetch(std::span<const RowId> ids) const noexcept { store_.prefetch(ids); }
  void log_likelihood_remainders(Params centre, Params from, Params to, std::span<const RowId> ids,
                                 std::span<double> remainders) const;
  void gradients(Params theta, Rows rows, Eigen::MatrixXd& out) const;
  void add_derivatives(Params theta, Rows rows, Derivatives& d) const;
  [[nodiscard]] Eigen::VectorXd start() const;
  // Whether the likelihood does not decrease in this direction for any of these rows: then there is no finite
  // maximum (separation).
  [[nodiscard]] bool recedes(Params direction, Rows rows) const;

  // The probabilities of the classes 1 .. K-1 for at most batch_rows rows: class k of row i is
  // out[(k - 1) * batch_rows + i].
  static constexpr std::size_t batch_rows = 256;
  void probabilities(Params theta, Rows rows, std::span<double> out) const;

  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return layout_.names(); }
  void to_user(Params theta, std::span<double> out) const noexcept { layout_.to_user(theta, out); }
  void to_working(Params user, std::span<double> out) const { layout_.to_working(user, out); }
  [[nodiscard]] Eigen::MatrixXd user_jacobian(Params theta) const { return layout_.user_jacobian(theta); }

 private:
  class Batches;

  std::vector<double> totals_;  // rows of each class, each as often as its weight says
  RowStore store_;
  std::vector<std::string> classes_;
  Layout layout_;
};

}  // namespace mlo
