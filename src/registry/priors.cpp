// Copyright (c) the mlo authors. BSD-3-Clause.
#include "registry/priors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mlo/base/errors.hpp"

namespace mlo {
namespace {

struct ResponseScale {
  double centre = 0, sd = 1;
};

// Only a response that is measured has a scale of its own; the others live on a link scale where 1 is 1.
ResponseScale response_scale(const FitOptions& options, const Design& design) {
  if (options.family == "student") {  // one that outliers do not move
    std::vector<double> y(design.rows);
    for (std::size_t i = 0; i < design.rows; ++i) y[i] = design.y(i);
    const RobustSpread spread = robust_spread(std::move(y));
    return {spread.centre, spread.scale > 0 ? spread.scale : 1};
  }
  if (options.family != "gaussian" && options.family != "gaussian-mean") return {};
  const double n = static_cast<double>(design.rows);
  double mean = 0, squares = 0;
  for (std::size_t i = 0; i < design.rows; ++i) mean += design.y(i) / n;
  for (std::size_t i = 0; i < design.rows; ++i) squares += (design.y(i) - mean) * (design.y(i) - mean);
  const double sd = std::sqrt(squares / std::max(1.0, n - 1));
  return {mean, sd > 0 ? sd : 1};
}

// A coefficient can have either sign.
Prior parse_for_coefficient(const std::string& text, const std::string& option) {
  const Prior prior = Prior::parse(text, option);
  if (prior.kind() == Prior::Kind::gamma)
    throw UsageError(fmt::format(
        "{} \"{}\": a gamma prior is for sigma, size and tau; a coefficient can be negative", option, text));
  return prior;
}

[[noreturn]] void refuse_name(const std::string& name, const std::vector<std::string>& names) {
  throw UsageError(
      fmt::format("--prior-for {}: no such parameter; there are {}", name, fmt::join(names, ", ")));
}

// The family's parameter beside the coefficients, if there is one that is not known.
std::string_view aux_name(const FitOptions& options) {
  if (options.family == "gaussian") return Gaussian::aux_name;
  if (options.family == "student" && !options.known_sigma) return Student::aux_name;
  if (options.family == "negative-binomial" && !options.size) return NegativeBinomial::aux_name;
  return {};
}

}  // namespace

GlmPriors glm_priors(const FitOptions& options, const Design& design, std::vector<std::string>& notes) {
  GlmPriors priors;
  const ResponseScale y = response_scale(options, design);
  const std::string aux(aux_name(options));
  const bool only_mean = options.family == "gaussian-mean" && design.dim == 1 && design.intercept;
  std::vector<std::string> names = design.names;
  if (!aux.empty()) names.push_back(aux);

  for (std::size_t j = 0; j < design.dim; ++j)
    // Column scales are never 0: a constant column beside an intercept was refused, and without one it has a
    // size.
    priors.coefficients.push_back(
        Prior::normal(0, 2.5 * y.sd / (design.sd[j] > 0 ? design.sd[j] : design.scale[j])));
  if (design.intercept) {
    priors.coefficients[0] = Prior::normal(y.centre, 10 * y.sd);
    priors.intercept_at_means = true;
  }
  if (aux == "sigma") priors.aux = Prior::gamma(1, 1 / y.sd);
  // Proper, as it must be; little mass near 0 and enough at sizes that are as good as infinite.
  if (aux == "size") priors.aux = Prior::gamma(2, 0.1);

  const std::size_t first = design.intercept ? 1 : 0;
  if (options.prior && only_mean) {
    priors.coefficients[0] = parse_for_coefficient(*options.prior, "--prior");
    priors.intercept_at_means = false;
  } else if (options.prior) {
    if (first == design.dim)
      throw UsageError(
          "--prior is for the coefficients of columns, and the formula has none; use --prior-intercept");
    const Prior prior = parse_for_coefficient(*options.prior, "--prior");
    std::fill(priors.coefficients.begin() + static_cast<std::ptrdiff_t>(first), priors.coefficients.end(),
              prior);
  }
  const auto set_intercept = [&](const std::string& text, const std::string& option) {
    priors.coefficients[0] = parse_for_coefficient(text, option);
    priors.intercept_at_means = false;
  };
  if (options.prior_intercept) {
    if (!design.intercept) throw UsageError("--prior-intercept: the formula has no intercept");
    set_intercept(*options.prior_intercept, "--prior-intercept");
  }
  for (const auto& [name, text] : options.prior_for) {
    const std::string option = "--prior-for " + name;
    const auto at = static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    if (at == names.size()) refuse_name(name, names);
    if (at == design.dim) {
      priors.aux = Prior::parse(text, option);
    } else if (design.intercept && at == 0) {
      set_intercept(text, option);
    } else {
      priors.coefficients[at] = parse_for_coefficient(text, option);
    }
  }

  std::string used;
  for (std::size_t j = 0; j < design.dim; ++j)
    used +=
        fmt::format("{}{} ~ {}{}", j == 0 ? "" : "; ", names[j], priors.coefficients[j].text(),
                    j == 0 && priors.intercept_at_means && design.dim > 1 ? " at the columns' means" : "");
  if (!aux.empty()) used += fmt::format("; {} ~ {}", aux, priors.aux.text());
  notes.push_back("priors: " + used);
  return priors;
}

Prior precision_prior(const FitOptions& options, std::vector<std::string>& notes) {
  if (options.prior_intercept)
    throw UsageError(
        "--prior-intercept has no meaning with --family gaussian-precision, whose parameter is tau");
  Prior prior = Prior::gamma(0.01, 0.01);  // the paper's
  if (options.prior) prior = Prior::parse(*options.prior, "--prior");
  for (const auto& [name, text] : options.prior_for) {
    if (name != "tau") refuse_name(name, {"tau"});
    prior = Prior::parse(text, "--prior-for tau");
  }
  notes.push_back("prior: tau ~ " + prior.text());
  return prior;
}

}  // namespace mlo
