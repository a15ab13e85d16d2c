// Copyright (c) the mlo authors. BSD-3-Clause.
// What the methods ask of a model. A user's own model is a struct with these members; no base class.
#pragma once

#include <Eigen/Dense>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mlo {

// A point of the parameter space, in the model's *working* coordinates: those in which it is fitted,
// unbounded and well scaled where that is possible. to_user() turns them into the parameters a reader of the
// results knows.
using Params = std::span<const double>;

[[nodiscard]] inline Params params(const Eigen::VectorXd& v) {
  return {v.data(), static_cast<std::size_t>(v.size())};
}
[[nodiscard]] inline Eigen::Map<const Eigen::VectorXd> vector(Params theta) {
  return {theta.data(), static_cast<Eigen::Index>(theta.size())};
}

using RowId = std::uint32_t;

// The rows a model is asked about: either a contiguous range or a list of ids (repeats allowed).
class Rows {
 public:
  [[nodiscard]] static Rows range(std::size_t first, std::size_t count) { return {nullptr, first, count}; }
  explicit Rows(std::span<const RowId> ids) : Rows(ids.data(), 0, ids.size()) {}

  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] bool contiguous() const noexcept { return ids_ == nullptr; }
  [[nodiscard]] const RowId* ids() const noexcept { return ids_; }
  [[nodiscard]] std::size_t operator[](std::size_t k) const noexcept { return ids_ ? ids_[k] : first_ + k; }
  [[nodiscard]] Rows part(std::size_t begin, std::size_t count) const {
    return ids_ ? Rows(ids_ + begin, 0, count) : Rows(nullptr, first_ + begin, count);
  }

 private:
  Rows(const RowId* ids, std::size_t first, std::size_t count) : ids_(ids), first_(first), count_(count) {}
  const RowId* ids_;
  std::size_t first_;
  std::size_t count_;
};

// Law: for fixed theta the terms do not depend on how rows are batched or ordered; no term is NaN for a theta
// at which log_prior is finite (minus infinity is allowed).
template <class M>
concept Model = requires(const M& m, Params theta, Rows rows, std::span<double> terms) {
  { m.dim() } -> std::same_as<std::size_t>;
  { m.rows() } -> std::same_as<std::size_t>;
  { m.log_prior(theta) } -> std::same_as<double>;  // up to a constant; minus infinity outside the support
  { m.log_likelihoods(theta, rows, terms) } -> std::same_as<void>;
};

// A model that can sum over rows faster than term by term.
// Law: equals the sum of log_likelihoods up to rounding.
template <class M>
concept SummableModel = Model<M> && requires(const M& m, Params theta, Rows rows) {
  { m.log_likelihood(theta, rows) } -> std::same_as<double>;
};

// A model that can compare two points over scattered rows faster than one point at a time: each row is
// fetched once. Law: differences[k] = term of ids[k] at `to` minus that at `from`, up to rounding; for any
// batching.
template <class M>
concept PairwiseModel = Model<M> &&
    requires(const M& m, Params from, Params to, std::span<const RowId> ids, std::span<double> out) {
  { m.log_likelihood_differences(from, to, ids, out) } -> std::same_as<void>;
};

// A model that knows how far its terms are from their quadratic expansions q_i about `centre`, over scattered
// rows. Law: out[k] = (l_i(to) - l_i(from)) - (q_i(to) - q_i(from)) for i = ids[k], up to rounding errors of
// the size of those of l_i; the expansions add up to the one that add_derivatives gives at the centre; for
// any batching.
template <class M>
concept ExpandableModel = Model<M> && requires(const M& m, Params centre, Params from, Params to,
                                               std::span<const RowId> ids, std::span<double> out) {
  { m.log_likelihood_remainders(centre, from, to, ids, out) } -> std::same_as<void>;
};

// Law: gradients.row(k) is the gradient of the term of rows[k].
template <class M>
concept Differentiable = Model<M> &&
    requires(const M& m, Params theta, Rows rows, Eigen::MatrixXd& gradients) {
  { m.gradients(theta, rows, gradients) } -> std::same_as<void>;
};

// The sum over rows of the log-likelihood, its gradient and its observed information (minus the Hessian).
struct Derivatives {
  double value = 0;
  Eigen::VectorXd gradient;
  Eigen::MatrixXd information;

  explicit Derivatives(std::size_t dim = 0)
      : gradient(Eigen::VectorXd::Zero(static_cast<Eigen::Index>(dim))),
        information(Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(dim), static_cast<Eigen::Index>(dim))) {}
  Derivatives& operator+=(const Derivatives& other) {
    value += other.value;
    gradient += other.gradient;
    information += other.information;
    return *this;
  }
};

// Law: add_* add to what is there. add_prior_derivatives may smooth a kink and round a negative curvature up
// to 0, because it only guides mode finding; log_prior itself is always exact.
template <class M>
concept TwiceDifferentiable = Model<M> && requires(const M& m, Params theta, Rows rows, Derivatives& d) {
  { m.add_derivatives(theta, rows, d) } -> std::same_as<void>;
  { m.add_prior_derivatives(theta, d) } -> std::same_as<void>;
  { m.start() } -> std::same_as<Eigen::VectorXd>;
};

// Names and coordinates for people. Law: to_working(to_user(theta)) == theta up to rounding;
// user_jacobian is the derivative of to_user.
template <class M>
concept NamedModel = Model<M> && requires(const M& m, Params theta, std::span<double> out) {
  { m.names() } -> std::same_as<const std::vector<std::string>&>;
  { m.to_user(theta, out) } -> std::same_as<void>;
  { m.to_working(theta, out) } -> std::same_as<void>;
  { m.user_jacobian(theta) } -> std::same_as<Eigen::MatrixXd>;
};

}  // namespace mlo
