// Copyright (c) the mlo authors. BSD-3-Clause.
// R's algebra of terms: a term is a set of variables, a formula a list of terms without repeats.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

#include "data/formula_syntax.hpp"

namespace mlo::syntax {
namespace {

using Kind = Expression::Kind;

// The number of terms of a*b*c*... doubles with each factor: stop before memory runs out.
constexpr std::size_t max_terms = 10'000;

bool is_sum(const Expression& e) { return e.kind == Kind::binary && (e.name == "+" || e.name == "-"); }
bool is_product(const Expression& e) { return e.kind == Kind::binary && (e.name == ":" || e.name == "*"); }
bool is_power(const Expression& e) { return e.kind == Kind::binary && e.name == "^"; }
// b %in% a nests terms; x %in% c("a", "b") is a comparison.
bool is_nesting(const Expression& e) {
  if (e.kind != Kind::binary) return false;
  if (e.name == "%in%")
    return !(e.arguments[1].kind == Kind::call && e.arguments[1].name == "c") &&
           e.arguments[1].kind != Kind::text && e.arguments[1].kind != Kind::number;
  return e.name == "/";
}
bool is_switch(const Expression& e) { return e.kind == Kind::number && (e.number == 0 || e.number == 1); }

bool is_logical(const Expression& e) {
  if (e.kind == Kind::group) return is_logical(e.arguments[0]);
  if (e.kind == Kind::unary) return e.name == "!";
  static constexpr std::array<std::string_view, 9> logicals{"==", "!=", "<", "<=", ">", ">=", "&", "|", "||"};
  return e.kind == Kind::binary && std::find(logicals.begin(), logicals.end(), e.name) != logicals.end();
}
// Whether a sum has a 0 or a 1: the intercept.
bool has_switch(const Expression& e) {
  const Expression* left = &without_groups(e);
  for (; is_sum(*left); left = &without_groups(left->arguments[0]))
    if (is_switch(left->arguments[1])) return true;
  if (left->kind == Kind::unary && left->name == "-") return is_switch(left->arguments[0]);
  return is_switch(*left);
}
// (x > 3 | z) is a logical or. (1 | g) is lme4's group effect: nobody writes it as a logical or. (a | b) may
// be either, and is read as lme4 does.
bool is_bar(const Expression& e) { return e.kind == Kind::binary && (e.name == "|" || e.name == "||"); }
bool is_group_effect(const Expression& e) {
  if (!is_bar(e)) return false;
  return has_switch(e.arguments[0]) || (!is_logical(e.arguments[0]) && !is_logical(e.arguments[1]));
}
// (1 | id | g), which is brms'.
bool has_two_bars(const Expression& e) { return is_bar(e) && is_group_effect(e.arguments[0]); }

// Whether parentheses contain terms; otherwise they contain arithmetic, as in (x > 3) and (x/2).
bool reads_as_terms(const Expression& e) {
  switch (e.kind) {
    case Kind::name:
    case Kind::dot:
    case Kind::call:
    case Kind::group:
      return true;
    case Kind::number:
      return is_switch(e);
    case Kind::text:
    case Kind::logical:
    case Kind::word:
      return false;
    case Kind::unary:
      return e.name == "-" && reads_as_terms(e.arguments[0]);
    case Kind::binary:
      if (is_power(e)) return reads_as_terms(e.arguments[0]);
      return (is_sum(e) || is_product(e) || is_nesting(e)) && reads_as_terms(e.arguments[0]) &&
             reads_as_terms(e.arguments[1]);
  }
  return false;
}

}  // namespace

TermReader::TermReader(std::string_view formula, const ArithmeticCheck& check, std::vector<std::string> dot)
    : formula_(formula), check_(check), dot_(std::move(dot)) {}

void TermReader::read(const Expression& right_side, Formula& formula) {
  TermList list = read(right_side);
  std::stable_sort(list.keys.begin(), list.keys.end(),
                   [](const Key& a, const Key& b) { return a.size() < b.size(); });
  formula.intercept = intercept_;
  formula.offsets = std::move(offsets_);
  formula.groups = std::move(groups_);
  if (intercept_) formula.terms.emplace_back();
  for (const Key& key : list.keys) {
    Term term;
    for (const std::size_t variable : key) term.factors.push_back(variables_[variable]);
    formula.terms.push_back(std::move(term));
  }
}

TermReader::TermList TermReader::read(const Expression& e) {
  switch (e.kind) {
    case Kind::number:
      read_number(e);
      return {};
    case Kind::dot: {
      if (inside_group_) fail(formula_, e.position, "'.' cannot stand in a group effect; name its columns");
      if (dot_.empty()) fail(formula_, e.position, "'.' stands for no column: the response uses them all");
      TermList list;
      for (const std::string& column : dot_) {
        const TermList one = variable({.kind = Kind::name, .position = e.position, .name = column});
        add(list, one.keys.front(), e.position);
      }
      return list;
    }
    case Kind::call:
      if (e.name != "offset") return variable(e);
      read_offset(e);
      return {};
    case Kind::group:
      if (is_group_effect(e.arguments[0]) || has_two_bars(e.arguments[0])) {
        read_group(e.arguments[0]);
        return {};
      }
      return reads_as_terms(e.arguments[0]) ? read(e.arguments[0]) : variable(e.arguments[0]);
    case Kind::unary:
      return e.name == "-" ? read_negative(e) : variable(e);
    case Kind::binary:
      if (is_sum(e)) return read_sum(e);
      if (is_product(e)) return read_product(e);
      if (is_power(e)) return read_power(e);
      if (is_nesting(e)) return read_nesting(e);
      if (is_group_effect(e) || has_two_bars(e))
        fail(
            formula_, e.position,
            fmt::format("a group effect stands in parentheses, as in (1 | g); for \"one or the other\" write "
                        "I({} | {})",
                        deparse(e.arguments[0]), deparse(e.arguments[1])));
      return variable(e);  // a comparison or a logical
    case Kind::name:
    case Kind::text:
    case Kind::logical:
    case Kind::word:
      return variable(e);
  }
  return {};
}

// a + b - c, from left to right; a loop, because long formulas are sums and a sum of n terms is n levels
// deep.
TermReader::TermList TermReader::read_sum(const Expression& expression) {
  std::vector<const Expression*> sums;
  const Expression* first = &expression;
  for (; is_sum(*first); first = &first->arguments[0]) sums.push_back(first);
  std::reverse(sums.begin(), sums.end());
  TermList list = read(*first);
  for (const Expression* sum : sums) {
    const Expression& right = sum->arguments[1];
    if (sum->name == "+") {
      for (Key& key : read(right).keys) add(list, std::move(key), right.position);
      continue;
    }
    negative_ = !negative_;
    const TermList removed = read(right);
    negative_ = !negative_;
    const auto is_removed = [&](const Key& key) { return removed.seen.contains(key); };
    list.keys.erase(std::remove_if(list.keys.begin(), list.keys.end(), is_removed), list.keys.end());
    for (const Key& key : removed.keys) list.seen.erase(key);
  }
  return list;
}

// a:b, and a*b = a + b + a:b.
TermReader::TermList TermReader::read_product(const Expression& e) {
  ++products_;
  TermList left = read(e.arguments[0]);
  TermList right = read(e.arguments[1]);
  --products_;
  TermList both = interact(left, right, e.position);
  if (e.name == ":") return both;
  for (Key& key : right.keys) add(left, std::move(key), e.position);
  for (Key& key : both.keys) add(left, std::move(key), e.position);
  return left;
}

// a/b = a + a:b: b within a. With several terms on the left, b is within all of their variables together.
// b %in% a = a:b, though R names it otherwise.
TermReader::TermList TermReader::read_nesting(const Expression& e) {
  const bool slash = e.name == "/";
  if (slash && !reads_as_terms(e.arguments[1]))
    fail(formula_, e.position,
         fmt::format("'/' between terms nests one in the other; write I({}) for a ratio", deparse(e)));
  ++products_;
  TermList left = read(e.arguments[0]);
  const TermList right = read(e.arguments[1]);
  --products_;
  if (!slash) return interact(left, right, e.position);
  Key within;
  for (const Key& key : left.keys) {
    Key both;
    std::set_union(within.begin(), within.end(), key.begin(), key.end(), std::back_inserter(both));
    within = std::move(both);
  }
  const TermList outer{.keys = {within}, .seen = {within}};
  for (Key& key : interact(outer, right, e.position).keys) add(left, std::move(key), e.position);
  return left;
}

// (a + b + c)^2 = all terms and their interactions up to order 2.
TermReader::TermList TermReader::read_power(const Expression& e) {
  const Expression& base = e.arguments[0];
  const Expression& exponent = without_groups(e.arguments[1]);
  if (base.kind != Kind::group && base.kind != Kind::dot) {
    const std::string text = deparse(e);
    fail(formula_, e.position,
         fmt::format("'^' between terms is for interactions of a group, as in (a + b)^2; write I({}) for a "
                     "power",
                     text));
  }
  const double order = exponent.number;
  if (exponent.kind != Kind::number || order < 1 || order != std::floor(order)) {
    fail(formula_, exponent.position,
         fmt::format(
             "the order of interaction must be an integer of at least 1 (got {}); write I(...) for a power",
             deparse(exponent)));
  }
  ++products_;
  const TermList single = read(base);
  --products_;
  TermList list = single;
  for (std::size_t k = 1; static_cast<double>(k) < order; ++k) {
    TermList next = interact(list, single, e.position);
    if (next.keys.size() == list.keys.size()) break;  // there are no more interactions
    list = std::move(next);
  }
  return list;
}

TermReader::TermList TermReader::read_negative(const Expression& e) {
  if (products_ > 0) {
    fail(formula_, e.position, "'-' cannot be a part of an interaction; write I(...) for arithmetic");
  }
  // There are no terms before it that it could remove, but "-1" removes the intercept.
  negative_ = !negative_;
  static_cast<void>(read(e.arguments[0]));
  negative_ = !negative_;
  return {};
}

TermReader::TermList TermReader::variable(const Expression& e) {
  check_(e);
  const auto [entry, is_new] = index_.try_emplace(deparse(e), variables_.size());
  if (is_new) variables_.push_back(e);
  const Key key{entry->second};
  return {.keys = {key}, .seen = {key}};
}

void TermReader::read_number(const Expression& e) {
  if (!is_switch(e)) {
    fail(formula_, e.position,
         fmt::format("{} is not a term; write I(...) for arithmetic, as in I(2 * x)", deparse(e)));
  }
  if (products_ > 0) {
    fail(formula_, e.position,
         fmt::format("{} cannot be a part of an interaction; write I(...) for arithmetic", deparse(e)));
  }
  intercept_ = (e.number == 1) != negative_;
}

void TermReader::read_offset(const Expression& e) {
  if (products_ > 0) fail(formula_, e.position, "offset() cannot be a part of an interaction");
  if (negative_) fail(formula_, e.position, "offset() cannot be subtracted; write + offset(-x)");
  if (inside_group_) fail(formula_, e.position, "offset() cannot stand in a group effect");
  check_(e.arguments[0]);
  offsets_.push_back(e);
}

void TermReader::add(TermList& list, Key key, std::size_t position) const {
  if (!list.seen.insert(key).second) return;
  if (list.keys.size() == max_terms) fail(formula_, position, fmt::format("more than {} terms", max_terms));
  list.keys.push_back(std::move(key));
}

TermReader::TermList TermReader::interact(const TermList& left, const TermList& right,
                                          std::size_t position) const {
  // Most pairs may give a term that is there already, so the number of pairs needs a limit of its own.
  if (left.keys.size() * right.keys.size() > 100 * max_terms) {
    fail(formula_, position, fmt::format("more than {} terms", max_terms));
  }
  TermList list;
  for (const Key& a : left.keys) {
    for (const Key& b : right.keys) {
      Key both;
      std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
      add(list, std::move(both), position);
    }
  }
  return list;
}

}  // namespace mlo::syntax
