// Copyright (c) the mlo authors. BSD-3-Clause.
#include "python/src/fits.hpp"

#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "mlo/base/errors.hpp"
#include "mlo/base/files.hpp"
#include "mlo/fit/netcdf.hpp"
#include "mlo/fit/predict.hpp"
#include "mlo/fit/report.hpp"
#include "mlo/fit/runs.hpp"
#include "mlo/method/option_table.hpp"
#include "mlo/method/read_options.hpp"
#include "python/src/errors.hpp"
#include "python/src/frame.hpp"
#include "python/src/options.hpp"
#include "python/src/session.hpp"

namespace mlo::python {
namespace {

using namespace py::literals;

std::unique_ptr<HeldFit> fit_data(const std::string& formula, const py::object& data, const Given& given,
                                  const py::object& progress) {
  FitOptions options;
  set_options(options, given);
  options.formula = formula;
  FitData source = data_of(data, read_options(options));
  // A run that is resumed knows its options, and the names of its data.
  if (!options.resume || !formula.empty()) options.data = source.names;
  return run_session(
      [&](Session& session) {
        const FitWatcher watcher = session.watcher();
        return std::make_unique<HeldFit>(source.reader ? fit(options, *source.reader, watcher)
                                                       : fit(options, watcher));
      },
      progress);
}

py::array draws_view(const py::object& self) {
  const auto& fit = self.cast<const HeldFit&>();
  const auto step = static_cast<py::ssize_t>(sizeof(double));
  const auto dim = static_cast<py::ssize_t>(fit.dim()), draws = static_cast<py::ssize_t>(fit.draws());
  py::array view(py::dtype::of<double>(), {static_cast<py::ssize_t>(fit.chains()), draws, dim},
                 {draws * dim * step, dim * step, step}, fit.data(), self);
  view.attr("setflags")("write"_a = false);
  return view;
}

// None if the draws of group effects were not kept.
py::object effects_view(const py::object& self) {
  const auto& fit = self.cast<const HeldFit&>();
  if (fit.effect_data() == nullptr) return py::none();
  const auto step = static_cast<py::ssize_t>(sizeof(float));
  const auto effects = static_cast<py::ssize_t>(fit.effects()), draws = static_cast<py::ssize_t>(fit.draws());
  py::array view(py::dtype::of<float>(), {static_cast<py::ssize_t>(fit.chains()), draws, effects},
                 {draws * effects * step, effects * step, step}, fit.effect_data(), self);
  view.attr("setflags")("write"_a = false);
  return view;
}

// Columns that grow while rows are predicted.
struct Predicted {
  std::vector<double> mean, sd, low, high;
  std::uint64_t missing = 0;
};

py::array_t<double> array_of(std::vector<double> values) {
  auto* const kept = new std::vector<double>(std::move(values));
  const py::capsule owner(kept, [](void* memory) { delete static_cast<std::vector<double>*>(memory); });
  return py::array_t<double>(static_cast<py::ssize_t>(kept->size()), kept->data(), owner);
}

// The columns of the table of group effects.
py::dict groups_of(const HeldFit& fit) {
  const std::vector<GroupEffect>& effects = fit.result().effects;
  const auto texts = [&](std::string GroupEffect::*field) {
    py::list out(effects.size());
    for (std::size_t k = 0; k < effects.size(); ++k) out[k] = py::str(effects[k].*field);
    return out;
  };
  const auto numbers = [&](double GroupEffect::*field) {
    std::vector<double> out;
    out.reserve(effects.size());
    for (const GroupEffect& e : effects) out.push_back(e.*field);
    return array_of(std::move(out));
  };
  return py::dict("group"_a = texts(&GroupEffect::group), "level"_a = texts(&GroupEffect::level),
                  "effect"_a = texts(&GroupEffect::effect), "mean"_a = numbers(&GroupEffect::mean),
                  "sd"_a = numbers(&GroupEffect::sd), "q5"_a = numbers(&GroupEffect::q5),
                  "q95"_a = numbers(&GroupEffect::q95), "rhat"_a = numbers(&GroupEffect::rhat));
}

py::dict predict_rows(const HeldFit& fit, const py::object& data, PredictOptions options,
                      const py::object& progress) {
  const KeptRun run = run_of(fit.with_draws());
  ReadOptions read;
  for (const std::string& column : text_columns_of(run)) read.types.emplace(column, ColumnType::text);
  if (options.na) {
    FitOptions words;
    words.na = options.na;
    read.na = read_options(words).na;
  }
  // A column that is not there is not a type that is wrong: predict() says so.
  FitData source = data_of(data, read, AllTypes::no);
  options.data = source.names.front();
  const Predicted rows = run_session(
      [&](Session& session) {
        Predicted out;
        const auto take = [&](const PredictedRows& some) {
          const std::size_t outputs = some.predictions.size() / some.rows;
          for (std::size_t i = 0; i < some.predictions.size(); ++i) {
            const bool there = some.complete[i / outputs] != 0;
            const Prediction& p = some.predictions[i];
            constexpr double none = std::numeric_limits<double>::quiet_NaN();
            out.mean.push_back(there ? p.mean : none);
            out.sd.push_back(there ? p.sd : none);
            out.low.push_back(there ? p.low : none);
            out.high.push_back(there ? p.high : none);
          }
        };
        const FitWatcher watcher = session.watcher();
        const PredictWatcher watching{.phase = watcher.phase, .interrupt = watcher.interrupt};
        out.missing = (source.reader ? predict(options, run, *source.reader, take, watching)
                                     : predict(options, run, take, watching))
                          .missing;
        return out;
      },
      progress);
  const auto [low, high] = quantile_names(options.interval);
  return py::dict("mean"_a = array_of(rows.mean), "sd"_a = array_of(rows.sd), "low"_a = array_of(rows.low),
                  "high"_a = array_of(rows.high), "low_name"_a = low, "high_name"_a = high,
                  "outputs"_a = outputs_of(options, run), "missing"_a = rows.missing);
}

PredictOptions predict_options(const py::dict& given) {
  PredictOptions o;
  const auto text = [&](const char* name, auto& field) {
    if (given.contains(name)) field = given[name].cast<std::string>();
  };
  text("type", o.type);
  text("missing", o.missing);
  text("new_levels", o.new_levels);
  text("delimiter", o.delimiter);
  text("decimal", o.decimal);
  text("comment", o.comment);
  text("na", o.na);
  if (given.contains("interval")) o.interval = given["interval"].cast<double>();
  if (given.contains("seed")) o.seed = given["seed"].cast<std::uint64_t>();
  if (given.contains("threads")) o.threads = given["threads"].cast<std::int64_t>();
  check(o);
  return o;
}

// All that there is one of per draw, for `draws` of them.
void shorten(ChainDraws& chain, std::size_t draws) {
  chain.log_posteriors.resize(draws, std::numeric_limits<double>::quiet_NaN());
  if (chain.statistics.size() > draws) chain.statistics.resize(draws);
}

}  // namespace

HeldFit::HeldFit(FitResult result) : result_(std::move(result)) {
  draws_per_chain_ = static_cast<std::size_t>(result_.summary.draws);
  const std::size_t numbers = draws_per_chain_ * dim();
  draws_.reserve(numbers * result_.chains.size());
  for (ChainDraws& chain : result_.chains) {
    draws_.insert(draws_.end(), chain.draws.begin(),
                  chain.draws.begin() + static_cast<std::ptrdiff_t>(numbers));
    HugeVector<double>().swap(chain.draws);
  }
  const std::size_t floats = draws_per_chain_ * effects();
  const bool kept =
      floats > 0 && std::all_of(result_.chains.begin(), result_.chains.end(),
                                [&](const ChainDraws& c) { return c.effects.size() >= floats; });
  if (kept) effects_.reserve(floats * result_.chains.size());
  for (ChainDraws& chain : result_.chains) {
    if (kept)
      effects_.insert(effects_.end(), chain.effects.begin(),
                      chain.effects.begin() + static_cast<std::ptrdiff_t>(floats));
    HugeVector<float>().swap(chain.effects);
  }
}

FitResult HeldFit::with_draws() const {
  FitResult out = result_;
  const std::size_t numbers = draws_per_chain_ * dim();
  for (std::size_t c = 0; c < out.chains.size(); ++c) {
    ChainDraws& chain = out.chains[c];
    const double* const first = draws_.data() + c * numbers;
    chain.dim = dim();
    chain.draws.assign(first, first + numbers);
    const std::size_t floats = draws_per_chain_ * effects();
    if (!effects_.empty())
      chain.effects.assign(effects_.data() + c * floats, effects_.data() + (c + 1) * floats);
    shorten(chain, draws_per_chain_);
  }
  return out;
}

void add_fits(py::module_& module) {
  py::class_<HeldFit> fit_class(module, "Fit");
  // The lock of Python is kept: other modules may use the same library of HDF5, which is not safe for
  // threads.
  fit_class.def("to_netcdf", [](const HeldFit& f, const std::string& file) {
    const FitResult whole = f.with_draws();
    write_netcdf(file, netcdf_input(whole.options, whole.summary, whole.chains, whole.effects));
  });
  // `call` is what makes the same draws in Python.
  fit_class.def("report", [](const HeldFit& f, const std::string& file, const std::string& call) {
    const py::gil_scoped_release release;
    const FitResult whole = f.with_draws();
    ReportInput input = report_input(whole, [](std::string_view message) { return in_python(message); });
    input.command = call;
    input.predict_command = "fit.predict(new)";
    write_file(file, html_report(input));
  });
  fit_class.def_property_readonly("names", [](const HeldFit& f) { return f.result().names; })
      .def_property_readonly("draws", &draws_view)
      .def_property_readonly("effects", &effects_view)
      .def("groups", &groups_of)
      .def_property_readonly("table",
                             [](const HeldFit& f) { return as_table(in_python(f.result().summary)); })
      .def_property_readonly("json", [](const HeldFit& f) { return as_json(in_python(f.result().summary)); })
      .def_property_readonly("options", [](const HeldFit& f) { return options_to_json(f.result().options); })
      .def_property_readonly("columns",
                             [](const HeldFit& f) {
                               py::dict out;
                               for (const UsedColumn& column : f.result().columns)
                                 out[py::str(column.name)] = column.text ? "text" : "number";
                               return out;
                             })
      .def_property_readonly("log_posteriors",
                             [](const HeldFit& f) {
                               std::vector<double> out;
                               for (const ChainDraws& chain : f.result().chains)
                                 out.insert(
                                     out.end(), chain.log_posteriors.begin(),
                                     chain.log_posteriors.begin() + static_cast<std::ptrdiff_t>(f.draws()));
                               return array_of(std::move(out));
                             })
      .def("save",
           [](const HeldFit& f, const std::string& directory) {
             const py::gil_scoped_release release;
             save_fit(f.with_draws(), directory);
           })
      .def("predict",
           [](const HeldFit& f, const py::object& data, const py::dict& given, const py::object& progress) {
             return predict_rows(f, data, predict_options(given), progress);
           });
  module.def("netcdf_names", &netcdf_names);
  module.def("fit", &fit_data);
  module.def("load", [](const std::string& directory) {
    const py::gil_scoped_release release;
    return std::make_unique<HeldFit>(read_fit(directory));
  });
}

}  // namespace mlo::python
