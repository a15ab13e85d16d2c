// Copyright (c) the mlo authors. BSD-3-Clause.
#include "data/design_response.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "data/formula_syntax.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/data/outcome.hpp"
#include "mlo/data/text_columns.hpp"

namespace mlo {
namespace {

Single column(Binder& binder, const std::string& name, const std::string& user) {
  const Expression e{.kind = Expression::Kind::name, .name = name};
  return {.expression = e, .values = binder.number(e, user)};
}

}  // namespace

ResponseReader::ResponseReader(const Formula& formula, const Table& table, const DesignOptions& options,
                               Binder& binder)
    : formula_(formula), table_(table), options_(options) {
  bind_response(binder);
  for (const Expression& offset : formula.offsets)
    offsets_.push_back({.expression = offset, .values = binder.number(offset.arguments[0], "offset()")});
  if (!options.row_weights.empty()) weights_.push_back(column(binder, options.row_weights, "`row-weights`"));
}

void ResponseReader::bind_response(Binder& binder) {
  const Expression& response = syntax::without_groups(formula_.response);
  if (response.kind == Expression::Kind::call && response.name == "cbind") {
    for (const char* const part : {"successes", "failures"}) {
      const Expression& count = *syntax::argument(response, part);
      counts_.push_back({.expression = count, .values = binder.number(count, "cbind()")});
    }
    if (!options_.trials.empty())
      throw UsageError(
          "`trials` is for a response that is a share; cbind(successes, failures) has its trials");
    return;
  }
  ValuesPtr values = binder.bind(formula_.response);
  if (values->type == Values::Type::factor) {
    values = binder.variable(formula_.response);
    levels_ = values->levels;
    for (const Column& text : table_.columns)
      if (formula_.response.kind == Expression::Kind::name && text.name == formula_.response.name &&
          text.is_text() && levels_.size() > 2 && mostly_numbers(text.text()))
        throw not_numbers(table_, text);
    if (!options_.trials.empty())
      throw UsageError("`trials` needs a response that is a number: the share of successes");
  } else {
    values = binder.number(formula_.response, "the response");
  }
  counts_.push_back({.expression = formula_.response, .values = std::move(values)});
  if (!options_.trials.empty()) trials_.push_back(column(binder, options_.trials, "`trials`"));
}

void ResponseReader::evaluate(std::size_t first, std::size_t count) {
  const auto single = [&](Single& part) {
    if (part.values->type == Values::Type::factor) {
      std::vector<std::uint32_t> codes(count);
      part.values->codes(first, codes);
      for (std::size_t i = 0; i < count; ++i)
        part.block[i] = codes[i] >= unknown_level ? std::nan("") : static_cast<double>(codes[i]);
    } else {
      part.values->numbers(first, count, part.block);
    }
  };
  for (Single& part : counts_) single(part);
  for (Single& part : offsets_) single(part);
  for (Single& part : weights_) single(part);
  for (Single& part : trials_) single(part);
}

void ResponseReader::check_counts(std::size_t first, std::span<const char> keep) const {
  for (std::size_t i = 0; i < keep.size(); ++i) {
    if (keep[i] == 0) continue;
    if (!trials_.empty()) {
      const double trials = trials_[0].block[i], successes = trials * counts_[0].block[i];
      if (trials != std::floor(trials) || std::fabs(successes - std::round(successes)) > 1e-6 * trials)
        throw DataError(table_.source.place(first + i),
                        fmt::format("{} of {} = {} trials are {} successes; both must be whole numbers",
                                    deparse(formula_.response), options_.trials, trials, successes));
    }
    if (counts_.size() != 2) continue;
    for (const Single& part : counts_)
      if (part.block[i] < 0 || part.block[i] != std::floor(part.block[i]))
        throw DataError(table_.source.place(first + i),
                        fmt::format("cbind(): {} is {}; it must be a whole number of at least 0",
                                    deparse(part.expression), part.block[i]));
  }
}

// Outcomes instead of counts. A row's weight is then that of its outcome: the trials are none.
void ResponseReader::pack_outcomes(std::size_t first, std::span<const char> keep) {
  for (std::size_t i = 0; i < keep.size(); ++i) {
    if (keep[i] == 0) continue;
    const bool pair = counts_.size() == 2;
    const double trials = pair ? counts_[0].block[i] + counts_[1].block[i] : trials_[0].block[i];
    const double successes = pair ? counts_[0].block[i] : std::round(trials * counts_[0].block[i]);
    if (!(successes >= 0 && successes <= trials && trials <= Outcome::most_trials))
      throw DataError(
          table_.source.place(first + i),
          fmt::format("response \"{}\": {} successes of {} trials; there may be 0 to {} trials, and no more "
                      "successes than trials",
                      deparse(formula_.response), successes, trials, Outcome::most_trials));
    y_[i] = Outcome{successes, trials}.packed();
    if (trials == 0) weight_[i] = 0;
  }
}

std::size_t ResponseReader::combine(std::size_t first, std::span<char> keep) {
  const std::size_t count = keep.size();
  y_.assign(counts_[0].block.begin(), counts_[0].block.begin() + static_cast<std::ptrdiff_t>(count));
  offset_.assign(count, 0);
  for (const Single& part : offsets_)
    for (std::size_t i = 0; i < count; ++i) offset_[i] += part.block[i];
  weight_.assign(count, 1);
  for (const std::vector<Single>* parts : {&trials_, &weights_})
    for (const Single& part : *parts)
      for (std::size_t i = 0; i < count; ++i) {
        if (keep[i] != 0 && part.block[i] < 0)
          throw DataError(table_.source.place(first + i),
                          fmt::format("the weight {} is {}; it must not be negative; 0 leaves a row out",
                                      deparse(part.expression), part.block[i]));
        if (parts == &weights_ || !counted()) weight_[i] *= part.block[i];
      }
  check_counts(first, keep);
  if (counted())
    pack_outcomes(first, keep);
  else if (counts_.size() == 2)
    for (std::size_t i = 0; i < count; ++i) {
      const double trials = counts_[0].block[i] + counts_[1].block[i];
      y_[i] = trials > 0 ? counts_[0].block[i] / trials : 0;
      weight_[i] *= trials;
    }
  std::size_t weightless = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (keep[i] == 0) continue;
    if (!std::isfinite(offset_[i]))
      cells_.refuse("the sum of offsets", offset_[i], formula_.offsets, first + i);
    if (weight_[i] > 0) continue;
    keep[i] = 0;
    ++weightless;
  }
  return weightless;
}

}  // namespace mlo
