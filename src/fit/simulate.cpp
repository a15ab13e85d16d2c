// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/fit/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "mlo/base/errors.hpp"
#include "mlo/base/random.hpp"
#include "mlo/model/family.hpp"

namespace mlo {
namespace {

const Simulation& simulation_of(const std::string& family) {
  const FamilySpec* const spec = find_family(family);
  if (spec == nullptr)
    throw UsageError(fmt::format("the family must be one of {} (got \"{}\")", family_names(), family));
  return spec->simulation;
}

// The numbers that are stated, and the usual values of the others.
FamilyNumbers numbers_of(const SimulateOptions& o, const Simulation& simulation) {
  FamilyNumbers out;
  for (const FamilyNumber& n : simulation.numbers) out[std::string(n.name)] = n.usual.value();
  for (const auto& [name, value] : o.numbers) {
    const auto at = out.find(name);
    if (at == out.end())
      throw UsageError(fmt::format("`{}` has no meaning with the family {}", name, o.family));
    if (!(value > 0 && std::isfinite(value)))
      throw UsageError(fmt::format("`{}` must be positive{} (got {})", name,
                                   std::isinf(value) ? " and finite" : "", value));
    at->second = value;
  }
  return out;
}

class Simulator {
 public:
  explicit Simulator(const SimulateOptions& options)
      : o_(options), simulation_(simulation_of(options.family)) {
    for (const double b : o_.coefficients)
      if (!std::isfinite(b))
        throw UsageError(fmt::format("`coefficients` must be finite numbers (got {})", b));
    if (!std::isfinite(o_.intercept))
      throw UsageError(fmt::format("`intercept` must be a finite number (got {})", o_.intercept));
    if (o_.rows < 1) throw UsageError(fmt::format("`rows` must be at least 1 (got {})", o_.rows));
    if (o_.coefficients.empty()) throw UsageError("`coefficients` needs at least one number");
    if (!(std::abs(o_.correlation) < 1))
      throw UsageError(
          fmt::format("`correlation` must be between -1 and 1, exclusive (got {})", o_.correlation));
    response_ = simulation_.response(numbers_of(o_, simulation_));
    if (!simulation_.columns && o_.coefficients.size() != 1)
      throw UsageError(
          fmt::format("`coefficients`: {} has one parameter (got {})", o_.family, o_.coefficients.size()));
    if (simulation_.positive && !(o_.coefficients[0] > 0))
      throw UsageError(fmt::format("`coefficients`: {} must be positive (got {})", simulation_.parameter,
                                   o_.coefficients[0]));
    names_.emplace_back("y");
    for (std::size_t j = 0; simulation_.columns && j < o_.coefficients.size(); ++j)
      names_.push_back(fmt::format("x{}", j + 1));
  }

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  // out: y, x1, ..., xp
  void row(std::size_t i, std::vector<double>& out) const {
    Stream stream({.seed = o_.seed, .chain = 0, .purpose = Purpose::simulate, .iteration = i});
    out.resize(names_.size());
    double eta = simulation_.columns ? o_.intercept : o_.coefficients[0];
    const double fresh = std::sqrt(1 - o_.correlation * o_.correlation);
    for (std::size_t j = 1; j < out.size(); ++j) {
      const double z = normal(stream);
      out[j] = j == 1 ? z : o_.correlation * out[j - 1] + fresh * z;
      eta += o_.coefficients[j - 1] * out[j];
    }
    out[0] = response_(stream, eta);
  }

 private:
  SimulateOptions o_;
  const Simulation& simulation_;
  std::function<double(Stream&, double eta)> response_;
  std::vector<std::string> names_;
};

}  // namespace

Table simulate(const SimulateOptions& options) {
  const Simulator simulator(options);
  Table table;
  table.source.name = "simulated data";
  table.rows = static_cast<std::size_t>(options.rows);
  for (const std::string& name : simulator.names()) {
    table.columns.push_back({name, std::vector<double>(table.rows)});
  }
  std::vector<double> row;
  for (std::size_t i = 0; i < table.rows; ++i) {
    simulator.row(i, row);
    for (std::size_t j = 0; j < row.size(); ++j) table.columns[j].numbers()[i] = row[j];
  }
  return table;
}

void simulate_csv(const SimulateOptions& options, const std::function<void(std::string_view)>& write) {
  const Simulator simulator(options);
  std::string text = fmt::format("{}\n", fmt::join(simulator.names(), ","));
  std::vector<double> row;
  constexpr std::size_t piece = 1 << 20;
  for (std::size_t i = 0; i < static_cast<std::size_t>(options.rows); ++i) {
    simulator.row(i, row);
    for (std::size_t j = 0; j < row.size(); ++j)
      fmt::format_to(std::back_inserter(text), "{}{}", j == 0 ? "" : ",", row[j]);
    text += '\n';
    if (text.size() > piece) {
      write(text);
      text.clear();
    }
  }
  write(text);
}

}  // namespace mlo
