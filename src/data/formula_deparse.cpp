// Copyright (c) the mlo authors. BSD-3-Clause.
// R's spelling of an expression. Parentheses are nodes of the tree, so none have to be added.
#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <cmath>

#include "data/formula_syntax.hpp"

namespace mlo {
namespace {

using Kind = Expression::Kind;

// Shortest digits that read back to the same number; scientific where that is shorter, as R does: 0.1, 1e+05.
std::string spell(double number) {
  if (std::isinf(number)) return "Inf";
  const auto written = [&](std::chars_format format) {
    std::array<char, 400> digits{};  // 5e-324 takes 326
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number, format);
    assert(error == std::errc());
    static_cast<void>(error);
    return std::string(digits.data(), end);
  };
  std::string fixed = written(std::chars_format::fixed);
  std::string scientific = written(std::chars_format::scientific);
  return fixed.size() <= scientific.size() ? fixed : scientific;
}

std::string in_quotes(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

void append(std::string& out, const Expression& e) {
  switch (e.kind) {
    case Kind::number:
      out += spell(e.number);
      return;
    case Kind::logical:
      out += e.number != 0 ? "TRUE" : "FALSE";
      return;
    case Kind::name:
    case Kind::word:
      out += syntax::quoted_if_needed(e.name);
      return;
    case Kind::text:
      out += in_quotes(e.name);
      return;
    case Kind::dot:
      out += '.';
      return;
    case Kind::unary:
      out += e.name;
      append(out, e.arguments[0]);
      return;
    case Kind::binary: {
      append(out, e.arguments[0]);
      static constexpr std::array<std::string_view, 5> tight_operators{"^", ":", "/", "%%", "%/%"};
      const bool tight =
          std::find(tight_operators.begin(), tight_operators.end(), e.name) != tight_operators.end();
      if (!tight) out += ' ';
      out += e.name;
      if (!tight) out += ' ';
      append(out, e.arguments[1]);
      return;
    }
    case Kind::call:
      out += e.name;
      [[fallthrough]];
    case Kind::group:
      out += '(';
      for (std::size_t i = 0; i < e.arguments.size(); ++i) {
        if (i > 0) out += ", ";
        if (i < e.labels.size() && !e.labels[i].empty()) out += e.labels[i] + " = ";
        append(out, e.arguments[i]);
      }
      out += ')';
      return;
  }
}

}  // namespace

std::string deparse(const Expression& expression) {
  std::string out;
  append(out, expression);
  return out;
}

std::string Term::name() const {
  if (factors.empty()) return "(Intercept)";
  std::string out;
  for (const Expression& factor : factors) {
    if (!out.empty()) out += ':';
    append(out, factor);
  }
  return out;
}

}  // namespace mlo
