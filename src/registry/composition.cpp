// Copyright (c) the mlo authors. BSD-3-Clause.
#include "registry/composition.hpp"

#include <algorithm>
#include <array>

namespace mlo {
namespace {

struct Entry {
  std::string_view method;
  Rule rule;
  std::string_view estimator, weights;
  bool replacement;
};

constexpr std::array<Entry, 8> table{{
    {"difference", Rule::penalty, "control-variates", "remainder", true},
    {"uniform", Rule::fixed, "plain", "uniform", false},
    {"mlo", Rule::fixed, "plain", "mlo", true},
    {"mlo-adaptive", Rule::adaptive, "plain", "mlo", true},
    {"austerity", Rule::austerity, "plain", "uniform", false},
    {"confidence", Rule::confidence, "plain", "uniform", false},
    {"barker", Rule::barker, "plain", "uniform", false},
    {"penalty", Rule::penalty, "plain", "mlo", true},
}};

}  // namespace

std::optional<Composition> composition(const FitOptions& options, std::string_view method) {
  const auto* const entry =
      std::find_if(table.begin(), table.end(), [&](const Entry& e) { return e.method == method; });
  if (entry == table.end()) return {};
  Composition out{entry->rule, options.estimator.value_or(std::string(entry->estimator)),
                  options.weights.value_or(std::string(entry->weights)), entry->replacement};
  // Rows drawn with unequal probabilities are drawn with replacement, or the estimate is biased.
  if (out.weights != "uniform") out.replacement = true;
  if (options.replacement) out.replacement = *options.replacement == "yes";
  return out;
}

std::string proposal_of(const FitOptions& options, std::string_view method) {
  const std::optional<Composition> parts = composition(options, method);
  return options.proposal.value_or(parts && parts->estimator == "plain" ? "random-walk" : "laplace");
}

bool is_sharded(std::string_view method) { return method == "consensus" || method == "weierstrass"; }

}  // namespace mlo
