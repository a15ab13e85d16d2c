// Copyright (c) the mlo authors. BSD-3-Clause.
#include "python/src/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "mlo/base/errors.hpp"
#include "mlo/method/option_table.hpp"

namespace mlo::python {
namespace {

namespace py = pybind11;

// Arguments of functions that are not in the table of options.
constexpr std::array<std::string_view, 9> other_arguments{"methods",      "seconds",   "reference-draws",
                                                          "coefficients", "intercept", "correlation",
                                                          "rows",         "interval",  "new-levels"};

std::string identifier(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

std::string literal(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

// The value of an option as Python writes it; "" if the option cannot have it. A column called `order date`
// is not the option `order`.
std::string value_words(const Option& option, const std::string& value) {
  FitOptions options;
  try {
    set_option(options, option.name, value);
    check_values(options);
  } catch (const UsageError&) {
    // A parameter without its prior.
    return option.type() == Option::Type::pairs && option.rule.prior
               ? fmt::format("{{{}: ...}}", literal(value))
               : "";
  }
  switch (option.type()) {
    case Option::Type::integer:
    case Option::Type::natural:
    case Option::Type::real:
      return value;
    case Option::Type::flag:
      return value == "true" ? "True" : "False";
    case Option::Type::pairs: {
      const auto& [name, what] = option.rule.prior ? options.prior_for.front() : options.types.front();
      return fmt::format("{{{}: {}}}", literal(name), literal(what));
    }
    case Option::Type::text:
    case Option::Type::texts:
      break;
  }
  return literal(value);
}

std::string spelling(std::string_view name, std::string_view value) {
  if (name == "summary" && std::filesystem::exists(std::string(value) + "/run.json"))
    return fmt::format("mlo.load({})", literal(value));
  // Of predict(); the option of that name is about columns.
  const bool predicted = name == "type" && (value == "link" || value == "response" || value == "draw");
  const bool other = std::find(other_arguments.begin(), other_arguments.end(), name) != other_arguments.end();
  if (predicted || (other && !value.empty() && (name == "methods" || name == "new-levels")))
    return fmt::format("{}={}", identifier(name), literal(value));
  const Option* const option = find_option(name);
  if (value.empty()) {
    if (option == nullptr && !other) return {};
    return option != nullptr && option->type() == Option::Type::flag ? identifier(name) + "=True"
                                                                     : identifier(name);
  }
  if (option == nullptr || option->group == Option::Group::argument) return {};
  const std::string words = value_words(*option, std::string(value));
  return words.empty() ? words : fmt::format("{}={}", identifier(name), words);
}

void raise(const char* kind, const Error& error, const std::string& place) {
  try {
    const py::object make = py::module_::import("mlo._errors").attr("make");
    const py::object exception = make(kind, py::str(in_python(error.what())), py::str(in_python(place)));
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  } catch (py::error_already_set& failed) {
    failed.restore();
  }
}

}  // namespace

std::string in_python(std::string_view message) {
  std::string out = spelled(message, spelling);
  const auto replace = [&](std::string_view from, std::string_view to) {
    for (std::size_t at = out.find(from); at != std::string::npos; at = out.find(from, at + to.size()))
      out.replace(at, from.size(), to);
  };
  replace("See mlo methods", "See mlo.methods()");
  // A run is continued by a function: resume=True and out="run" is mlo.resume("run").
  constexpr std::string_view options = "resume=True and out=\"", call = "mlo.resume(\"";
  for (std::size_t at = out.find(options); at != std::string::npos; at = out.find(options, at)) {
    std::size_t end = at + options.size();
    while (end < out.size() && out[end] != '"') end += out[end] == '\\' ? 2 : 1;
    if (end >= out.size()) break;
    out.insert(end + 1, ")");
    out.replace(at, options.size(), call);
  }
  return out;
}

RunSummary in_python(RunSummary summary) {
  for (std::string& note : summary.notes)
    if (!note.starts_with("priors: ")) note = in_python(note);
  for (std::string& warning : summary.warnings) warning = in_python(warning);
  summary.noise.words = in_python(summary.noise.words);
  return summary;
}

Comparison in_python(Comparison comparison) {
  for (MethodResult& method : comparison.methods) method.failure = in_python(method.failure);
  return comparison;
}

void add_errors(py::module_& module) {
  // By value, as pybind11 has it. NOLINTNEXTLINE(performance-unnecessary-value-param)
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Interrupted& e) {
      PyErr_SetString(PyExc_KeyboardInterrupt, in_python(e.what()).c_str());
    } catch (const UsageError& e) {
      raise("UsageError", e, "");
    } catch (const DataError& e) {
      raise("DataError", e, e.place());
    } catch (const ModelError& e) {
      raise("ModelError", e, "");
    } catch (const Error& e) {
      raise("Error", e, "");
    }
  });
  module.def("in_python", [](const std::string& message) { return in_python(message); });
}

}  // namespace mlo::python
