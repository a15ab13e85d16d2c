// Copyright (c) the mlo authors. BSD-3-Clause.
// Group effects of formulas, as lme4 and brms write them: (effects | grouping).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/formula_syntax.hpp"

namespace mlo::syntax {
namespace {

using Kind = Expression::Kind;

// The parts of a grouping are joined by ':' and '/'; other signs mean nothing there, or something else than
// their writer thinks.
void check_grouping(std::string_view formula, const Expression& given) {
  const Expression& e = without_groups(given);
  if (e.kind == Kind::number)
    fail(formula, e.position, fmt::format("{} is not a grouping; write (1 | g) with a column g", deparse(e)));
  if (e.kind == Kind::unary && e.name == "-")
    fail(formula, e.position, fmt::format("'-' joins no groupings; write I({}) for arithmetic", deparse(e)));
  if (e.kind != Kind::binary) return;
  if (e.name == "+")
    fail(formula, e.position,
         fmt::format("'+' joins no groupings; write (... | {}) + (... | {}), or I({}) for arithmetic",
                     deparse(e.arguments[0]), deparse(e.arguments[1]), deparse(e)));
  if (e.name == "-" || e.name == "*" || e.name == "^")
    fail(formula, e.position,
         fmt::format("'{}' joins no groupings; write a:b or a/b, or I({}) for arithmetic", e.name,
                     deparse(e)));
  if (e.name != ":" && e.name != "/") return;
  for (const Expression& part : e.arguments) check_grouping(formula, part);
}

// What a product is made of, in any order: a:b and b:a are the same.
std::vector<std::string> sorted_parts(const Term& term) {
  std::vector<std::string> parts;
  for (const Expression& factor : term.factors) parts.push_back(deparse(factor));
  std::sort(parts.begin(), parts.end());
  return parts;
}

bool same(const Term& a, const Term& b) { return sorted_parts(a) == sorted_parts(b); }

}  // namespace

void TermReader::read_group(const Expression& e) {
  if (inside_group_) fail(formula_, e.position, "a group effect cannot stand in another");
  if (products_ > 0) fail(formula_, e.position, "a group effect cannot be a part of an interaction");
  if (negative_) fail(formula_, e.position, "a group effect cannot be subtracted; leave it out");
  if (const Expression& left = e.arguments[0];
      left.kind == Kind::binary && (left.name == "|" || left.name == "||"))
    fail(formula_, e.position,
         fmt::format(
             "a group effect has one '|'; an identifier between two of them joins several formulas, and "
             "here is one: write ({} | {})",
             deparse(left.arguments[0]), deparse(e.arguments[1])));
  // Each side has an order of variables of its own: in y ~ b + (1 | a:b) the groups are a:b, not b:a.
  TermReader effects(formula_, check_, {}), grouping(formula_, check_, {});
  effects.inside_group_ = grouping.inside_group_ = true;
  Formula varying;
  effects.read(e.arguments[0], varying);
  if (varying.terms.empty())
    fail(formula_, e.position, "nothing varies by group; write (1 | g), or (0 + x | g)");
  check_grouping(formula_, e.arguments[1]);
  for (const Key& key : grouping.read(e.arguments[1]).keys) {
    GroupTerm made{.effects = varying.terms, .grouping = {}, .correlated = e.name == "|"};
    for (const std::size_t variable : key) made.grouping.factors.push_back(grouping.variables_[variable]);
    add_group(std::move(made), e.position);
  }
}

void TermReader::add_group(GroupTerm group, std::size_t position) {
  for (const GroupTerm& other : groups_) {
    if (!same(other.grouping, group.grouping)) continue;
    for (const Term& effect : group.effects)
      for (const Term& known : other.effects) {
        if (!same(effect, known)) continue;
        const std::string groups = group.grouping.name();
        fail(formula_, position,
             effect.factors.empty()
                 ? fmt::format("the intercept varies by {0} twice; (x | {0}) includes it, and (0 + x | {0}) "
                               "does not",
                               groups)
                 : fmt::format("{} varies by {} twice; one term says all", effect.name(), groups));
      }
  }
  groups_.push_back(std::move(group));
}

}  // namespace mlo::syntax
