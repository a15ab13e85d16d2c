// Copyright (c) the mlo authors. BSD-3-Clause.
#include "fit/holdout.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mlo/base/errors.hpp"
#include "mlo/base/thread_pool.hpp"
#include "mlo/data/new_rows.hpp"
#include "mlo/model/family.hpp"

namespace mlo {
namespace {

// The complete rows.
ScoredRows scored_rows(const Family& family, const NewRows& all, const std::string& response) {
  ScoredRows out;
  const std::size_t dim = all.dim();
  constexpr std::size_t part = 1024;
  std::vector<double> x(part * dim), offsets(part), y(part);
  std::vector<char> complete(part);
  for (std::size_t first = 0; first < all.rows(); first += part) {
    const std::size_t count = std::min(part, all.rows() - first);
    all.fill(first, {.x = std::span(x).first(count * dim),
                     .offsets = std::span(offsets).first(count),
                     .y = std::span(y).first(count),
                     .complete = std::span(complete).first(count)});
    for (std::size_t i = 0; i < count; ++i) {
      if (complete[i] == 0) continue;
      const FamilySpec& spec = family.spec();
      if (spec.accepts != nullptr && !spec.accepts(y[i]))
        throw DataError(all.place(first + i),
                        fmt::format("response \"{}\": the responses of a {} model are {} (got {})", response,
                                    spec.name, spec.response, y[i]));
      const auto row = x.begin() + static_cast<std::ptrdiff_t>(i * dim);
      out.x.insert(out.x.end(), row, row + static_cast<std::ptrdiff_t>(dim));
      out.offsets.push_back(offsets[i]);
      out.y.push_back(y[i]);
    }
  }
  return out;
}

}  // namespace

HeldOut read_held_out(const FitOptions& options, const Formula& formula, const Recipe& recipe,
                      const Table& table) {
  if (formula.response.kind == Expression::Kind::call && formula.response.name == "cbind")
    throw UsageError(
        "`holdout` and a response of counts, cbind(), do not go together: rows are scored one by one");
  const std::shared_ptr<const Family> family = make_family(options.family, options.numbers);
  if (const Expression& response = formula.response;
      response.kind == Expression::Kind::call && response.name == "cbind")
    throw UsageError("`holdout` and cbind() cannot be used together: scores are of single rows");
  // A level that occurs in held-out rows alone has no coefficient.
  const NewRows all(formula, recipe, table,
                    {.response = true,
                     .missing = options.missing == "error" ? Missing::error : Missing::drop,
                     .new_levels = NewLevels::missing});
  HeldOut held{scored_rows(*family, all, deparse(formula.response)), all.rows()};
  if (held.rows.size() == 0)
    throw DataError(table.source.name,
                    fmt::format("`holdout {}`: each of the {} rows that were held out has a missing cell",
                                *options.holdout, all.rows()));
  return held;
}

Scores score_held_out(const FitOptions& options, const HeldOut& held, std::span<const ChainDraws> chains) {
  const std::shared_ptr<const Family> family = make_family(options.family, options.numbers);
  const bool second = family->estimates_second();
  const PosteriorDraws draws(chains, chains[0].dim - (second ? 1 : 0), second);
  ThreadPool pool(static_cast<std::size_t>(options.threads));
  Scores scores = score(*family, draws, held.rows, pool);
  scores.missing = held.total - held.rows.size();
  return scores;
}

}  // namespace mlo
