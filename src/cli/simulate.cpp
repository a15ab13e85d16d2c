// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/registry/simulate.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "cli/checks.hpp"
#include "cli/command.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/registry/options.hpp"

namespace mlo::cli {
namespace {

struct SimulateCommand {
  SimulateOptions options;
  std::string out;
};

void to_file(const SimulateCommand& command) {
  const std::string part = command.out + ".part";
  std::FILE* file = std::fopen(part.c_str(), "wb");
  bool good = file != nullptr;
  int error = errno;
  if (good) {
    simulate_csv(command.options, [&](std::string_view text) {
      if (good && std::fwrite(text.data(), 1, text.size(), file) != text.size()) {
        good = false;
        error = errno;
      }
    });
    if (std::fclose(file) != 0 && good) {
      good = false;
      error = errno;
    }
    if (good && std::rename(part.c_str(), command.out.c_str()) != 0) {
      good = false;
      error = errno;
    }
  }
  if (!good) {
    std::remove(part.c_str());
    throw DataError(command.out, "cannot be written: " + std::generic_category().message(error));
  }
}

}  // namespace

void add_simulate(CLI::App& app) {
  auto command = std::make_shared<SimulateCommand>();
  SimulateOptions& o = command->options;
  CLI::App* c = app.add_subcommand("simulate", "Write data with known parameters, as CSV");
  c->add_option("FAMILY", o.family, fmt::format("One of {}", family_names()))->required();
  c->add_option("--rows", o.rows, "Rows")->check(integer())->capture_default_str();
  c->add_option("--coefficients", o.coefficients,
                "Coefficients of the standard normal columns x1, x2, ...; mu for gaussian-mean, tau for "
                "gaussian-precision")
      ->delimiter(',')
      ->capture_default_str();
  c->add_option("--intercept", o.intercept, "Intercept")->capture_default_str();
  c->add_option("--correlation", o.correlation, "Correlation of neighbouring columns (AR(1))")
      ->capture_default_str();
  c->add_option("--sigma", o.sigma, "Standard deviation of gaussian responses, scale of student ones")
      ->capture_default_str();
  c->add_option("--freedom", o.freedom, "Degrees of freedom of student responses")->capture_default_str();
  c->add_option("--size", o.size, "Size of negative-binomial responses: variance mu + mu^2 / size")
      ->capture_default_str();
  c->add_option("--seed", o.seed, "Seed: same seed, same data")->check(whole_number())->capture_default_str();
  c->add_option("-o,--out", command->out, "File to write; default: standard output")->type_name("FILE");
  c->footer("Example:\n  mlo simulate logistic --rows 100000 --coefficients 1,0.5 --seed 7 --out data.csv");
  c->callback([command] {
    if (command->out.empty()) {
      simulate_csv(command->options, [](std::string_view text) { print(text); });
    } else {
      to_file(*command);
    }
  });
}

}  // namespace mlo::cli
