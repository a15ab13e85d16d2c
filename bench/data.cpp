// Copyright (c) the mlo authors. BSD-3-Clause.
#include "data.hpp"

#include <cmath>
#include <functional>

#include "mlo/base/random.hpp"
#include "mlo/data/csv.hpp"
#include "mlo/data/formula.hpp"
#include "mlo/data/table.hpp"

namespace mlo::bench {
namespace {

Glm model_of(Design design, double prior_sd, const std::string& family = "logistic") {
  GlmPriors priors;
  priors.coefficients.assign(design.dim, Prior::normal(0, prior_sd));
  priors.second = Prior::gamma(1, 1);  // not read where there is no second parameter
  return {std::move(design), make_family(family), std::move(priors)};
}

Glm simulated(const Recipe& recipe, const std::string& family,
              const std::function<double(Stream&, double eta)>& response) {
  Table table;
  table.source.name = "bench";
  table.rows = recipe.rows;
  std::vector<std::string> header;
  for (std::size_t j = 0; j <= recipe.columns.size(); ++j) {
    header.push_back(j == 0 ? "y" : "x" + std::to_string(j));
    table.columns.push_back({header.back(), std::vector<double>(recipe.rows)});
  }
  for (std::size_t i = 0; i < recipe.rows; ++i) {
    Stream stream({.seed = 7, .chain = 0, .purpose = Purpose::simulate, .iteration = i});
    double eta = recipe.intercept.value_or(0), last = 0;
    for (std::size_t j = 0; j < recipe.columns.size(); ++j) {
      const double z = normal(stream), rho = j == 0 ? 0 : recipe.correlation;
      last = rho * last + std::sqrt(1 - rho * rho) * z;
      table.columns[j + 1].numbers()[i] = last;
      eta += recipe.columns[j] * last;
    }
    table.columns[0].numbers()[i] = response(stream, eta);
  }
  const char* formula = recipe.intercept ? "y ~ ." : "y ~ . - 1";
  Design design = build_design(parse_formula(formula, header), std::move(table), {});
  design.counted = find_family(family)->counted;  // they are simulated as outcomes
  return model_of(std::move(design), recipe.prior_sd, family);
}

}  // namespace

Glm logistic(const Recipe& recipe) {
  return simulated(recipe, "logistic", [](Stream& stream, double eta) {
    return uniform(stream) < 1 / (1 + std::exp(-eta)) ? 1.0 : 0.0;
  });
}

Glm of_family(const std::string& family, const Recipe& recipe) {
  const Simulation& simulation = find_family(family)->simulation;
  FamilyNumbers numbers;
  for (const FamilyNumber& number : simulation.numbers)
    numbers[std::string(number.name)] = number.usual.value_or(1);
  return simulated(recipe, family, simulation.response(numbers));
}

Recipe d2(std::size_t rows) {
  return {.rows = rows,
          .columns = {-0.5, -0.07, 0.1, 0.26, -0.05, 0.13, 0.57, 0.02, 0.55, 0.29},
          .intercept = -2.3,
          .correlation = 0.5,
          .prior_sd = std::sqrt(10.0)};
}

Glm covertype(const std::string& file) {
  CsvReader reader(file);
  const Formula formula = parse_formula(
      "(Cover_Type == 2) ~ Elevation + Aspect + Slope + Horizontal_Distance_To_Hydrology + "
      "Vertical_Distance_To_Hydrology + Horizontal_Distance_To_Roadways + Hillshade_9am + Hillshade_Noon + "
      "Hillshade_3pm + Horizontal_Distance_To_Fire_Points",
      reader.header());
  return model_of(build_design(formula, reader.read(formula.columns()), {.scale = Scale::sd}), 10);
}

Glm flights(const std::string& file) {
  CsvReader reader(file);
  const Formula formula = parse_formula("(delay > 15) ~ hour + month + distance", reader.header());
  return model_of(build_design(formula, reader.read(formula.columns()), {.scale = Scale::sd}), 10);
}

}  // namespace mlo::bench
