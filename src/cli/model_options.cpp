// Copyright (c) the mlo authors. BSD-3-Clause.
#include "cli/model_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

namespace mlo::cli {

void add_data_arguments(CLI::App& c, FitOptions& o) {
  c.add_option("DATA", o.data, "CSV file with a header line; plain or gzip");
  c.add_option("FORMULA", o.formula,
               "R's formula, e.g. \"y ~ x1 + log(x2)\" or \"I(delay > 15) ~ distance\"");
}

void add_model_options(CLI::App& c, FitOptions& o) {
  c.add_option("--family", o.family, fmt::format("Family of the response: {}", family_names()))
      ->capture_default_str()
      ->group("Model");
  c.add_option(
       "--prior", o.prior,
       "Prior of the coefficients: normal(m,s), student_t(df,m,s), cauchy(m,s), laplace(m,s), flat. "
       "Default: normal(0, 2.5 s / sd of the column), s the response's sd for gaussian, gaussian-mean and "
       "student (a robust one), else 1")
      ->group("Model");
  c.add_option(
       "--prior-intercept", o.prior_intercept,
       "Prior of the intercept. Default: normal(m, 10 s) at the columns' means, m the response's mean for "
       "gaussian and gaussian-mean, its median for student, else 0")
      ->group("Model");
  c.add_option(
       "--prior-for", o.prior_for,
       "NAME PRIOR: prior of one parameter; may be repeated. sigma, size and tau also take gamma(shape,rate)")
      ->type_name("NAME PRIOR")
      ->group("Model");
  c.add_option("--known-sigma", o.known_sigma,
               "The known sigma of --family gaussian-mean (default 1) or student (default: estimated)")
      ->group("Model");
  c.add_option("--known-mean", o.known_mean, "The known mean of --family gaussian-precision (default 0)")
      ->group("Model");
  c.add_option("--freedom", o.freedom, "The degrees of freedom of --family student (default 4)")
      ->group("Model");
  c.add_option("--size", o.size,
               "The known size of --family negative-binomial: variance mu + mu^2 / size (default: estimated)")
      ->group("Model");
  c.add_option("--scale", o.scale,
               "Scale of the columns: none, sd (divided by their sd), standard (centred and divided). "
               "Coefficients and priors refer to the scaled columns")
      ->capture_default_str()
      ->group("Model");
  c.add_option("--missing", o.missing, "Rows with missing cells: drop or error")
      ->capture_default_str()
      ->group("Model");
}

}  // namespace mlo::cli
