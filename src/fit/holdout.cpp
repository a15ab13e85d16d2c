// Copyright (c) the mlo authors. BSD-3-Clause.
#include "fit/holdout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "fit/group_rows.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/base/thread_pool.hpp"
#include "mlo/diagnose/class_predictions.hpp"
#include "mlo/model/family.hpp"
#include "mlo/model/softmax.hpp"

namespace mlo {
namespace {

const Formula& without_counts(const Formula& formula, const FitOptions& options) {
  const Expression& response = formula.response;
  if (!find_family(options.family)->counted && response.kind == Expression::Kind::call &&
      response.name == "cbind")
    throw UsageError("`holdout` and cbind() cannot be used together: scores are of single rows");
  return formula;
}

// A level that occurs in held-out rows alone has no coefficient: such a row is not scored.
NewRowOptions row_options(const FitOptions& options) {
  return {.response = true,
          .missing = options.missing == "error" ? Missing::error : Missing::drop,
          .new_levels = NewLevels::missing};
}

}  // namespace

HeldOutRows::HeldOutRows(const FitOptions& options, const Formula& formula, const Recipe& recipe, Table table)
    : table_(std::move(table)),
      rows_(without_counts(formula, options), recipe, table_, row_options(options)),
      laws_(laws_of(formula, recipe)),
      groups_(row_groups(rows_, table_.rows)),
      y_(table_.rows),
      complete_(table_.rows) {
  const FamilySpec& family = *find_family(options.family);
  constexpr std::size_t part = 1024;
  std::vector<double> x(part * rows_.dim()), offsets(part);
  for (std::size_t first = 0; first < size(); first += part) {
    const std::size_t count = std::min(part, size() - first);
    const std::vector<NewRows::GroupBlock> blocks = group_blocks(rows_, groups_, first, count);
    rows_.fill(first, {.x = std::span(x).first(count * rows_.dim()),
                       .offsets = std::span(offsets).first(count),
                       .y = std::span(y_).subspan(first, count),
                       .complete = std::span(complete_).subspan(first, count),
                       .groups = blocks});
  }
  for (std::size_t i = 0; i < size() && family.accepts != nullptr; ++i)
    if (complete_[i] != 0 && !family.accepts(y_[i]))
      throw DataError(rows_.place(i),
                      fmt::format("response \"{}\": the responses of a {} model are {} (got {})",
                                  deparse(formula.response), family.name, family.response, y_[i]));
  if (family.classes) code_classes(formula, recipe);
  if (std::count(complete_.begin(), complete_.end(), char{1}) == 0)
    throw DataError(table_.source.name,
                    fmt::format("`holdout {}`: each of the {} rows that were held out has a missing cell",
                                *options.holdout, size()));
}

// Responses become numbers of classes. A class that the rows of the fit do not have is not scored.
void HeldOutRows::code_classes(const Formula& formula, const Recipe& recipe) {
  classes_ = recipe.classes;
  const std::string response = deparse(formula.response);
  const auto learnt = std::find_if(recipe.learnt.begin(), recipe.learnt.end(), [&](const Learnt& entry) {
    return entry.expression == response && !entry.levels.empty();
  });
  for (std::size_t i = 0; i < size(); ++i) {
    if (complete_[i] == 0) continue;
    const std::string name =
        learnt == recipe.learnt.end() ? class_name(y_[i]) : learnt->levels[static_cast<std::size_t>(y_[i])];
    const auto at = std::find(classes_.begin(), classes_.end(), name);
    complete_[i] = at == classes_.end() ? 0 : 1;
    y_[i] = at == classes_.end() ? 0 : static_cast<double>(at - classes_.begin());
  }
}

std::size_t HeldOutRows::new_groups() const noexcept {
  std::size_t out = 0;
  for (std::size_t i = 0; i < size(); ++i)
    out += complete_[i] != 0 &&
                   std::any_of(groups_.begin(), groups_.end(),
                               [&](const RowGroups& term) { return term.codes[i] == GroupDraws::new_level; })
               ? 1
               : 0;
  return out;
}

Scores HeldOutRows::score(const FitOptions& options, std::span<const ChainDraws> chains) const {
  ThreadPool pool(static_cast<std::size_t>(options.threads));
  const auto fill = [this](std::size_t first, std::span<double> x, std::span<double> offsets) {
    std::vector<double> y(offsets.size());
    std::vector<char> complete(offsets.size());
    rows_.fill(first, {.x = x, .offsets = offsets, .y = y, .complete = complete});
  };
  if (!classes_.empty())
    return ClassPredictor(chains, rows_.dim(), classes_.size())
        .score({.y = y_, .complete = complete_, .fill = fill}, classes_, pool);
  const std::shared_ptr<const Family> family = make_family(options.family, options.numbers);
  const PosteriorDraws draws(chains, rows_.dim(), family->estimates_second());
  if (laws_.empty()) return mlo::score(*family, draws, {.y = y_, .complete = complete_, .fill = fill}, pool);
  GroupDraws effects(chains, laws_, rows_.dim() + (family->estimates_second() ? 1 : 0),
                     {.sample = true, .seed = *options.seed});
  effects.prepare(groups_, pool);
  const auto more = [&](std::size_t row, std::size_t first, std::span<double> eta) {
    effects.add(groups_, row, first, eta);
  };
  return mlo::score(*family, draws, {.y = y_, .complete = complete_, .fill = fill, .more = more}, pool);
}

}  // namespace mlo
