// Copyright (c) the mlo authors. BSD-3-Clause.
// A user's own model, with derivatives by automatic differentiation.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "mlo/base/errors.hpp"
#include "mlo/model/hyper_dual.hpp"
#include "mlo/model/model.hpp"

namespace mlo {

// What a user writes. Law: term(theta, i) is the log-likelihood of row i = 0..rows()-1, twice differentiable
// in theta; log_prior is the log prior density up to a constant, minus infinity outside the support. Both are
// called from several threads at once. Parameters are best unbounded (the log of a scale, not the scale).
//
//   struct Exponential {
//     std::vector<double> y;
//     std::vector<std::string> names() const { return {"log_rate"}; }
//     std::size_t rows() const { return y.size(); }
//     template <class Scalar>
//     Scalar log_prior(std::span<const Scalar> theta) const { return -0.5 * theta[0] * theta[0]; }
//     template <class Scalar>
//     Scalar term(std::span<const Scalar> theta, std::size_t i) const {
//       using namespace mlo::ad;  // exp and the like, for any Scalar
//       return theta[0] - exp(theta[0]) * y[i];
//     }
//   };
//
// start(), if there is one, gives as many numbers as there are names; without it the search for the mode
// starts at 0. A log_prior of doubles alone works too: its derivatives are then finite differences.
template <class T>
concept UserModel = requires(const T& m, Params theta, std::span<const ad::HyperDual<1>> duals,
                             std::size_t row) {
  { m.names() } -> std::convertible_to<std::vector<std::string>>;
  { m.rows() } -> std::convertible_to<std::size_t>;
  { m.log_prior(theta) } -> std::convertible_to<double>;
  { m.term(theta, row) } -> std::same_as<double>;
  { m.term(duals, row) } -> std::same_as<ad::HyperDual<1>>;
};

// Adds the value, gradient and information of f by central differences, with steps of 1e-4 (1 + |theta_j|):
// accurate to about seven digits for a function that varies on a scale of 1, which is enough to guide a
// search.
void add_numerical_derivatives(const std::function<double(Params)>& f, Params theta, Derivatives& d);

// Turns it into a model that every method accepts. Derivatives are exact up to rounding. A term with its
// expansion costs about as much as two terms; a pass with all second derivatives costs p ceil(p / 4) / 2
// times that.
template <UserModel T>
class AutodiffModel {
 public:
  explicit AutodiffModel(T user) : user_(std::move(user)), names_(user_.names()) {
    if (names_.empty()) throw UsageError("a model needs at least one parameter: names() is empty");
    if (user_.rows() == 0) throw UsageError("a model needs at least one row: rows() is 0");
  }

  [[nodiscard]] const T& user() const noexcept { return user_; }
  [[nodiscard]] std::size_t dim() const noexcept { return names_.size(); }
  [[nodiscard]] std::size_t rows() const { return user_.rows(); }
  [[nodiscard]] double log_prior(Params theta) const { return user_.log_prior(theta); }

  void log_likelihoods(Params theta, Rows rows, std::span<double> terms) const {
    for (std::size_t k = 0; k < rows.size(); ++k) terms[k] = user_.term(theta, rows[k]);
  }
  [[nodiscard]] double log_likelihood(Params theta, Rows rows) const {
    double total = 0;
    for (std::size_t k = 0; k < rows.size(); ++k) total += user_.term(theta, rows[k]);
    return total;
  }

  // q_i(to) - q_i(from) is the slope of q_i halfway between the two, along the change. That is the first
  // derivative at the centre along the change, plus the mixed second derivative along the change and along
  // (halfway - centre). One evaluation with hyper-dual numbers gives both.
  void log_likelihood_remainders(Params centre, Params from, Params to, std::span<const RowId> ids,
                                 std::span<double> remainders) const {
    Point<ad::HyperDual<1>> at(centre);
    for (std::size_t j = 0; j < dim(); ++j) {
      at[j].first[0] = to[j] - from[j];
      at[j].along = 0.5 * ((to[j] - centre[j]) + (from[j] - centre[j]));
    }
    for (std::size_t k = 0; k < ids.size(); ++k) {
      const ad::HyperDual<1> q = user_.term(at.span(), ids[k]);
      remainders[k] = user_.term(to, ids[k]) - user_.term(from, ids[k]) - (q.first[0] + q.second[0]);
    }
  }

  void gradients(Params theta, Rows rows, Eigen::MatrixXd& out) const {
    out.resize(static_cast<Eigen::Index>(rows.size()), static_cast<Eigen::Index>(dim()));
    for (std::size_t first = 0; first < dim(); first += lanes) {
      Point<Dual> at(theta);
      const std::size_t count = std::min(lanes, dim() - first);
      for (std::size_t l = 0; l < count; ++l) at[first + l].first[l] = 1;
      for (std::size_t k = 0; k < rows.size(); ++k) {
        const Dual term = user_.term(at.span(), rows[k]);
        for (std::size_t l = 0; l < count; ++l)
          out(static_cast<Eigen::Index>(k), static_cast<Eigen::Index>(first + l)) = term.first[l];
      }
    }
  }

  void add_derivatives(Params theta, Rows rows, Derivatives& d) const {
    constexpr std::size_t block = 256;  // rows; they stay in the cache while all directions are evaluated
    for (std::size_t first = 0; first < rows.size(); first += block) {
      const Rows part = rows.part(first, std::min(block, rows.size() - first));
      add_second_order(theta, d, [&](std::span<const Dual> at) {
        Dual total;
        for (std::size_t k = 0; k < part.size(); ++k) total += user_.term(at, part[k]);
        return total;
      });
    }
  }

  void add_prior_derivatives(Params theta, Derivatives& d) const {
    if constexpr (requires(std::span<const Dual> at) {
                    { user_.log_prior(at) } -> std::convertible_to<Dual>;
                  }) {
      add_second_order(theta, d, [&](std::span<const Dual> at) { return Dual(user_.log_prior(at)); });
    } else {
      add_numerical_derivatives([&](Params at) { return user_.log_prior(at); }, theta, d);
    }
  }

  [[nodiscard]] Eigen::VectorXd start() const {
    Eigen::VectorXd theta = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(dim()));
    if constexpr (requires { user_.start(); }) {
      const auto given = user_.start();
      if (static_cast<std::size_t>(given.size()) != dim())
        throw UsageError("start() must give one number for each of the " + std::to_string(dim()) +
                         " parameters (got " + std::to_string(given.size()) + ")");
      std::copy(given.begin(), given.end(), theta.begin());
    }
    return theta;
  }

  // The user's coordinates are the working ones.
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }
  void to_user(Params theta, std::span<double> out) const {
    std::copy(theta.begin(), theta.end(), out.begin());
  }
  void to_working(Params user, std::span<double> out) const {
    std::copy(user.begin(), user.end(), out.begin());
  }
  [[nodiscard]] Eigen::MatrixXd user_jacobian(Params theta) const {
    const auto p = static_cast<Eigen::Index>(theta.size());
    return Eigen::MatrixXd::Identity(p, p);
  }

 private:
  // Directions per evaluation. Measured: all second derivatives of a row of a Weibull regression with p = 11
  // take 4.9, 2.6, 2.1 and 6.2 us with 1, 2, 4 and 8 directions.
  static constexpr std::size_t lanes = 4;
  using Dual = ad::HyperDual<lanes>;

  // theta as constants of another scalar type, on the stack unless there are many parameters.
  template <class Scalar>
  class Point {
   public:
    explicit Point(Params theta) : size_(theta.size()) {
      if (size_ > stack_.size()) heap_.resize(size_);
      for (std::size_t j = 0; j < size_; ++j) (*this)[j] = Scalar(theta[j]);
    }
    Scalar& operator[](std::size_t j) { return heap_.empty() ? stack_[j] : heap_[j]; }
    [[nodiscard]] std::span<const Scalar> span() const {
      return {heap_.empty() ? stack_.data() : heap_.data(), size_};
    }

   private:
    std::size_t size_;
    std::array<Scalar, 32> stack_;
    std::vector<Scalar> heap_;
  };

  // Adds value, gradient and information of f. For each parameter j, f is evaluated once per group of `lanes`
  // parameters that has an index >= j.
  template <class F>
  void add_second_order(Params theta, Derivatives& d, const F& f) const {
    Point<Dual> at(theta);
    for (std::size_t j = 0; j < dim(); ++j) {
      const auto row = static_cast<Eigen::Index>(j);
      at[j].along = 1;
      const std::size_t own_group = j / lanes * lanes;
      for (std::size_t first = own_group; first < dim(); first += lanes) {
        const std::size_t count = std::min(lanes, dim() - first);
        for (std::size_t l = 0; l < count; ++l) at[first + l].first[l] = 1;
        const Dual y = f(at.span());
        for (std::size_t l = 0; l < count; ++l) at[first + l].first[l] = 0;
        if (j == 0 && first == 0) d.value += y.value;
        if (first == own_group) d.gradient[row] += y.along;
        for (std::size_t l = 0; l < count; ++l) {
          const auto column = static_cast<Eigen::Index>(first + l);
          if (column < row) continue;
          d.information(row, column) -= y.second[l];
          if (column > row) d.information(column, row) -= y.second[l];
        }
      }
      at[j].along = 0;
    }
  }

  T user_;
  std::vector<std::string> names_;
};

}  // namespace mlo
