// Copyright (c) the mlo authors. BSD-3-Clause.
// From expressions to values: what the signs and functions of a formula mean for numbers, logicals and
// factors.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_set>

#include "data/calendar.hpp"
#include "data/csv_text.hpp"
#include "data/formula_syntax.hpp"
#include "data/value_kinds.hpp"
#include "data/values.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/data/text_columns.hpp"

namespace mlo {

using namespace values;
using Kind = Expression::Kind;
using Type = Values::Type;
using syntax::argument;
using syntax::without_groups;

namespace {

// Constants of a formula: 3, -1, TRUE, "a", c(1, 2).
std::optional<double> constant_number(const Expression& given) {
  const Expression& e = without_groups(given);
  if (e.kind == Kind::number || e.kind == Kind::logical) return e.number;
  if (e.kind == Kind::unary && e.name == "-")
    if (const auto inside = constant_number(e.arguments[0])) return -*inside;
  if (e.kind == Kind::binary && find_operation(e.name) != nullptr) {
    const auto left = constant_number(e.arguments[0]), right = constant_number(e.arguments[1]);
    if (!left || !right) return std::nullopt;
    double result = *left;
    find_operation(e.name)->apply({&result, 1}, {&*right, 1});
    return result;
  }
  return std::nullopt;
}

std::span<const Expression> items(const Expression& given) {
  const Expression& e = without_groups(given);
  if (e.kind == Kind::call && e.name == "c") return e.arguments;
  return {&e, 1};
}

std::optional<std::vector<double>> constant_numbers(const Expression& e) {
  std::vector<double> out;
  for (const Expression& item : items(e)) {
    const auto value = constant_number(item);
    if (!value) return std::nullopt;
    out.push_back(*value);
  }
  return out;
}

// Words; a number is the word that R makes of it.
std::optional<std::vector<std::string>> constant_words(const Expression& e) {
  std::vector<std::string> out;
  for (const Expression& item : items(e)) {
    const Expression& inside = without_groups(item);
    if (inside.kind == Kind::text)
      out.push_back(inside.name);
    else if (constant_number(inside))
      out.push_back(deparse(inside));
    else
      return std::nullopt;
  }
  return out;
}

std::string counted(std::size_t n, const char* what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

}  // namespace

std::string number_label(double value) {
  const std::string short_form = fmt::format("{:.15g}", std::fabs(value));
  Expression number{.kind = Kind::number};
  std::from_chars(short_form.data(), short_form.data() + short_form.size(), number.number);
  std::string label = value < 0 ? "-" : "";
  return label += deparse(number);
}

Binder::Binder(const Formula& formula, const Table& table, std::vector<Learnt>& learnt)
    : formula_(formula), table_(table), learnt_(learnt) {}

void Binder::fail(const Expression& e, const std::string& what) const {
  syntax::fail(formula_.text, e.position, what);
}

const Column& Binder::column(const std::string& name) const {
  const auto found = std::find_if(table_.columns.begin(), table_.columns.end(),
                                  [&](const Column& column) { return column.name == name; });
  if (found == table_.columns.end())
    throw DataError(table_.source.name, fmt::format("has no column {}", csv::quoted(name)));
  return *found;
}

const Learnt* Binder::known(const std::string& expression) const {
  const auto found = std::find_if(learnt_.begin(), learnt_.end(),
                                  [&](const Learnt& entry) { return entry.expression == expression; });
  return found == learnt_.end() ? nullptr : &*found;
}

std::vector<double> Binder::complete(const Values& values) const {
  std::vector<double> out(table_.rows);
  values.numbers(0, table_.rows, out);
  std::erase_if(out, [](double value) { return std::isnan(value); });
  return out;
}

std::string Binder::text_words(const Expression& e) const {
  std::string words;
  syntax::for_each_name(e, [&](const Expression& name) {
    const Column& c = column(name.name);
    if (!words.empty() || !c.is_text()) return;
    const std::vector<std::string>& levels = c.text().levels;
    words = fmt::format("column {} holds text{}", csv::quoted(c.name),
                        levels.empty() ? "" : fmt::format(" ({})", csv::quoted(levels[0])));
  });
  return words.empty() ? fmt::format("{} is text", deparse(e)) : words;
}

std::string Binder::place_of(const Expression& e, const std::string& word) const {
  if (e.kind != Kind::name || !column(e.name).is_text()) return table_.source.name;
  const Text& text = column(e.name).text();
  for (std::size_t row = 0; row < text.codes.size(); ++row)
    if (text.codes[row] != Text::missing && text.levels[text.codes[row]] == word)
      return table_.source.place(row);
  return table_.source.name;
}

ValuesPtr Binder::number(const Expression& e, const std::string& user) { return as_number(bind(e), e, user); }

ValuesPtr Binder::as_number(ValuesPtr values, const Expression& e, const std::string& user) const {
  if (values->type == Type::factor) {
    const Column* text = nullptr;
    syntax::for_each_name(e, [&](const Expression& name) {
      if (const Column& c = column(name.name); text == nullptr && c.is_text()) text = &c;
    });
    if (text != nullptr) throw not_numbers(table_, *text, user);
    throw DataError(table_.source.name,
                    fmt::format("{} is a factor, but {} needs numbers", deparse(e), user));
  }
  check_width(*values, e, user);
  return values;
}

void Binder::check_width(const Values& values, const Expression& e, const std::string& user) const {
  if (values.width != 1)
    fail(e, fmt::format("{} has {} columns, but {} needs one", deparse(e), values.width, user));
}

ValuesPtr Binder::as_factor(ValuesPtr values, const Expression& e) {
  if (values->type == Type::factor) return values;
  if (values->type == Type::logical) return std::make_unique<Truth>(std::move(values));
  if (values->width != 1)
    fail(e, fmt::format("{} has {} columns; a factor needs one", deparse(e), values->width));
  std::unordered_set<double> seen;
  double last = missing;
  for (const double value : complete(*values)) {
    if (value == last) continue;
    last = value;
    seen.insert(value + 0.0);
    // Beyond any use; the message about too many levels comes with the option's limit.
    constexpr std::size_t most = 1U << 22U;
    if (seen.size() > most)
      throw DataError(table_.source.name,
                      fmt::format("{} has more than {} different values", deparse(e), most));
  }
  std::vector<double> sorted(seen.begin(), seen.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::string> names;
  names.reserve(sorted.size());
  for (const double value : sorted) names.push_back(number_label(value));
  // As in R, values that look the same with 15 digits are one level. They are neighbours.
  std::vector<std::string> levels = names;
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  std::vector<std::uint32_t> places = places_in(levels, names);
  const bool merged = levels.size() < names.size();
  ValuesPtr by_value = std::make_unique<NumberLevels>(std::move(values), std::move(sorted), std::move(names));
  if (!merged) return by_value;
  return std::make_unique<Relabelled>(std::move(by_value), std::move(levels), std::move(places));
}

ValuesPtr Binder::variable(const Expression& e) {
  ValuesPtr values = bind(e);
  if (values->type == Type::logical) values = std::make_unique<Truth>(std::move(values));
  if (values->type != Type::factor) return values;
  const std::string name = deparse(e);
  if (const Learnt* const entry = known(name)) {
    const double base = entry->numbers.empty() ? 0 : entry->numbers[0];
    if (entry->levels.empty() || !(base >= 0 && base < static_cast<double>(entry->levels.size())))
      throw DataError(fmt::format("the levels of {} in this run are damaged; fit the model again", name));
    std::vector<std::uint32_t> places = places_in(entry->levels, values->levels, unknown_level);
    auto relabelled = std::make_unique<Relabelled>(std::move(values), entry->levels, std::move(places));
    relabelled->base = static_cast<std::size_t>(base);
    return relabelled;
  }
  learnt_.push_back({.expression = name, .numbers = {}, .levels = values->levels});
  return values;
}

ValuesPtr Binder::bind(const Expression& e) {
  switch (e.kind) {
    case Kind::number:
      return std::make_unique<Constant>(e.number, Type::number);
    case Kind::logical:
      return std::make_unique<Constant>(e.number, Type::logical);
    case Kind::text:
      return std::make_unique<Word>(e.name);
    case Kind::name: {
      const Column& c = column(e.name);
      if (c.is_text()) return std::make_unique<TextColumn>(c.text());
      if (const auto* const integers = std::get_if<BorrowedIntegers>(&c.cells))
        return std::make_unique<IntegerColumn>(integers->cells);
      return std::make_unique<NumberColumn>(c.values(), c.logical ? Type::logical : Type::number);
    }
    case Kind::group:
      return bind(e.arguments[0]);
    case Kind::unary:
      if (e.name == "-") return std::make_unique<Negative>(number(e.arguments[0], "'-'"));
      return std::make_unique<Not>(number(e.arguments[0], "'!'"));
    case Kind::binary:
      return binary(e);
    case Kind::call:
      return call(e);
    case Kind::word:
    case Kind::dot:
      fail(e, fmt::format("{} has no value here", deparse(e)));
  }
  return nullptr;
}

ValuesPtr Binder::binary(const Expression& e) {
  if (e.name == "%in%") return member_of(e);
  const Operation* const operation = find_operation(e.name);
  if (operation == nullptr) fail(e, fmt::format("'{}' is not arithmetic", e.name));
  const bool compares = operation->logical && e.name != "&" && e.name != "|";
  const std::string user = fmt::format("'{}'", e.name);
  if (!compares)
    return std::make_unique<Binary>(operation, number(e.arguments[0], user), number(e.arguments[1], user));
  ValuesPtr left = bind(e.arguments[0]), right = bind(e.arguments[1]);
  if (left->type == Type::factor || right->type == Type::factor)
    return comparison(e, std::move(left), std::move(right));
  // Not bound again: a comparison of comparisons would take a time that doubles with each level.
  return std::make_unique<Binary>(operation, as_number(std::move(left), e.arguments[0], user),
                                  as_number(std::move(right), e.arguments[1], user));
}

// Words compare as their places in the alphabet of both sides.
ValuesPtr Binder::comparison(const Expression& e, ValuesPtr left, ValuesPtr right) {
  for (const std::size_t side : {0U, 1U}) {
    ValuesPtr& values = side == 0 ? left : right;
    if (values->type == Type::factor) continue;
    // factor(month) == 3 compares with the level "3".
    const auto value = constant_number(e.arguments[side]);
    if (!value) {
      const std::size_t other = 1 - side;
      throw DataError(table_.source.name,
                      fmt::format("{}, but {} is a number: '{}' cannot compare them",
                                  text_words(e.arguments[other]), deparse(e.arguments[side]), e.name));
    }
    values = std::make_unique<Word>(number_label(*value));
  }
  std::vector<std::string> all = left->levels;
  all.insert(all.end(), right->levels.begin(), right->levels.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  const auto ranked = [&](ValuesPtr side) {
    const std::vector<std::uint32_t> places = places_in(all, side->levels);
    std::vector<double> ranks(places.begin(), places.end());
    return std::make_unique<LevelNumbers>(std::move(side), std::move(ranks), Type::number);
  };
  return std::make_unique<Binary>(find_operation(e.name), ranked(std::move(left)), ranked(std::move(right)));
}

// As in R, a missing value is in no list.
ValuesPtr Binder::member_of(const Expression& e) {
  ValuesPtr values = bind(e.arguments[0]);
  if (values->type == Type::factor) {
    const auto words = constant_words(e.arguments[1]);
    if (!words)
      fail(e.arguments[1], "the right side of %in% must be a list of words, as in x %in% c(\"a\", \"b\")");
    std::vector<double> in(values->levels.size(), 0);
    for (std::size_t k = 0; k < in.size(); ++k)
      if (std::find(words->begin(), words->end(), values->levels[k]) != words->end()) in[k] = 1;
    return std::make_unique<LevelMember>(std::move(values), std::move(in));
  }
  auto list = constant_numbers(e.arguments[1]);
  if (!list) fail(e.arguments[1], "the right side of %in% must be a list of numbers, as in x %in% c(1, 2)");
  if (list->empty()) fail(e.arguments[1], "the right side of %in% is an empty list");
  return std::make_unique<NumberMember>(as_number(std::move(values), e.arguments[0], "'%in%'"),
                                        std::move(*list));
}

ValuesPtr Binder::if_else(const Expression& e) {
  ValuesPtr test = number(*argument(e, "test"), "the test of ifelse()");
  ValuesPtr yes = bind(*argument(e, "yes")), no = bind(*argument(e, "no"));
  if ((yes->type == Type::factor) != (no->type == Type::factor))
    fail(e, "one result of ifelse() is text and the other a number");
  if (yes->width != 1 || no->width != 1) fail(e, "a result of ifelse() has several columns");
  return std::make_unique<IfElse>(std::move(test), std::move(yes), std::move(no));
}

ValuesPtr Binder::call(const Expression& e) {
  const syntax::Function& function = *syntax::find_function(e.name);
  const auto of = [&](const char* parameter) -> const Expression& { return *argument(e, parameter); };
  if (e.name == "log" && argument(e, "base") != nullptr) {
    const auto base = constant_number(of("base"));
    if (!base || !(*base > 0) || *base == 1)
      fail(of("base"), "the base of log() must be a number above 0 and not 1");
    return std::make_unique<Binary>(find_operation("/"),
                                    std::make_unique<Elementwise>(function.apply, number(of("x"), "log()")),
                                    std::make_unique<Constant>(std::log(*base), Type::number));
  }
  if (e.name == "round" && argument(e, "digits") != nullptr) {
    const auto digits = constant_number(of("digits"));
    if (!digits || *digits != std::floor(*digits) || std::fabs(*digits) > 15)
      fail(of("digits"), "the digits of round() must be a whole number from -15 to 15");
    const auto unit = [&] { return std::make_unique<Constant>(std::pow(10.0, *digits), Type::number); };
    ValuesPtr scaled = std::make_unique<Binary>(find_operation("*"), number(of("x"), "round()"), unit());
    return std::make_unique<Binary>(find_operation("/"),
                                    std::make_unique<Elementwise>(function.apply, std::move(scaled)), unit());
  }
  if (e.name == "I") return bind(e.arguments[0]);
  if (function.apply != nullptr)
    return std::make_unique<Elementwise>(function.apply, number(e.arguments[0], e.name + "()"));
  if (e.name == "is.na") {
    ValuesPtr values = bind(e.arguments[0]);
    check_width(*values, e.arguments[0], "is.na()");
    return std::make_unique<IsMissing>(std::move(values));
  }
  if (e.name == "pmin" || e.name == "pmax") {
    std::vector<ValuesPtr> parts;
    for (const Expression& part : e.arguments) parts.push_back(number(part, e.name + "()"));
    return std::make_unique<Extreme>(e.name == "pmin", std::move(parts));
  }
  if (e.name == "ifelse") return if_else(e);
  if (e.name == "factor" || e.name == "as.factor") return factor(e);
  if (e.name == "relevel") return relevel(e);
  if (e.name == "C") return contrasts(e);
  if (e.name == "cut") return cut(e);
  if (calendar::find_field(e.name)) return calendar(e);
  if (e.name == "scale" || e.name == "poly" || e.name == "bs" || e.name == "ns") return basis(e);
  fail(e, e.name == "c" ? "a list has no value for each row; c() is for lists such as x %in% c(1, 2)"
                        : fmt::format("{}() has no value here", e.name));
}

// ---- functions that learn from all rows

ValuesPtr Binder::basis(const Expression& e) {
  ValuesPtr x = number(*argument(e, "x"), e.name + "()");
  const auto constant = [&](const char* parameter) -> std::optional<double> {
    const Expression* const given = argument(e, parameter);
    if (given == nullptr) return std::nullopt;
    const auto value = constant_number(*given);
    if (!value)
      fail(*given, fmt::format("\"{}\" of {}() must be a number, TRUE or FALSE", parameter, e.name));
    return value;
  };
  const auto list = [&](const char* parameter) -> std::optional<std::vector<double>> {
    const Expression* const given = argument(e, parameter);
    if (given == nullptr) return std::nullopt;
    auto values = constant_numbers(*given);
    if (!values)
      fail(*given, fmt::format("\"{}\" of {}() must be numbers, as in c(1, 2)", parameter, e.name));
    return values;
  };
  const std::string name = deparse(e);
  basis::State state;
  if (const Learnt* const entry = known(name)) {
    state.numbers = entry->numbers;
  } else {
    const std::vector<double> values = complete(*x);
    try {
      if (e.name == "scale") {
        state = basis::learn_scale(values, {.centre = constant("center").value_or(1) != 0,
                                            .scale = constant("scale").value_or(1) != 0});
      } else if (e.name == "poly") {
        state = basis::learn_poly(values,
                                  {.degree = *constant("degree"), .raw = constant("raw").value_or(0) != 0});
      } else {
        basis::SplineOptions options{.df = constant("df"),
                                     .knots = list("knots"),
                                     .intercept = constant("intercept").value_or(0) != 0,
                                     .boundary = {}};
        if (const auto ends = list("Boundary.knots")) {
          if (ends->size() != 2) fail(*argument(e, "Boundary.knots"), "Boundary.knots must be two numbers");
          options.boundary = {(*ends)[0], (*ends)[1]};
        }
        if (e.name == "bs") options.degree = constant("degree").value_or(3);
        state = e.name == "bs" ? basis::learn_bs(values, options) : basis::learn_ns(values, options);
      }
    } catch (const UsageError& error) {
      fail(e, error.what());
    }
    learnt_.push_back({.expression = name, .numbers = state.numbers, .levels = {}});
  }
  if (e.name == "scale")
    return std::make_unique<Learned>(std::move(x), std::move(state), basis::apply_scale, 1);
  const std::size_t width = e.name == "poly" ? basis::poly_width(state)
                            : e.name == "bs" ? basis::bs_width(state)
                                             : basis::ns_width(state);
  return std::make_unique<Learned>(std::move(x), std::move(state),
                                   e.name == "poly" ? basis::apply_poly
                                   : e.name == "bs" ? basis::apply_bs
                                                    : basis::apply_ns,
                                   width);
}

ValuesPtr Binder::cut(const Expression& e) {
  ValuesPtr x = number(*argument(e, "x"), "cut()");
  const auto flag = [&](const char* parameter, bool otherwise) {
    const Expression* const given = argument(e, parameter);
    if (given == nullptr) return otherwise;
    const auto value = constant_number(*given);
    if (!value) fail(*given, fmt::format("\"{}\" of cut() must be TRUE or FALSE", parameter));
    return *value != 0;
  };
  breaks::State state;
  const std::string name = deparse(e);
  // The key is not that of the factor itself, whose levels are those that occur.
  const std::string key = "breaks of " + name;
  if (const Learnt* const entry = known(key)) {
    if (entry->numbers.size() < 2)
      throw DataError(table_.source.name, fmt::format("{}: damaged break points", name));
    state.right = entry->numbers[0] != 0;
    state.include_lowest = entry->numbers[1] != 0;
    state.points.assign(entry->numbers.begin() + 2, entry->numbers.end());
    state.labels = entry->levels;
  } else {
    breaks::Options options;
    auto points = constant_numbers(*argument(e, "breaks"));
    if (!points) fail(*argument(e, "breaks"), "\"breaks\" of cut() must be numbers, as in c(0, 10, Inf)");
    options.breaks = std::move(*points);
    if (const Expression* const labels = argument(e, "labels")) {
      auto words = constant_words(*labels);
      if (!words) fail(*labels, "\"labels\" of cut() must be words, as in c(\"low\", \"high\")");
      options.labels = std::move(words);
    }
    options.right = flag("right", true);
    options.include_lowest = flag("include.lowest", false);
    try {
      state = breaks::learn(complete(*x), options);
    } catch (const UsageError& error) {
      fail(e, error.what());
    }
    Learnt made{.expression = key,
                .numbers = {state.right ? 1.0 : 0.0, state.include_lowest ? 1.0 : 0.0},
                .levels = state.labels};
    made.numbers.insert(made.numbers.end(), state.points.begin(), state.points.end());
    learnt_.push_back(std::move(made));
  }
  return std::make_unique<Intervals>(std::move(x), std::move(state));
}

// ---- factors

ValuesPtr Binder::factor(const Expression& e) {
  const Expression& x = *argument(e, "x");
  ValuesPtr values = as_factor(bind(x), x);
  const Expression* const given = argument(e, "levels");
  const Expression* const labels = argument(e, "labels");
  std::vector<std::string> levels = values->levels;
  if (given != nullptr) {
    auto words = constant_words(*given);
    if (!words) fail(*given, "\"levels\" of factor() must be a list, as in c(\"a\", \"b\")");
    levels = std::move(*words);
    std::vector<std::string> sorted = levels;
    std::sort(sorted.begin(), sorted.end());
    if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
      fail(*given, fmt::format("the level {} is there twice", csv::quoted(*twice)));
  }
  std::uint32_t elsewhere = missing_level;  // the code of a value that is not among the levels
  if (labels != nullptr && given == nullptr) {
    // The labels belong to the levels of the fit, whichever of them new data have.
    const std::string key = "levels of " + deparse(e);
    if (const Learnt* const entry = known(key)) {
      levels = entry->levels;
      elsewhere = unknown_level;
    } else {
      learnt_.push_back({.expression = key, .numbers = {}, .levels = levels});
    }
  }
  std::vector<std::uint32_t> places = places_in(levels, values->levels, elsewhere);
  if (labels != nullptr) {
    auto words = constant_words(*labels);
    if (!words || words->size() != levels.size())
      fail(*labels,
           fmt::format("\"labels\" of factor() must be {}, one per level", counted(levels.size(), "word")));
    levels = std::move(*words);
  }
  if (given == nullptr && labels == nullptr) return values;
  return std::make_unique<Relabelled>(std::move(values), std::move(levels), std::move(places));
}

ValuesPtr Binder::relevel(const Expression& e) {
  const Expression& x = *argument(e, "x");
  ValuesPtr values = as_factor(bind(x), x);
  const Expression& ref = *argument(e, "ref");
  const auto word = constant_words(ref);
  if (!word || word->size() != 1)
    fail(ref, "\"ref\" of relevel() must be one level, as in relevel(x, ref = \"b\")");
  std::vector<std::string> levels = values->levels;
  const auto found = std::find(levels.begin(), levels.end(), word->front());
  // For new data a level may be missing; there the fit's levels count.
  if (found == levels.end() && known(deparse(e)) == nullptr) {
    const std::size_t shown = std::min<std::size_t>(levels.size(), 10);
    fail(ref,
         fmt::format("{} has no level {}; its levels are {}{}", deparse(x), csv::quoted(word->front()),
                     fmt::join(levels.begin(), levels.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                     shown < levels.size() ? ", ..." : ""));
  }
  if (found != levels.end()) std::rotate(levels.begin(), found, found + 1);
  std::vector<std::uint32_t> places = places_in(levels, values->levels);
  return std::make_unique<Relabelled>(std::move(values), std::move(levels), std::move(places));
}

ValuesPtr Binder::contrasts(const Expression& e) {
  const Expression& x = *argument(e, "object");
  ValuesPtr values = as_factor(bind(x), x);
  if (const Expression* const contr = argument(e, "contr")) {
    const std::string name = contr->kind == Kind::word || contr->kind == Kind::text ? contr->name : "";
    if (name == "contr.treatment" || name == "treatment")
      values->contrast = Contrast::treatment;
    else if (name == "contr.sum" || name == "sum")
      values->contrast = Contrast::sum;
    else if (name == "contr.helmert" || name == "helmert")
      values->contrast = Contrast::helmert;
    else
      fail(*contr, "the contrasts are contr.treatment, contr.sum and contr.helmert");
  }
  if (const Expression* const base = argument(e, "base")) {
    const auto place = constant_number(*base);
    if (known(deparse(e)) != nullptr)
      return values;  // new data may have fewer levels; those of the fit count
    if (values->contrast != Contrast::treatment || !place || *place != std::floor(*place) || *place < 1 ||
        *place > static_cast<double>(values->levels.size()))
      fail(*base, fmt::format("\"base\" is for contr.treatment: the number of a level, 1 to {}",
                              values->levels.size()));
    values->base = static_cast<std::size_t>(*place) - 1;
  }
  return values;
}

ValuesPtr Binder::calendar(const Expression& e) {
  const calendar::Field field = *calendar::find_field(e.name);
  const Expression& x = *argument(e, "x");
  ValuesPtr values = bind(x);
  if (values->type != Type::factor)
    fail(e, fmt::format("{}() needs a date such as 2024-02-29, but {} is a number", e.name, deparse(x)));
  std::vector<double> numbers;
  numbers.reserve(values->levels.size());
  for (const std::string& level : values->levels) {
    std::string why;
    const auto moment = calendar::parse(level, &why);
    if (!moment)
      throw DataError(place_of(x, level),
                      fmt::format("{}: {} is not a date in ISO form, as 2024-02-29: {}; correct it, or list "
                                  "the spelling with `na` if it means missing",
                                  deparse(e), csv::quoted(level), why));
    numbers.push_back(calendar::value(*moment, field));
  }
  return std::make_unique<LevelNumbers>(std::move(values), std::move(numbers), Type::number);
}

}  // namespace mlo
