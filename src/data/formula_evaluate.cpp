// Copyright (c) the mlo authors. BSD-3-Clause.
// Arithmetic over blocks of rows: the tree is walked once per block, and the innermost loops run over rows.
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>

#include "data/formula_syntax.hpp"

namespace mlo {
namespace {

using Kind = Expression::Kind;

// Small enough for a few operands to stay in the first-level cache.
constexpr std::size_t block_rows = 1024;
constexpr double missing = std::numeric_limits<double>::quiet_NaN();

double power(double base, double exponent) {
  return exponent == 2 ? base * base : std::pow(base, exponent);  // squares are the usual case
}

double truth(double a, double b, bool value) {
  return std::isnan(a) || std::isnan(b) ? missing : static_cast<double>(value);
}

struct Operation {
  std::string_view symbol;
  void (*apply)(std::span<double> left, std::span<const double> right);  // left = left op right
};

template <class F>
void each(std::span<double> left, std::span<const double> right, F f) {
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = f(left[i], right[i]);
}

using Left = std::span<double>;
using Right = std::span<const double>;
constexpr std::array<Operation, 13> operations = {{
    {"+", [](Left l, Right r) { each(l, r, [](double a, double b) { return a + b; }); }},
    {"-", [](Left l, Right r) { each(l, r, [](double a, double b) { return a - b; }); }},
    {"*", [](Left l, Right r) { each(l, r, [](double a, double b) { return a * b; }); }},
    {"/", [](Left l, Right r) { each(l, r, [](double a, double b) { return a / b; }); }},
    {"^", [](Left l, Right r) { each(l, r, power); }},
    {"==", [](Left l, Right r) { each(l, r, [](double a, double b) { return truth(a, b, a == b); }); }},
    {"!=", [](Left l, Right r) { each(l, r, [](double a, double b) { return truth(a, b, a != b); }); }},
    {"<", [](Left l, Right r) { each(l, r, [](double a, double b) { return truth(a, b, a < b); }); }},
    {"<=", [](Left l, Right r) { each(l, r, [](double a, double b) { return truth(a, b, a <= b); }); }},
    {">", [](Left l, Right r) { each(l, r, [](double a, double b) { return truth(a, b, a > b); }); }},
    {">=", [](Left l, Right r) { each(l, r, [](double a, double b) { return truth(a, b, a >= b); }); }},
    {"&",
     [](Left l, Right r) { each(l, r, [](double a, double b) { return truth(a, b, a != 0 && b != 0); }); }},
    {"|",
     [](Left l, Right r) { each(l, r, [](double a, double b) { return truth(a, b, a != 0 || b != 0); }); }},
}};

void evaluate_block(const Expression& e, const Columns& columns, std::size_t first, std::span<double> out);

void evaluate_binary(const Expression& e, const Columns& columns, std::size_t first, std::span<double> out) {
  const auto* const operation = std::find_if(operations.begin(), operations.end(),
                                             [&](const Operation& entry) { return entry.symbol == e.name; });
  assert(operation != operations.end());
  evaluate_block(e.arguments[0], columns, first, out);
  const Expression& right = e.arguments[1];
  if (right.kind == Kind::name) {
    operation->apply(out, columns.values(right.name).subspan(first, out.size()));
    return;
  }
  std::vector<double> buffer(out.size());  // once per block
  evaluate_block(right, columns, first, buffer);
  operation->apply(out, buffer);
}

void evaluate_block(const Expression& e, const Columns& columns, std::size_t first, std::span<double> out) {
  switch (e.kind) {
    case Kind::number:
      std::fill(out.begin(), out.end(), e.number);
      return;
    case Kind::name: {
      const std::span<const double> values = columns.values(e.name).subspan(first, out.size());
      std::copy(values.begin(), values.end(), out.begin());
      return;
    }
    case Kind::group:
      evaluate_block(e.arguments[0], columns, first, out);
      return;
    case Kind::call:
      evaluate_block(e.arguments[0], columns, first, out);
      syntax::find_function(e.name)->apply(out);
      return;
    case Kind::unary:
      evaluate_block(e.arguments[0], columns, first, out);
      if (e.name == "-") {
        for (double& value : out) value = -value;
      } else {
        for (double& value : out) value = truth(value, value, value == 0);
      }
      return;
    case Kind::binary:
      evaluate_binary(e, columns, first, out);
      return;
    case Kind::dot:
    case Kind::text:
      assert(false && "parse_formula refuses these");
      std::fill(out.begin(), out.end(), missing);
      return;
  }
}

}  // namespace

void evaluate(const Expression& expression, const Columns& columns, std::size_t first,
              std::span<double> out) {
  for (std::size_t at = 0; at < out.size(); at += block_rows) {
    const std::size_t count = std::min(block_rows, out.size() - at);
    evaluate_block(expression, columns, first + at, out.subspan(at, count));
  }
}

}  // namespace mlo
