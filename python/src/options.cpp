// Copyright (c) the mlo authors. BSD-3-Clause.
#include "python/src/options.hpp"

#include <pybind11/stl.h>

#include "mlo/base/errors.hpp"
#include "mlo/method/methods.hpp"
#include "mlo/method/option_table.hpp"
#include "mlo/model/family.hpp"
#include "mlo/report/run_summary.hpp"
#include "python/src/errors.hpp"

namespace mlo::python {
namespace {

namespace py = pybind11;
using namespace py::literals;

const char* type_name(Option::Type type) {
  switch (type) {
    case Option::Type::text:
      return "text";
    case Option::Type::texts:
      return "texts";
    case Option::Type::integer:
    case Option::Type::natural:
      return "integer";
    case Option::Type::real:
      return "real";
    case Option::Type::flag:
      return "flag";
    case Option::Type::pairs:
      break;
  }
  return "pairs";
}

const char* group_name(Option::Group group) {
  switch (group) {
    case Option::Group::argument:
      return "argument";
    case Option::Group::model:
      return "model";
    case Option::Group::method:
      return "method";
    case Option::Group::run:
      break;
  }
  return "run";
}

py::list table() {
  py::list out;
  for (const Option& option : option_table()) {
    std::vector<std::string> words(option.rule.one_of.begin(), option.rule.one_of.end());
    out.append(py::dict("name"_a = option.name, "group"_a = group_name(option.group),
                        "type"_a = type_name(option.type()), "help"_a = in_python(option.help),
                        "usual"_a = option.usual, "words"_a = std::move(words), "prior"_a = option.rule.prior,
                        "of_method"_a = option.of_method));
  }
  return out;
}

py::list method_list() {
  py::list out;
  for (const MethodSpec& m : methods())
    out.append(py::dict("name"_a = std::string(m.name), "promise"_a = promise_name(m.promise),
                        "summary"_a = in_python(m.summary), "rows_per_step"_a = in_python(m.reads),
                        "needs"_a = in_python(needs_of(m)), "intervals"_a = in_python(m.trust),
                        "source"_a = std::string(m.source)));
  return out;
}

py::list family_list() {
  py::list out;
  for (const FamilySpec* family : families()) {
    py::list numbers;
    for (const FamilyNumber& n : family->simulation.numbers) numbers.append(std::string(n.name));
    out.append(py::dict("name"_a = std::string(family->name), "response"_a = in_python(family->response),
                        "parameters"_a = in_python(family->parameters),
                        "columns"_a = family->simulation.columns, "simulation"_a = numbers));
  }
  return out;
}

}  // namespace

void set_options(FitOptions& options, const Given& given) {
  for (const auto& [name, value] : given) {
    const Option* const option = find_option(name);
    // A name may have any blanks and brackets, which text could not tell from those of the prior.
    if (option != nullptr && option->type() == Option::Type::pairs) {
      const std::size_t end = value.find('\0');
      auto& pairs = option->rule.prior ? options.prior_for : options.types;
      pairs.emplace_back(value.substr(0, end), end == std::string::npos ? "" : value.substr(end + 1));
      continue;
    }
    set_option(options, name, value);
  }
}

void add_options(py::module_& module) {
  module.def("option_table", &table);
  module.def("methods", &method_list);
  module.def("families", &family_list);
}

}  // namespace mlo::python
