// Copyright (c) the mlo authors. BSD-3-Clause.
// A model written in Python: its log-likelihoods are a function of a parameter and of the numbers of some
// rows. The GIL is taken once per batch of rows.
#include <fmt/format.h>
#include <pybind11/eigen.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "mlo/base/errors.hpp"
#include "mlo/fit/fit.hpp"
#include "mlo/method/option_table.hpp"
#include "mlo/method/plan.hpp"
#include "mlo/method/sample.hpp"
#include "mlo/model/any_model.hpp"
#include "python/src/errors.hpp"
#include "python/src/fits.hpp"
#include "python/src/module.hpp"
#include "python/src/options.hpp"
#include "python/src/session.hpp"

namespace mlo::python {
namespace {

using namespace py::literals;
using Array = py::array_t<double, py::array::c_style | py::array::forcecast>;

py::array_t<double> array_of(Params theta) {
  return py::array_t<double>(static_cast<py::ssize_t>(theta.size()), theta.data());
}

py::array_t<std::int64_t> array_of(Rows rows) {
  py::array_t<std::int64_t> out(static_cast<py::ssize_t>(rows.size()));
  std::int64_t* const to = out.mutable_data();
  for (std::size_t k = 0; k < rows.size(); ++k) to[k] = static_cast<std::int64_t>(rows[k]);
  return out;
}

std::string shape_words(const py::array& array) { return py::str(array.attr("shape")); }

// What a function of the user returned, as numbers of the wanted shape.
Array numbers_of(const py::object& returned, const char* function, const std::vector<py::ssize_t>& wanted) {
  Array out;
  try {
    out = Array::ensure(returned);
  } catch (py::error_already_set&) {
    out = Array();
  }
  if (!out) {
    PyErr_Clear();
    throw UsageError(fmt::format("{} must return numbers (got {})", function,
                                 std::string(py::str(py::type::of(returned).attr("__name__")))));
  }
  const std::vector<py::ssize_t> shape(out.shape(), out.shape() + out.ndim());
  if (shape != wanted)
    throw UsageError(fmt::format("{} must return an array of shape ({}{}) (got {})", function,
                                 fmt::join(wanted, ", "), wanted.size() == 1 ? "," : "", shape_words(out)));
  return out;
}

// The user's functions, checked by mlo._model. Working coordinates are the user's own.
struct PythonModel {
  py::object terms, prior, gradient;  // prior and gradient may be None
  std::size_t count = 0, size = 0;    // rows, parameters
  std::vector<std::string> its_names;
  Eigen::VectorXd first, typical;  // where the search for the mode starts; the parameters' sizes

  [[nodiscard]] std::size_t dim() const { return size; }
  [[nodiscard]] std::size_t rows() const { return count; }
  [[nodiscard]] const std::vector<std::string>& names() const { return its_names; }
  [[nodiscard]] Eigen::VectorXd start() const { return first; }
  [[nodiscard]] bool proper_prior() const { return !prior.is_none(); }
  void to_user(Params theta, std::span<double> out) const {
    std::copy(theta.begin(), theta.end(), out.begin());
  }
  void to_working(Params user, std::span<double> out) const {
    std::copy(user.begin(), user.end(), out.begin());
  }
  [[nodiscard]] Eigen::MatrixXd user_jacobian(Params) const {
    const auto p = static_cast<Eigen::Index>(size);
    return Eigen::MatrixXd::Identity(p, p);
  }

  [[nodiscard]] double log_prior(Params theta) const {
    if (prior.is_none()) return 0;
    const py::gil_scoped_acquire gil;
    const py::object value = prior(array_of(theta));
    try {
      return value.cast<double>();
    } catch (const py::cast_error&) {
      throw UsageError(fmt::format("log_prior must return a number (got {})",
                                   std::string(py::str(py::type::of(value).attr("__name__")))));
    }
  }

  void log_likelihoods(Params theta, Rows rows, std::span<double> out) const {
    const py::gil_scoped_acquire gil;
    read_terms(theta, array_of(rows), out);
  }
  [[nodiscard]] double log_likelihood(Params theta, Rows rows) const {
    std::vector<double> all(rows.size());
    log_likelihoods(theta, rows, all);
    double total = 0;
    for (const double term : all) total += term;
    return total;
  }
  void log_likelihood_differences(Params from, Params to, std::span<const RowId> ids,
                                  std::span<double> out) const {
    const py::gil_scoped_acquire gil;
    const py::array_t<std::int64_t> rows = array_of(Rows(ids));
    std::vector<double> before(ids.size());
    read_terms(to, rows, out);
    read_terms(from, rows, before);
    for (std::size_t k = 0; k < ids.size(); ++k) out[k] -= before[k];
  }

  // By differences: of the gradients, if there are any, otherwise of the terms.
  void add_derivatives(Params theta, Rows rows, Derivatives& d) const {
    const py::gil_scoped_acquire gil;
    const py::array_t<std::int64_t> ids = array_of(rows);
    if (!gradient.is_none()) return add_by_gradients(theta, ids, d);
    add_by_terms(theta, d, [&](Params at) {
      std::vector<double> all(rows.size());
      read_terms(at, ids, all);
      double total = 0;
      for (const double term : all) total += term;
      return total;
    });
  }
  void add_prior_derivatives(Params theta, Derivatives& d) const {
    if (prior.is_none()) return;
    add_by_terms(theta, d, [&](Params at) { return log_prior(at); });
  }

 protected:
  void read_terms(Params theta, const py::array_t<std::int64_t>& rows, std::span<double> out) const {
    const Array values = numbers_of(terms(array_of(theta), rows), "log_likelihoods", {rows.shape(0)});
    std::copy_n(values.data(), out.size(), out.begin());
  }
  [[nodiscard]] Eigen::VectorXd gradient_sum(Params theta, const py::array_t<std::int64_t>& rows) const {
    Eigen::VectorXd total = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(size));
    const Array values = numbers_of(gradient(array_of(theta), rows), "gradients",
                                    {rows.shape(0), static_cast<py::ssize_t>(size)});
    const double* at = values.data();
    for (py::ssize_t i = 0; i < rows.shape(0); ++i)
      for (Eigen::Index j = 0; j < total.size(); ++j) total[j] += *at++;
    return total;
  }

 private:
  // The step of a central difference: its errors, of the function's third derivatives and of rounding, are
  // equal at about the fourth root of the precision (the third root for a first derivative).
  [[nodiscard]] Eigen::VectorXd steps(Params theta, double power) const {
    Eigen::VectorXd h(static_cast<Eigen::Index>(size));
    for (Eigen::Index j = 0; j < h.size(); ++j)
      h[j] = std::pow(std::numeric_limits<double>::epsilon(), power) *
             std::max(typical[j], std::abs(theta[static_cast<std::size_t>(j)]));
    return h;
  }

  template <class Sum>
  void add_by_terms(Params theta, Derivatives& d, const Sum& sum) const {
    Eigen::VectorXd at = vector(theta);
    const Eigen::VectorXd h = steps(theta, 0.25);
    const auto value = [&](Eigen::Index j, double a, Eigen::Index k, double b) {
      at = vector(theta);
      at[j] += a * h[j];
      if (k >= 0) at[k] += b * h[k];
      return sum(params(at));
    };
    const double here = sum(theta);
    const Eigen::Index p = h.size();
    std::vector<double> up(size), down(size);
    for (Eigen::Index j = 0; j < p; ++j) {
      const auto i = static_cast<std::size_t>(j);
      up[i] = value(j, 1, -1, 0);
      down[i] = value(j, -1, -1, 0);
      d.gradient[j] += (up[i] - down[i]) / (2 * h[j]);
      d.information(j, j) -= (up[i] - 2 * here + down[i]) / (h[j] * h[j]);
    }
    for (Eigen::Index j = 0; j < p; ++j)
      for (Eigen::Index k = 0; k < j; ++k) {
        const double mixed =
            (value(j, 1, k, 1) - value(j, 1, k, -1) - value(j, -1, k, 1) + value(j, -1, k, -1)) /
            (4 * h[j] * h[k]);
        d.information(j, k) -= mixed;
        d.information(k, j) -= mixed;
      }
    d.value += here;
  }

  void add_by_gradients(Params theta, const py::array_t<std::int64_t>& rows, Derivatives& d) const {
    std::vector<double> all(static_cast<std::size_t>(rows.shape(0)));
    read_terms(theta, rows, all);
    for (const double term : all) d.value += term;
    d.gradient += gradient_sum(theta, rows);
    const Eigen::VectorXd h = steps(theta, 1.0 / 3);
    Eigen::MatrixXd hessian(h.size(), h.size());
    for (Eigen::Index j = 0; j < h.size(); ++j) {
      Eigen::VectorXd up = vector(theta), down = up;
      up[j] += h[j];
      down[j] -= h[j];
      hessian.col(j) = (gradient_sum(params(up), rows) - gradient_sum(params(down), rows)) / (2 * h[j]);
    }
    d.information -= 0.5 * (hessian + hessian.transpose());
  }
};

// With gradients of the terms, which weights by the score need.
struct GradientModel : PythonModel {
  void gradients(Params theta, Rows rows, Eigen::MatrixXd& out) const {
    const py::gil_scoped_acquire gil;
    const py::array_t<std::int64_t> ids = array_of(rows);
    const Array values = numbers_of(gradient(array_of(theta), ids), "gradients",
                                    {ids.shape(0), static_cast<py::ssize_t>(size)});
    using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    out = Eigen::Map<const RowMajor>(values.data(), ids.shape(0), static_cast<Eigen::Index>(size));
  }
};

static_assert(SampledModel<PythonModel> && PairwiseModel<PythonModel> && SummableModel<PythonModel>);
static_assert(Differentiable<GradientModel> && !Differentiable<PythonModel>);

std::unique_ptr<AnyModel> model_of(const PythonModel& model) {
  if (model.gradient.is_none()) return std::make_unique<ModelOf<PythonModel>>(model);
  GradientModel with;
  static_cast<PythonModel&>(with) = model;
  return std::make_unique<ModelOf<GradientModel>>(std::move(with));
}

MethodOptions method_options(const Given& given) {
  FitOptions options;
  set_options(options, given);
  MethodOptions out = static_cast<const MethodOptions&>(options);
  check(out);
  settle(out);
  return out;
}

std::unique_ptr<HeldFit> sample_model(const AnyModel& model, const Given& given,
                                      const std::vector<double>& weights, const py::object& progress) {
  const MethodOptions options = method_options(given);
  return run_session(
      [&](Session& session) {
        const FitWatcher watcher = session.watcher();
        Samples samples = sample(model, options, weights, watcher);
        const Plan plan = resolve(
            options, {.rows = model.rows(), .dim = model.dim(), .all_positive = model.all_positive()});
        FitResult out;
        out.names = model.names();
        out.summary = summary_of(samples, out.names, plan.chain, model.rows());
        static_cast<MethodOptions&>(out.options) = options;
        out.options.warmup = static_cast<std::int64_t>(plan.chain.warmup);
        for (ChainRecord& record : samples.chains)
          out.chains.push_back(std::move(static_cast<ChainDraws&>(record)));
        return std::make_unique<HeldFit>(std::move(out));
      },
      progress);
}

// A kernel and its chain, stepped by hand. Keeps its model alive.
struct Stepped {
  std::unique_ptr<SteppedChain> chain;

  StepInfo step() {
    const py::gil_scoped_release release;
    return chain->step();
  }
};

py::dict info_of(const StepInfo& info) {
  return py::dict("accepted"_a = info.accepted, "finite"_a = info.finite, "rows_read"_a = info.rows_read,
                  "log_ratio"_a = info.log_ratio, "noise_sd"_a = info.noise_sd);
}

}  // namespace

void add_models(py::module_& module) {
  py::class_<AnyModel>(module, "Model")
      .def(py::init([](py::object terms, py::object prior, py::object gradient, std::size_t rows,
                       std::vector<std::string> names, const std::vector<double>& start,
                       const std::vector<double>& typical) {
        PythonModel model;
        model.terms = std::move(terms);
        model.prior = std::move(prior);
        model.gradient = std::move(gradient);
        model.count = rows;
        model.size = names.size();
        model.its_names = std::move(names);
        model.first = vector(start);
        model.typical = vector(typical);
        return model_of(model);
      }))
      .def("sample", &sample_model);
  py::class_<Stepped>(module, "Kernel")
      .def("step", [](Stepped& self) { return info_of(self.step()); })
      .def("freeze", [](Stepped& self) { self.chain->freeze(); })
      .def_property_readonly("promise",
                             [](const Stepped& self) { return promise_name(self.chain->promise()); })
      .def_property_readonly("steps", [](const Stepped& self) { return self.chain->steps(); })
      .def_property(
          "theta", [](const Stepped& self) { return array_of(params(self.chain->state().theta)); },
          [](Stepped& self, const std::vector<double>& theta) { self.chain->set(vector(theta)); });
  module.def(
      "kernel",
      [](const AnyModel& model, const Given& given, const std::vector<double>& weights, std::size_t chain) {
        const MethodOptions options = method_options(given);
        return run_session(
            [&](Session&) {
              return std::make_unique<Stepped>(Stepped{stepped_chain(model, options, weights, chain)});
            },
            py::none());
      },
      py::keep_alive<0, 1>());
}

}  // namespace mlo::python
