// Copyright (c) the mlo authors. BSD-3-Clause.
// From a formula's text to its response, terms and offsets, checked against the columns of the file.
#include "mlo/data/formula.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/formula_syntax.hpp"
#include "mlo/base/errors.hpp"

namespace mlo {
namespace syntax {

const Expression& without_groups(const Expression& expression) {
  const Expression* inside = &expression;
  while (inside->kind == Expression::Kind::group) inside = &inside->arguments[0];
  return *inside;
}

ArithmeticCheck::ArithmeticCheck(std::string_view formula, std::span<const std::string> columns)
    : formula_(formula), columns_(columns), known_(columns.begin(), columns.end()) {}

void ArithmeticCheck::operator()(const Expression& expression) const {
  visit(expression);
  bool uses_column = false;
  for_each_name(expression, [&](const Expression&) { uses_column = true; });
  if (!uses_column) {
    fail(formula_, expression.position, fmt::format("{} uses no column of the data", deparse(expression)));
  }
}

void ArithmeticCheck::visit(const Expression& e) const {
  switch (e.kind) {
    case Expression::Kind::name:
      if (!known_.contains(e.name)) throw UsageError("formula: " + unknown_column(e.name, columns_));
      break;
    case Expression::Kind::dot:
      fail(formula_, e.position, "'.' stands for terms; it has no value");
    case Expression::Kind::call:
      if (e.name == "offset") fail(formula_, e.position, "offset() must stand alone on the right of '~'");
      if (e.name == "cbind")
        fail(formula_, e.position, "cbind(successes, failures) must stand alone on the left of '~'");
      break;
    case Expression::Kind::binary:
      if (e.name == ":") fail(formula_, e.position, "':' is not arithmetic; write '*'");
      if (e.name == "||") fail(formula_, e.position, "write '|' instead of '||'");
      if (e.name.front() == '%' && e.name != "%in%" && e.name != "%%" && e.name != "%/%")
        fail(formula_, e.position, fmt::format("'{}' is not supported", e.name));
      break;
    default:
      break;
  }
  for (const Expression& argument : e.arguments) visit(argument);
}

}  // namespace syntax

namespace {

using syntax::Token;

bool is_tilde(const Token& token) { return token.kind == Token::Kind::symbol && token.text == "~"; }

void collect_offset_names(const Expression& e, std::set<std::string>& names) {
  if (e.kind == Expression::Kind::call && e.name == "offset") {
    syntax::for_each_name(e, [&](const Expression& name) { names.insert(name.name); });
  }
  for (const Expression& argument : e.arguments) collect_offset_names(argument, names);
}

// The response may not also be a term, and for that y and I(y) are the same.
const Expression& bare(const Expression& e) {
  const Expression& inside = syntax::without_groups(e);
  return inside.kind == Expression::Kind::call && inside.name == "I" ? bare(inside.arguments[0]) : inside;
}

void refuse_response_as_term(const Formula& formula) {
  const std::string response = deparse(bare(formula.response));
  const auto refuse = [&](const Term& term, std::string_view what) {
    if (term.factors.size() != 1 || deparse(bare(term.factors[0])) != response) return;
    syntax::fail(formula.text, term.factors[0].position,
                 fmt::format("the response {} cannot also be {}", response, what));
  };
  for (const Term& term : formula.terms) refuse(term, "a term");
  for (const GroupTerm& group : formula.groups) {
    for (const Term& effect : group.effects) refuse(effect, "a term");
    refuse(group.grouping, "a grouping");
  }
}

}  // namespace

Formula parse_formula(std::string_view text, std::span<const std::string> columns) {
  const std::vector<Token> tokens = syntax::tokenize(text);
  const auto tilde = std::find_if(tokens.begin(), tokens.end(), is_tilde);
  if (tilde == tokens.end()) {
    const std::string where = tokens.size() == 1 ? "" : fmt::format(" in \"{}\"", text);
    throw UsageError(fmt::format("formula: no '~'{}; write response ~ terms, as in y ~ x1 + x2", where));
  }
  if (tilde == tokens.begin()) syntax::fail(text, tilde->position, "no response before '~'");
  const auto second = std::find_if(tilde + 1, tokens.end(), is_tilde);
  if (second != tokens.end()) syntax::fail(text, second->position, "a second '~'");

  Formula formula;
  formula.text = text;
  formula.response = syntax::parse_side(text, tokens, syntax::Side::response);
  if (tilde[1].kind == Token::Kind::end) {
    syntax::fail(text, tilde[1].position, "no terms after '~' (write 1 for an intercept alone)");
  }
  const auto after = static_cast<std::size_t>(tilde - tokens.begin()) + 1;
  const Expression right = syntax::parse_side(text, std::span(tokens).subspan(after), syntax::Side::terms);

  const syntax::ArithmeticCheck check(text, columns);
  if (const Expression& response = syntax::without_groups(formula.response);
      response.kind == Expression::Kind::call && response.name == "cbind") {
    for (const Expression& count : response.arguments) check(count);
  } else {
    check(formula.response);
  }
  std::set<std::string> taken;
  syntax::for_each_name(formula.response, [&](const Expression& name) { taken.insert(name.name); });
  collect_offset_names(right, taken);
  std::vector<std::string> dot;
  std::copy_if(columns.begin(), columns.end(), std::back_inserter(dot),
               [&](const std::string& column) { return !taken.contains(column); });

  syntax::TermReader(text, check, std::move(dot)).read(right, formula);
  if (formula.terms.empty() && formula.groups.empty())
    syntax::fail(text, right.position, "no term and no intercept");
  refuse_response_as_term(formula);
  return formula;
}

std::vector<std::string> Formula::columns() const {
  std::vector<const Expression*> names;
  const auto collect = [&](const Expression& name) { names.push_back(&name); };
  syntax::for_each_name(response, collect);
  const auto collect_term = [&](const Term& term) {
    for (const Expression& factor : term.factors) syntax::for_each_name(factor, collect);
  };
  for (const Term& term : terms) collect_term(term);
  for (const GroupTerm& group : groups) {
    for (const Term& effect : group.effects) collect_term(effect);
    collect_term(group.grouping);
  }
  for (const Expression& offset : offsets) syntax::for_each_name(offset, collect);
  // By position in the text, because terms are sorted by order of interaction. All columns of a '.' have its
  // position: the stable sort keeps their order.
  std::stable_sort(names.begin(), names.end(),
                   [](const Expression* a, const Expression* b) { return a->position < b->position; });
  std::vector<std::string> result;
  std::set<std::string_view> seen;
  for (const Expression* name : names) {
    if (seen.insert(name->name).second) result.push_back(name->name);
  }
  return result;
}

}  // namespace mlo
