// Copyright (c) the mlo authors. BSD-3-Clause.
// The list of families, and what all of them share.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "mlo/base/errors.hpp"
#include "mlo/base/names.hpp"
#include "mlo/model/any_model.hpp"
#include "mlo/model/family.hpp"
#include "mlo/model/glm.hpp"
#include "mlo/model/layout.hpp"
#include "model/family_parts.hpp"

namespace mlo {

// One per file, src/model/family_NAME.cpp. A new family is its file and its place in these two lists.
extern const FamilySpec gaussian_family, gaussian_mean_family, gaussian_precision_family, student_family,
    logistic_family, probit_family, beta_binomial_family, poisson_family, negative_binomial_family,
    zero_inflated_poisson_family, gamma_family, softmax_family;

std::span<const FamilySpec* const> families() {
  static const std::array list{&gaussian_family,
                               &gaussian_mean_family,
                               &gaussian_precision_family,
                               &student_family,
                               &logistic_family,
                               &probit_family,
                               &beta_binomial_family,
                               &poisson_family,
                               &negative_binomial_family,
                               &zero_inflated_poisson_family,
                               &gamma_family,
                               &softmax_family};
  return list;
}

const FamilySpec* find_family(std::string_view name) {
  const auto all = families();
  const auto at = std::find_if(all.begin(), all.end(), [&](const FamilySpec* f) {
    return f->name == name || std::find(f->aliases.begin(), f->aliases.end(), name) != f->aliases.end();
  });
  return at == all.end() ? nullptr : *at;
}

std::string family_names() {
  std::string out;
  for (const FamilySpec* f : families()) out += fmt::format("{}{}", out.empty() ? "" : ", ", f->name);
  return out;
}

void refuse_family(std::string_view what, std::string_view name) {
  std::vector<std::string> known;
  for (const FamilySpec* f : families()) {
    known.emplace_back(f->name);
    known.insert(known.end(), f->aliases.begin(), f->aliases.end());
  }
  throw UsageError(fmt::format("{} must be one of {} (got \"{}\"){}", what, family_names(), name,
                               did_you_mean(name, known)));
}

void check_numbers(const FamilySpec& spec, const FamilyNumbers& numbers) {
  for (const auto& [name, value] : numbers) {
    const auto at = std::find_if(spec.numbers.begin(), spec.numbers.end(),
                                 [&, &its = name](const FamilyNumber& n) { return n.name == its; });
    if (at == spec.numbers.end())
      throw UsageError(fmt::format("`{}` has no meaning with `family {}`", name, spec.name));
    if (!std::isfinite(value) || (at->positive && !(value > 0)) || (at->share && !(value < 1)))
      throw UsageError(fmt::format("`{}` must be {} (got {})", name,
                                   at->share           ? "between 0 and 1, exclusive"
                                   : !at->positive     ? "a finite number"
                                   : std::isinf(value) ? "positive and finite"
                                                       : "positive",
                                   value));
  }
}

bool estimates_second(const FamilySpec& spec, const FamilyNumbers& numbers) {
  if (!spec.second) return false;
  const auto by = std::find_if(spec.numbers.begin(), spec.numbers.end(),
                               [&](const FamilyNumber& n) { return n.name == spec.second->known_by; });
  return by == spec.numbers.end() || (!by->usual && !numbers.contains(by->name));
}

namespace {

// The numbers that are stated, and the usual values of the others.
FamilyNumbers completed(const FamilySpec& spec, FamilyNumbers numbers) {
  for (const FamilyNumber& n : spec.numbers)
    if (n.usual) numbers.try_emplace(std::string(n.name), *n.usual);
  return numbers;
}

}  // namespace

std::shared_ptr<const Family> make_family(std::string_view name, const FamilyNumbers& numbers) {
  const FamilySpec* spec = find_family(name);
  if (spec == nullptr) refuse_family("`family`", name);
  if (spec->make == nullptr)
    throw UsageError(fmt::format("`family {}` is a model of its own: make_model() makes it", name));
  check_numbers(*spec, numbers);
  return spec->make(completed(*spec, numbers));
}

std::unique_ptr<AnyModel> make_model(const FamilySpec& spec, Design design, const FamilyNumbers& numbers,
                                     const PriorOptions& priors, std::vector<std::string>& notes) {
  check_numbers(spec, numbers);
  const FamilyNumbers all = completed(spec, numbers);
  if (spec.make_model != nullptr) return spec.make_model(std::move(design), all, priors, notes);
  if (!spec.only_mean.empty() && design.dim == 1 && design.intercept) design.names[0] = spec.only_mean;
  std::shared_ptr<const Family> family = spec.make(all);
  Layout layout = glm_layout(design, *family, usual_priors(design, *family));
  layout.set_priors(priors);
  notes.push_back("priors: " + layout.prior_words());
  if (std::string words = family->words(); !words.empty()) notes.push_back(std::move(words));
  return std::make_unique<ModelOf<Glm>>(Glm(std::move(design), std::move(family), std::move(layout)));
}

// ---- second parameters, and what families inherit

double SecondParameter::to_working(double value) const noexcept {
  return share ? std::log(value) - std::log1p(-value) : std::log(value);
}

double SecondParameter::to_user(double working) const noexcept {
  return share ? 1 / (1 + std::exp(-working)) : std::exp(working);
}

Family::Family(const FamilySpec& spec, std::optional<double> known)
    : spec_(&spec),
      estimated_(spec.second.has_value() && !known),
      known_(known.value_or(1)),
      log_known_(spec.second ? spec.second->to_working(known_) : std::log(known_)) {}

std::string Family::words() const {
  return spec_->second && !estimated_ ? fmt::format("known {} {}", spec_->second->name, known_) : "";
}

void Family::differences(const Batch& from, const Batch& to, std::span<double> out) const noexcept {
  std::array<double, batch_rows> from_terms;
  terms(to, out);
  terms(from, std::span(from_terms).first(out.size()));
  for (std::size_t k = 0; k < out.size(); ++k) out[k] -= from_terms[k];
}

bool Family::recedes(std::span<const double> /*y*/, std::span<const double> /*t*/,
                     double /*tolerance*/) const noexcept {
  return false;
}

std::string Family::degenerate(const Design& /*design*/, double /*log_second*/, double /*slope*/) const {
  return {};
}

double Family::second(const Batch& batch) const noexcept {
  return estimated_ ? spec_->second->to_user(batch.log_second) : known_;
}

double Family::inverse_second(const Batch& batch) const noexcept {
  return estimated_ ? std::exp(-batch.log_second) : 1 / known_;
}

}  // namespace mlo
