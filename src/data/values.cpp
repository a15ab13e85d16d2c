// Copyright (c) the mlo authors. BSD-3-Clause.
// The kinds of values: the tree is walked once per block of rows, and the innermost loops run over rows.
#include "data/values.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "data/value_kinds.hpp"

namespace mlo {

void Values::numbers(std::size_t, std::size_t, std::span<double>) const {
  assert(false && "the binder asks factors for codes only");
}
void Values::codes(std::size_t, std::span<std::uint32_t>) const {
  assert(false && "the binder asks numbers for numbers only");
}

namespace values {
namespace {

double power(double base, double exponent) {
  return exponent == 2 ? base * base : std::pow(base, exponent);  // squares are the usual case
}

double truth(double a, double b, bool value) {
  return std::isnan(a) || std::isnan(b) ? missing : static_cast<double>(value);
}

// As in R, one side may say all: FALSE & NA is FALSE, TRUE | NA is TRUE.
double both(double a, double b) { return a == 0 || b == 0 ? 0 : truth(a, b, true); }
double either(double a, double b) {
  const auto is_true = [](double side) { return side != 0 && !std::isnan(side); };
  return is_true(a) || is_true(b) ? 1 : truth(a, b, false);
}

// R's remainder has the sign of the divisor.
double remainder(double a, double b) { return a - std::floor(a / b) * b; }

template <class F>
void pairwise(std::span<double> left, std::span<const double> right, F f) {
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = f(left[i], right[i]);
}

using Left = std::span<double>;
using Right = std::span<const double>;
constexpr std::array<Operation, 15> operations = {{
    {"+", false, [](Left l, Right r) { pairwise(l, r, [](double a, double b) { return a + b; }); }},
    {"-", false, [](Left l, Right r) { pairwise(l, r, [](double a, double b) { return a - b; }); }},
    {"*", false, [](Left l, Right r) { pairwise(l, r, [](double a, double b) { return a * b; }); }},
    {"/", false, [](Left l, Right r) { pairwise(l, r, [](double a, double b) { return a / b; }); }},
    {"^", false, [](Left l, Right r) { pairwise(l, r, power); }},
    {"%%", false, [](Left l, Right r) { pairwise(l, r, remainder); }},
    {"%/%", false,
     [](Left l, Right r) { pairwise(l, r, [](double a, double b) { return std::floor(a / b); }); }},
    {"==", true,
     [](Left l, Right r) { pairwise(l, r, [](double a, double b) { return truth(a, b, a == b); }); }},
    {"!=", true,
     [](Left l, Right r) { pairwise(l, r, [](double a, double b) { return truth(a, b, a != b); }); }},
    {"<", true,
     [](Left l, Right r) { pairwise(l, r, [](double a, double b) { return truth(a, b, a < b); }); }},
    {"<=", true,
     [](Left l, Right r) { pairwise(l, r, [](double a, double b) { return truth(a, b, a <= b); }); }},
    {">", true,
     [](Left l, Right r) { pairwise(l, r, [](double a, double b) { return truth(a, b, a > b); }); }},
    {">=", true,
     [](Left l, Right r) { pairwise(l, r, [](double a, double b) { return truth(a, b, a >= b); }); }},
    {"&", true, [](Left l, Right r) { pairwise(l, r, both); }},
    {"|", true, [](Left l, Right r) { pairwise(l, r, either); }},
}};

}  // namespace

const Operation* find_operation(std::string_view symbol) {
  const auto* const found = std::find_if(operations.begin(), operations.end(),
                                         [&](const Operation& entry) { return entry.symbol == symbol; });
  return found == operations.end() ? nullptr : found;
}

NumberColumn::NumberColumn(std::span<const double> cells, Type kind) : cells_(cells) { type = kind; }
void NumberColumn::numbers(std::size_t first, std::size_t count, std::span<double> out) const {
  std::copy_n(cells_.begin() + static_cast<std::ptrdiff_t>(first), count, out.begin());
}

IntegerColumn::IntegerColumn(std::span<const std::int64_t> cells) : cells_(cells) { type = Type::number; }
void IntegerColumn::numbers(std::size_t first, std::size_t count, std::span<double> out) const {
  to_doubles(cells_.subspan(first, count), out);
}

Constant::Constant(double value, Type kind) : value_(value) { type = kind; }
void Constant::numbers(std::size_t, std::size_t count, std::span<double> out) const {
  std::fill_n(out.begin(), count, value_);
}

Word::Word(std::string text) {
  type = Type::factor;
  levels = {std::move(text)};
}
void Word::codes(std::size_t, std::span<std::uint32_t> out) const {
  std::fill(out.begin(), out.end(), std::uint32_t{0});
}

// Levels in the order of their bytes, as R sorts in the C locale, unless the user has ordered them.
TextColumn::TextColumn(const Text& text) : codes_(text.codes) {
  type = Type::factor;
  std::vector<char> used(text.levels.size(), 0);
  for (const std::uint32_t code : text.codes)
    if (code != Text::missing) used[code] = 1;
  std::vector<std::uint32_t> order;
  for (std::uint32_t c = 0; c < text.levels.size(); ++c)
    if (used[c] != 0) order.push_back(c);
  if (!text.in_order)
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return text.levels[a] < text.levels[b]; });
  rank_.assign(text.levels.size(), missing_level);
  levels.reserve(order.size());
  for (std::uint32_t r = 0; r < order.size(); ++r) {
    rank_[order[r]] = r;
    levels.push_back(text.levels[order[r]]);
  }
}
void TextColumn::codes(std::size_t first, std::span<std::uint32_t> out) const {
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint32_t code = codes_[first + i];
    out[i] = code == Text::missing ? missing_level : rank_[code];
  }
}

Negative::Negative(ValuesPtr inside) : inside_(std::move(inside)) {}
void Negative::numbers(std::size_t first, std::size_t count, std::span<double> out) const {
  inside_->numbers(first, count, out);
  for (double& value : out.first(count)) value = -value;
}

Not::Not(ValuesPtr inside) : inside_(std::move(inside)) { type = Type::logical; }
void Not::numbers(std::size_t first, std::size_t count, std::span<double> out) const {
  inside_->numbers(first, count, out);
  for (double& value : out.first(count)) value = truth(value, value, value == 0);
}

Binary::Binary(const Operation* operation, ValuesPtr left, ValuesPtr right)
    : operation_(operation), left_(std::move(left)), right_(std::move(right)) {
  type = operation->logical ? Type::logical : Type::number;
}
void Binary::numbers(std::size_t first, std::size_t count, std::span<double> out) const {
  left_->numbers(first, count, out);
  std::vector<double> buffer(count);  // once per block
  right_->numbers(first, count, buffer);
  operation_->apply(out.first(count), buffer);
}

Elementwise::Elementwise(void (*apply)(std::span<double>), ValuesPtr inside)
    : apply_(apply), inside_(std::move(inside)) {}
void Elementwise::numbers(std::size_t first, std::size_t count, std::span<double> out) const {
  inside_->numbers(first, count, out);
  apply_(out.first(count));
}

IsMissing::IsMissing(ValuesPtr inside) : inside_(std::move(inside)) { type = Type::logical; }
void IsMissing::numbers(std::size_t first, std::size_t count, std::span<double> out) const {
  if (inside_->type == Type::factor) {
    std::vector<std::uint32_t> codes(count);
    inside_->codes(first, codes);
    for (std::size_t i = 0; i < count; ++i) out[i] = codes[i] == missing_level ? 1 : 0;
    return;
  }
  inside_->numbers(first, count, out);
  for (double& value : out.first(count)) value = std::isnan(value) ? 1 : 0;
}

Extreme::Extreme(bool smallest, std::vector<ValuesPtr> parts)
    : smallest_(smallest), parts_(std::move(parts)) {}
void Extreme::numbers(std::size_t first, std::size_t count, std::span<double> out) const {
  parts_[0]->numbers(first, count, out);
  std::vector<double> buffer(count);
  for (std::size_t k = 1; k < parts_.size(); ++k) {
    parts_[k]->numbers(first, count, buffer);
    pairwise(out.first(count), buffer, [this](double a, double b) {
      if (std::isnan(a) || std::isnan(b)) return missing;
      return smallest_ ? std::min(a, b) : std::max(a, b);
    });
  }
}

IfElse::IfElse(ValuesPtr test, ValuesPtr yes, ValuesPtr no)
    : test_(std::move(test)), yes_(std::move(yes)), no_(std::move(no)) {
  const bool logical = yes_->type == Type::logical && no_->type == Type::logical;
  type = yes_->type == Type::factor ? Type::factor : logical ? Type::logical : Type::number;
  if (type != Type::factor) return;
  levels = yes_->levels;
  levels.insert(levels.end(), no_->levels.begin(), no_->levels.end());
  std::sort(levels.begin(), levels.end());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  yes_places_ = places_in(levels, yes_->levels);
  no_places_ = places_in(levels, no_->levels);
}
void IfElse::numbers(std::size_t first, std::size_t count, std::span<double> out) const {
  std::vector<double> test(count), yes(count);
  test_->numbers(first, count, test);
  yes_->numbers(first, count, yes);
  no_->numbers(first, count, out);
  for (std::size_t i = 0; i < count; ++i)
    if (std::isnan(test[i]))
      out[i] = missing;
    else if (test[i] != 0)
      out[i] = yes[i];
}
void IfElse::codes(std::size_t first, std::span<std::uint32_t> out) const {
  std::vector<double> test(out.size());
  std::vector<std::uint32_t> yes(out.size());
  test_->numbers(first, out.size(), test);
  yes_->codes(first, yes);
  no_->codes(first, out);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (std::isnan(test[i]))
      out[i] = missing_level;
    else if (test[i] != 0)
      out[i] = moved(yes[i], yes_places_);
    else
      out[i] = moved(out[i], no_places_);
}

LevelNumbers::LevelNumbers(ValuesPtr factor, std::vector<double> by_level, Type kind)
    : factor_(std::move(factor)), by_level_(std::move(by_level)) {
  type = kind;
}
void LevelNumbers::numbers(std::size_t first, std::size_t count, std::span<double> out) const {
  std::vector<std::uint32_t> codes(count);
  factor_->codes(first, codes);
  for (std::size_t i = 0; i < count; ++i)
    out[i] = codes[i] < by_level_.size() ? by_level_[codes[i]] : missing;
}

NumberMember::NumberMember(ValuesPtr number, std::vector<double> list)
    : number_(std::move(number)), list_(std::move(list)) {
  type = Type::logical;
  std::erase_if(list_, [](double value) { return std::isnan(value); });
  std::sort(list_.begin(), list_.end());
}
void NumberMember::numbers(std::size_t first, std::size_t count, std::span<double> out) const {
  number_->numbers(first, count, out);
  for (double& value : out.first(count))
    value = !std::isnan(value) && std::binary_search(list_.begin(), list_.end(), value) ? 1 : 0;
}

LevelMember::LevelMember(ValuesPtr factor, std::vector<double> by_level)
    : factor_(std::move(factor)), by_level_(std::move(by_level)) {
  type = Type::logical;
}
void LevelMember::numbers(std::size_t first, std::size_t count, std::span<double> out) const {
  std::vector<std::uint32_t> codes(count);
  factor_->codes(first, codes);
  for (std::size_t i = 0; i < count; ++i)
    out[i] = codes[i] == missing_level ? 0 : codes[i] < by_level_.size() ? by_level_[codes[i]] : missing;
}

Relabelled::Relabelled(ValuesPtr factor, std::vector<std::string> to, std::vector<std::uint32_t> places)
    : factor_(std::move(factor)), places_(std::move(places)) {
  type = Type::factor;
  levels = std::move(to);
  contrast = factor_->contrast;
  base = factor_->base;
  strict = factor_->strict;
}
void Relabelled::codes(std::size_t first, std::span<std::uint32_t> out) const {
  factor_->codes(first, out);
  for (std::uint32_t& code : out) code = moved(code, places_);
}

Truth::Truth(ValuesPtr logical) : logical_(std::move(logical)) {
  type = Type::factor;
  levels = {"FALSE", "TRUE"};
  strict = true;
}
void Truth::codes(std::size_t first, std::span<std::uint32_t> out) const {
  std::vector<double> values(out.size());
  logical_->numbers(first, out.size(), values);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = std::isnan(values[i]) ? missing_level : values[i] != 0 ? 1U : 0U;
}

NumberLevels::NumberLevels(ValuesPtr number, std::vector<double> values, std::vector<std::string> names)
    : number_(std::move(number)), values_(std::move(values)) {
  type = Type::factor;
  levels = std::move(names);
  order_.resize(values_.size());
  for (std::uint32_t k = 0; k < order_.size(); ++k) order_[k] = k;
  std::sort(order_.begin(), order_.end(),
            [&](std::uint32_t a, std::uint32_t b) { return values_[a] < values_[b]; });
  // Months and the like: whole numbers in a short range have a table.
  constexpr double longest = 65536;
  const bool whole = std::all_of(values_.begin(), values_.end(), [](double v) { return v == std::floor(v); });
  if (values_.empty() || !whole) return;
  lowest_ = values_[order_.front()];
  if (!(values_[order_.back()] - lowest_ < longest)) return;
  table_.assign(static_cast<std::size_t>(values_[order_.back()] - lowest_) + 1, missing_level);
  for (std::uint32_t k = 0; k < values_.size(); ++k)
    table_[static_cast<std::size_t>(values_[k] - lowest_)] = k;
}
std::uint32_t NumberLevels::code(double value) const {
  if (std::isnan(value)) return missing_level;
  if (!table_.empty()) {
    const double place = value - lowest_;
    if (!(place >= 0 && place < static_cast<double>(table_.size())) || place != std::floor(place))
      return missing_level;
    return table_[static_cast<std::size_t>(place)];
  }
  const auto found = std::lower_bound(order_.begin(), order_.end(), value,
                                      [&](std::uint32_t k, double v) { return values_[k] < v; });
  return found != order_.end() && values_[*found] == value ? *found : missing_level;
}
void NumberLevels::codes(std::size_t first, std::span<std::uint32_t> out) const {
  std::vector<double> values(out.size());
  number_->numbers(first, out.size(), values);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = code(values[i]);
}

Learned::Learned(ValuesPtr number, basis::State state, Apply apply, std::size_t columns)
    : number_(std::move(number)), state_(std::move(state)), apply_(apply) {
  width = columns;
}
void Learned::numbers(std::size_t first, std::size_t count, std::span<double> out) const {
  std::vector<double> values(count);
  number_->numbers(first, count, values);
  apply_(state_, values, out.first(width * count));
}

Intervals::Intervals(ValuesPtr number, breaks::State state)
    : number_(std::move(number)), state_(std::move(state)) {
  type = Type::factor;
  levels = state_.labels;
}
void Intervals::codes(std::size_t first, std::span<std::uint32_t> out) const {
  std::vector<double> values(out.size());
  number_->numbers(first, out.size(), values);
  breaks::apply(state_, values, out);
}

std::vector<std::uint32_t> places_in(std::span<const std::string> all, std::span<const std::string> some,
                                     std::uint32_t otherwise) {
  std::vector<std::uint32_t> order(all.size());
  for (std::uint32_t k = 0; k < order.size(); ++k) order[k] = k;
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return all[a] < all[b]; });
  std::vector<std::uint32_t> places;
  places.reserve(some.size());
  for (const std::string& level : some) {
    const auto found = std::lower_bound(order.begin(), order.end(), level,
                                        [&](std::uint32_t k, const std::string& s) { return all[k] < s; });
    places.push_back(found != order.end() && all[*found] == level ? *found : otherwise);
  }
  return places;
}

std::uint32_t moved(std::uint32_t code, std::span<const std::uint32_t> places) {
  return code < places.size() ? places[code] : code;
}

}  // namespace values
}  // namespace mlo
