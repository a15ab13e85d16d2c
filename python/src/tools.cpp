// Copyright (c) the mlo authors. BSD-3-Clause.
// What Python has besides fits: a look at data, simulated data, methods side by side.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <utility>

#include "mlo/base/errors.hpp"
#include "mlo/fit/bench_methods.hpp"
#include "mlo/fit/describe.hpp"
#include "mlo/fit/simulate.hpp"
#include "mlo/method/read_options.hpp"
#include "python/src/errors.hpp"
#include "python/src/frame.hpp"
#include "python/src/module.hpp"
#include "python/src/options.hpp"
#include "python/src/session.hpp"

namespace mlo::python {
namespace {

using namespace py::literals;

py::dict describe_data(const py::object& data, const std::string& formula, const Given& given,
                       const py::object& progress) {
  FitOptions options;
  set_options(options, given);
  options.formula = formula;
  FitData source = data_of(data, read_options(options));
  options.data = source.names;
  const Description description = run_session(
      [&](Session& session) {
        const auto show = [&](const std::string& what, double share) {
          if (session.interrupted()) throw Interrupted("interrupted before all rows were read");
          session.say(what, share);
        };
        return source.reader
                   ? describe(options, *source.reader, [&](double share) { show("reading the data", share); })
                   : describe(options, show);
      },
      progress);
  return py::dict("table"_a = as_table(description), "json"_a = as_json(description));
}

py::dict compare(const std::string& formula, const py::object& data, const std::vector<std::string>& methods,
                 double seconds, std::int64_t reference_draws, const Given& given,
                 const py::object& progress) {
  BenchOptions options;
  set_options(options.fit, given);
  options.fit.formula = formula;
  options.methods = methods;
  options.seconds = seconds;
  options.reference_draws = reference_draws;
  FitData source = data_of(data, read_options(options.fit));
  options.fit.data = source.names;
  const Comparison comparison = in_python(run_session(
      [&](Session& session) {
        BenchWatcher watcher;
        watcher.interrupt = &session.interrupted();
        watcher.method = [&](const std::string& method, std::size_t index, std::size_t count) {
          session.say(method, static_cast<double>(index) / static_cast<double>(count + 1));
        };
        return source.reader ? bench_methods(options, *source.reader, watcher)
                             : bench_methods(options, watcher);
      },
      progress));
  return py::dict("table"_a = as_table(comparison), "json"_a = as_json(comparison),
                  "csv"_a = as_csv(comparison), "svg"_a = as_svg(comparison));
}

py::dict simulate_columns(const std::string& family, std::int64_t rows,
                          const std::optional<std::vector<double>>& coefficients, double intercept,
                          double correlation, const std::map<std::string, double>& numbers,
                          const std::vector<std::string>& groups, std::uint64_t seed) {
  SimulateOptions options;
  options.family = family;
  options.rows = rows;
  if (coefficients) options.coefficients = *coefficients;
  options.intercept = intercept;
  options.correlation = correlation;
  for (const auto& [name, value] : numbers) options.numbers[name] = value;
  options.seed = seed;
  for (const std::string& group : groups) options.groups.push_back(simulated_group(group));
  Table table = [&] {
    const py::gil_scoped_release release;
    return simulate(options);
  }();
  py::dict out;
  for (Column& column : table.columns) {
    auto* const kept = new Numbers(std::move(column.numbers()));
    const py::capsule owner(kept, [](void* memory) { delete static_cast<Numbers*>(memory); });
    out[py::str(column.name)] =
        py::array_t<double>(static_cast<py::ssize_t>(kept->size()), kept->data(), owner);
  }
  return out;
}

}  // namespace

void add_tools(py::module_& module) {
  module.def("describe", &describe_data);
  module.def("compare_methods", &compare);
  module.def("simulate", &simulate_columns);
  module.def("version", &version);
}

}  // namespace mlo::python
