// Copyright (c) the mlo authors. BSD-3-Clause.
// Any model behind one interface, so that kernels, the runner of chains and reports are compiled once. A
// virtual call is made once per batch of rows, or once per step, never per row (docs/adr/0015). A user's own
// model stays a struct with the members that concepts ask for; ModelOf makes an AnyModel of it.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mlo/model/curve.hpp"
#include "mlo/model/family.hpp"
#include "mlo/model/model.hpp"
#include "mlo/model/surface.hpp"

namespace mlo {

class Glm;
class Softmax;

class AnyModel {
 public:
  AnyModel() = default;
  virtual ~AnyModel() = default;
  AnyModel(const AnyModel&) = delete;
  AnyModel& operator=(const AnyModel&) = delete;

  // Model, SummableModel, PairwiseModel
  [[nodiscard]] virtual std::size_t dim() const = 0;
  [[nodiscard]] virtual std::size_t rows() const = 0;
  [[nodiscard]] virtual double log_prior(Params theta) const = 0;
  virtual void log_likelihoods(Params theta, Rows rows, std::span<double> terms) const = 0;
  [[nodiscard]] virtual double log_likelihood(Params theta, Rows rows) const = 0;
  virtual void log_likelihood_differences(Params from, Params to, std::span<const RowId> ids,
                                          std::span<double> out) const = 0;
  virtual void prefetch(std::span<const RowId> ids) const = 0;

  // TwiceDifferentiable, and what else the search for a mode needs
  virtual void add_derivatives(Params theta, Rows rows, Derivatives& d) const = 0;
  virtual void add_prior_derivatives(Params theta, Derivatives& d) const = 0;
  [[nodiscard]] virtual Eigen::VectorXd start() const = 0;
  [[nodiscard]] virtual std::size_t columns() const = 0;
  // Whether columns are levels of factors.
  [[nodiscard]] virtual bool has_levels() const = 0;
  [[nodiscard]] virtual bool proper_prior() const = 0;
  [[nodiscard]] virtual bool quadratic_prior() const = 0;
  [[nodiscard]] virtual bool recedes(Params direction, Rows rows) const = 0;
  [[nodiscard]] virtual std::string degenerate(Params theta, const Derivatives& at,
                                               bool with_prior) const = 0;

  // NamedModel
  [[nodiscard]] virtual const std::vector<std::string>& names() const = 0;
  virtual void to_user(Params theta, std::span<double> out) const = 0;
  virtual void to_working(Params user, std::span<double> out) const = 0;
  [[nodiscard]] virtual Eigen::MatrixXd user_jacobian(Params theta) const = 0;

  // Whether every parameter is positive and its own working coordinate.
  [[nodiscard]] virtual bool all_positive() const = 0;

  // What only some models can do. A method asks first, and calls these only if the answer is yes.
  [[nodiscard]] virtual bool has_gradients() const = 0;
  virtual void gradients(Params theta, Rows rows, Eigen::MatrixXd& out) const = 0;
  [[nodiscard]] virtual bool has_remainders() const = 0;
  virtual void log_likelihood_remainders(Params centre, Params from, Params to, std::span<const RowId> ids,
                                         std::span<double> out) const = 0;
  // The generalised linear model that this is. Null: it is another kind of model.
  [[nodiscard]] virtual const Glm* glm() const = 0;
  // The same of a softmax regression.
  [[nodiscard]] virtual const Softmax* softmax() const = 0;
  // Empty if the model has none.
  [[nodiscard]] virtual std::optional<CurvedRows> curved() const = 0;
  // The same for a second parameter that is estimated, about this value of its log.
  [[nodiscard]] virtual std::optional<SurfacedRows> surfaced(double log_second) const = 0;
  [[nodiscard]] virtual SummedLikelihood summed(const Mode& mode) const = 0;
};

// The least that sampling needs: a mode can be found, and the parameters have names.
template <class M>
concept SampledModel = TwiceDifferentiable<M> && NamedModel<M>;

template <SampledModel M>
class ModelOf final : public AnyModel {
 public:
  explicit ModelOf(M model) : model_(std::make_shared<const M>(std::move(model))) {}
  // Refers to the model, which must outlive this.
  explicit ModelOf(const M* model) : model_(model, [](const M*) {}) {}

  [[nodiscard]] std::size_t dim() const override { return model_->dim(); }
  [[nodiscard]] std::size_t rows() const override { return model_->rows(); }
  [[nodiscard]] double log_prior(Params theta) const override { return model_->log_prior(theta); }
  void log_likelihoods(Params theta, Rows rows, std::span<double> terms) const override {
    model_->log_likelihoods(theta, rows, terms);
  }
  [[nodiscard]] double log_likelihood(Params theta, Rows rows) const override {
    if constexpr (SummableModel<M>) {
      return model_->log_likelihood(theta, rows);
    } else {
      double total = 0;
      in_batches(rows, [&](Rows part, std::size_t) {
        std::array<double, batch> terms;
        model_->log_likelihoods(theta, part, std::span(terms).first(part.size()));
        for (std::size_t k = 0; k < part.size(); ++k) total += terms[k];
      });
      return total;
    }
  }
  void log_likelihood_differences(Params from, Params to, std::span<const RowId> ids,
                                  std::span<double> out) const override {
    if constexpr (PairwiseModel<M>) {
      model_->log_likelihood_differences(from, to, ids, out);
    } else {
      in_batches(Rows(ids), [&](Rows part, std::size_t first) {
        std::array<double, batch> before;
        const std::span<double> here = out.subspan(first, part.size());
        model_->log_likelihoods(to, part, here);
        model_->log_likelihoods(from, part, std::span(before).first(part.size()));
        for (std::size_t k = 0; k < part.size(); ++k) here[k] -= before[k];
      });
    }
  }
  void prefetch([[maybe_unused]] std::span<const RowId> ids) const override {
    if constexpr (requires { model_->prefetch(ids); }) model_->prefetch(ids);
  }

  void add_derivatives(Params theta, Rows rows, Derivatives& d) const override {
    model_->add_derivatives(theta, rows, d);
  }
  void add_prior_derivatives(Params theta, Derivatives& d) const override {
    model_->add_prior_derivatives(theta, d);
  }
  [[nodiscard]] Eigen::VectorXd start() const override { return model_->start(); }
  [[nodiscard]] bool has_levels() const override {
    if constexpr (requires { model_->has_levels(); }) return model_->has_levels();
    return false;
  }
  [[nodiscard]] std::size_t columns() const override {
    if constexpr (requires { model_->columns(); }) return model_->columns();
    return model_->dim();
  }
  [[nodiscard]] bool proper_prior() const override {
    if constexpr (requires { model_->proper_prior(); }) return model_->proper_prior();
    return false;
  }
  [[nodiscard]] bool quadratic_prior() const override {
    if constexpr (requires { model_->quadratic_prior(); }) return model_->quadratic_prior();
    return false;
  }
  [[nodiscard]] bool recedes([[maybe_unused]] Params direction, [[maybe_unused]] Rows rows) const override {
    if constexpr (requires { model_->recedes(direction, rows); }) return model_->recedes(direction, rows);
    return false;
  }
  [[nodiscard]] std::string degenerate([[maybe_unused]] Params theta, [[maybe_unused]] const Derivatives& at,
                                       [[maybe_unused]] bool with_prior) const override {
    if constexpr (requires { model_->degenerate(theta, at, with_prior); })
      return model_->degenerate(theta, at, with_prior);
    return {};
  }

  [[nodiscard]] const std::vector<std::string>& names() const override { return model_->names(); }
  void to_user(Params theta, std::span<double> out) const override { model_->to_user(theta, out); }
  void to_working(Params user, std::span<double> out) const override { model_->to_working(user, out); }
  [[nodiscard]] Eigen::MatrixXd user_jacobian(Params theta) const override {
    return model_->user_jacobian(theta);
  }

  [[nodiscard]] bool all_positive() const override {
    if constexpr (requires { model_->all_positive(); }) return model_->all_positive();
    return false;
  }

  [[nodiscard]] bool has_gradients() const override { return Differentiable<M>; }
  void gradients([[maybe_unused]] Params theta, [[maybe_unused]] Rows rows,
                 [[maybe_unused]] Eigen::MatrixXd& out) const override {
    if constexpr (Differentiable<M>) model_->gradients(theta, rows, out);
  }
  [[nodiscard]] bool has_remainders() const override { return ExpandableModel<M>; }
  void log_likelihood_remainders([[maybe_unused]] Params centre, [[maybe_unused]] Params from,
                                 [[maybe_unused]] Params to, [[maybe_unused]] std::span<const RowId> ids,
                                 [[maybe_unused]] std::span<double> out) const override {
    if constexpr (ExpandableModel<M>) model_->log_likelihood_remainders(centre, from, to, ids, out);
  }
  [[nodiscard]] const Glm* glm() const override {
    if constexpr (std::same_as<M, Glm>) return model_.get();
    return nullptr;
  }
  [[nodiscard]] const Softmax* softmax() const override {
    if constexpr (std::same_as<M, Softmax>) return model_.get();
    return nullptr;
  }
  [[nodiscard]] std::optional<CurvedRows> curved() const override {
    if constexpr (requires { model_->curved(); }) return model_->curved();
    return std::nullopt;
  }
  [[nodiscard]] std::optional<SurfacedRows> surfaced([[maybe_unused]] double log_second) const override {
    if constexpr (requires { model_->surfaced(log_second); }) return model_->surfaced(log_second);
    return std::nullopt;
  }
  [[nodiscard]] SummedLikelihood summed([[maybe_unused]] const Mode& mode) const override {
    if constexpr (requires { model_->summed(mode); }) return model_->summed(mode);
    return {};
  }

 private:
  static constexpr std::size_t batch = 256;
  template <class Body>
  static void in_batches(Rows rows, const Body& body) {
    for (std::size_t first = 0; first < rows.size(); first += batch)
      body(rows.part(first, std::min(batch, rows.size() - first)), first);
  }

  std::shared_ptr<const M> model_;
};

static_assert(SampledModel<AnyModel> && PairwiseModel<AnyModel> && SummableModel<AnyModel> &&
              Differentiable<AnyModel> && ExpandableModel<AnyModel>);

// The model of a family over a design: default priors, replaced where the options say so. Adds to the notes
// what a reader of the results must know: priors, known parameters. Throws UsageError, DataError.
[[nodiscard]] std::unique_ptr<AnyModel> make_model(const FamilySpec& spec, Design design,
                                                   const FamilyNumbers& numbers, const PriorOptions& priors,
                                                   std::vector<std::string>& notes);

}  // namespace mlo
