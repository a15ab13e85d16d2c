// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/method/option_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>

#include "method/rules.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/base/json.hpp"
#include "mlo/kernel/block.hpp"
#include "mlo/kernel/weierstrass.hpp"
#include "mlo/method/plan.hpp"
#include "mlo/model/family.hpp"
#include "mlo/model/prior.hpp"
#include "mlo/subsample/weights.hpp"

namespace mlo {
namespace {

using Group = Option::Group;
using Pairs = std::vector<std::pair<std::string, std::string>>;

// ---- who uses an option

bool has_parts(const MethodSpec& m) { return m.parts.has_value(); }
bool has_size(const MethodSpec& m) { return m.parts || m.blocks; }
bool has_growth(const MethodSpec& m) { return m.parts && m.parts->rule->grows; }
bool has_delta(const MethodSpec& m) { return m.parts && m.parts->rule->delta; }
bool has_noise_sd(const MethodSpec& m) { return m.parts && m.parts->rule->noise_sd; }
bool has_bound(const MethodSpec& m) { return m.parts && m.parts->rule->bound; }
bool has_blocks(const MethodSpec& m) { return m.blocks; }
bool has_shards(const MethodSpec& m) { return m.shards; }
bool has_proposal(const MethodSpec& m) { return m.proposals; }
bool has_bandwidth(const MethodSpec& m) { return m.bandwidth; }
bool is_exact(const MethodSpec& m) { return m.role == Role::exact; }
bool may_be_exact(const MethodSpec& m) { return m.role == Role::exact || m.role == Role::automatic; }
bool has_shape(const MethodSpec& m) { return has_proposal(m) && !may_be_exact(m); }
// Whether its weights can be other than uniform.
bool has_weights(const MethodSpec& m) {
  return m.parts && m.role != Role::uniform && !m.parts->rule->needs_bounds;
}
bool has_point(const MethodSpec& m) { return has_weights(m) && m.role != Role::difference; }

// ---- the rows

constexpr double billion = 1e9;  // products of two of them still fit

ValueRule one_of(std::vector<std::string_view> words) { return {.one_of = std::move(words)}; }
ValueRule between(double least, double most) { return {.least = least, .most = most}; }
const ValueRule positive{.positive = true};
const ValueRule a_prior{.prior = true};

// A number that several families have is one option.
std::vector<Option> family_options() {
  std::vector<Option> out;
  for (const FamilySpec* family : families())
    for (const FamilyNumber& n : family->numbers) {
      const std::string usual = n.usual ? fmt::format("default {}", *n.usual) : "default: estimated";
      const std::string help = fmt::format("{}: {} ({})", family->name, n.help, usual);
      const auto same =
          std::find_if(out.begin(), out.end(), [&](const Option& o) { return o.name == n.name; });
      if (same != out.end()) {
        same->help += "; " + help;
      } else {
        out.push_back(
            {.name = std::string(n.name), .group = Group::model, .field = std::monostate(), .help = help});
      }
    }
  return out;
}

std::vector<Option> file_options() {
  return {
      {.name = "delimiter",
       .group = Group::model,
       .field = &FitOptions::delimiter,
       .help = "CSV: the character between cells, or tab. Default: , ; tab or |, whichever fits the header "
               "and the first rows"},
      {.name = "decimal",
       .group = Group::model,
       .field = &FitOptions::decimal,
       .help = "CSV: the decimal mark. Default: a point, or a comma where the delimiter is not a comma and "
               "the first rows have numbers such as 0,5",
       .rule = one_of({".", ","})},
      {.name = "comment",
       .group = Group::model,
       .field = &FitOptions::comment,
       .help = "CSV: lines that start with this character are skipped. Default: no comments"},
      {.name = "na",
       .group = Group::model,
       .field = &FitOptions::na,
       .help = "Spellings of a missing cell besides the empty one, with commas between them. Default: "
               "NA,N/A,NULL,null"},
      {.name = "type",
       .group = Group::model,
       .field = &FitOptions::types,
       .help = "COLUMN=text or COLUMN=number: the type of a column; may be repeated. Default: number if all "
               "cells that are not missing are numbers",
       .rule = one_of({"text", "number"})}};
}

std::vector<Option> model_options() {
  std::vector<Option> rows{
      {.name = "data",
       .group = Group::argument,
       .field = &FitOptions::data,
       .help =
           "Files with the same columns, or a pattern such as \"part-*.csv\": CSV (plain, gzip or zstd), Parquet, "
           "JSON lines, .npy; - is standard input"},
      {.name = "formula",
       .group = Group::argument,
       .field = &FitOptions::formula,
       .help = "R's formula, e.g. \"y ~ x1 + log(x2)\" or \"I(delay > 15) ~ distance\""},
      {.name = "family",
       .group = Group::model,
       .field = &FitOptions::family,
       .help = fmt::format("Family of the response: {}", family_names())},
      {.name = "base",
       .group = Group::model,
       .field = &FitOptions::base,
       .help =
           "softmax: the class that the others are compared with. Default: the first, in the order of bytes "
           "or of numbers"},
      {.name = "prior",
       .group = Group::model,
       .field = &FitOptions::prior,
       .help = "Prior of the coefficients: normal(m,s), student_t(df,m,s), cauchy(m,s), "
               "laplace(m,s), flat. Default: normal(0, 2.5 s / sd of the column), where "
               "s is 1, or for gaussian, gaussian-mean and student the sd of the "
               "response (student: a robust one)",
       .rule = a_prior},
      {.name = "prior-intercept",
       .group = Group::model,
       .field = &FitOptions::prior_intercept,
       .help = "Prior of the intercept. Default: normal(m, 10 s) at the columns' means, "
               "where m is 0, or for gaussian and gaussian-mean the mean of the "
               "response, for student its median",
       .rule = a_prior},
      {.name = "prior-for",
       .group = Group::model,
       .field = &FitOptions::prior_for,
       .help = "NAME PRIOR: prior of one parameter; may be repeated. Positive parameters "
               "(sigma, size, shape, phi, tau) also take gamma(shape,rate) and "
               "exponential(rate), zi beta(a,b)",
       .rule = a_prior},
      {.name = "prior-sd",
       .group = Group::model,
       .field = &FitOptions::prior_sd,
       .help = "Prior of the standard deviations of group effects, of which the part above 0 holds; for one "
               "of them, `prior-for` sd_GROUP__EFFECT. Default: student_t(3, 0, 2.5), or with the sd of the "
               "response in place of 2.5 if that is larger",
       .rule = a_prior},
      {.name = "prior-cor",
       .group = Group::model,
       .field = &FitOptions::prior_cor,
       .help = "Prior of the correlations of group effects: lkj(SHAPE). Default: lkj(1), uniform"}};
  rows.push_back(
      {.name = "sql",
       .group = Group::model,
       .field = &FitOptions::sql,
       .help = "The data are the rows of this query, run by DuckDB, e.g. \"select * from 'data.parquet' "
               "where year > 2020\"; then `data` is left out, or is a DuckDB database"});
  for (Option& option : family_options()) rows.push_back(std::move(option));
  rows.push_back({.name = "scale",
                  .group = Group::model,
                  .field = &FitOptions::scale,
                  .help = "Scale of the columns: none, sd (divided by their sd), standard (centred and "
                          "divided). Coefficients and priors refer to the scaled columns",
                  .rule = one_of({"none", "sd", "standard"})});
  rows.push_back({.name = "missing",
                  .group = Group::model,
                  .field = &FitOptions::missing,
                  .help = "Rows with missing cells: drop or error",
                  .rule = one_of({"drop", "error"})});
  rows.push_back({.name = "holdout",
                  .group = Group::model,
                  .field = &FitOptions::holdout,
                  .help = "Share of the rows that the fit does not see, chosen by the seed and the row's "
                          "number; the draws are scored on them. Default: none",
                  .rule = {.least = 0, .most = 1, .open = true}});
  rows.push_back({.name = "save-groups",
                  .group = Group::model,
                  .field = &FitOptions::save_groups,
                  .help = "What is kept of group effects: yes for all draws, summary for means, sds and "
                          "intervals, no for nothing. Default: yes up to 200 MB of draws, otherwise summary",
                  .rule = one_of({"yes", "no", "summary"})});
  rows.push_back({.name = "max-levels",
                  .group = Group::model,
                  .field = &FitOptions::max_levels,
                  .help = "The most levels that one factor may have. A text column with more is usually an "
                          "identifier",
                  .rule = between(2, 4e6)});
  rows.push_back({.name = "row-weights",
                  .group = Group::model,
                  .field = &FitOptions::row_weights,
                  .help = "A column of frequencies: a row counts as often as it says. Default: once"});
  rows.push_back(
      {.name = "trials",
       .group = Group::model,
       .field = &FitOptions::trials,
       .help = "logistic and beta-binomial: a column of numbers of trials; the response is then the share of "
               "successes. The same as cbind(successes, failures) as the response"});
  for (Option& option : file_options()) rows.push_back(std::move(option));
  return rows;
}

std::vector<Option> method_options() {
  return {
      {.name = "method",
       .field = &FitOptions::method,
       .help = fmt::format("Method: {}. See mlo methods", method_names())},
      {.name = "subsample-size",
       .field = &FitOptions::subsample_size,
       .help = fmt::format("Rows read in each step; the first look of methods that may read more. Default: 1 "
                           "% of the rows, at least 1000 (mlo-adaptive 0.1 %, at least 100; austerity 500; "
                           "confidence and barker 100; block {}; difference, and penalty with control "
                           "variates, 20), at most all",
                           BlockOptions{}.subsample_size),
       .used_by = has_size,
       .of_method = true},
      {.name = "max-subsample-size",
       .field = &FitOptions::max_subsample_size,
       .help =
           "mlo-adaptive, penalty, difference, austerity, barker: the most rows per step. Default: 5 % of "
           "the rows, but at least the subsample size (difference: at least 1000); all rows for austerity, "
           "barker and penalty",
       .used_by = has_growth,
       .of_method = true},
      {.name = "delta",
       .field = &FitOptions::delta,
       .help = fmt::format(
           "mlo-adaptive, austerity, confidence: the probability of a wrong decision to aim at. Default: {} "
           "(confidence {})",
           find_method("mlo-adaptive")->parts->rule->usual_delta,
           find_method("confidence")->parts->rule->usual_delta),
       .rule = {.least = 0, .most = 1, .open = true},
       .used_by = has_delta,
       .of_method = true},
      {.name = "estimator",
       .field = &FitOptions::estimator,
       .help =
           "What is added up over the rows that are read: plain differences of the log-likelihood, or what "
           "control-variates leave of them. Default: plain (control-variates for difference)",
       .rule = one_of({"plain", "control-variates"}),
       .used_by = has_parts,
       .of_method = true},
      {.name = "weights",
       .field = &FitOptions::weights,
       .help = "Subsampling weights: uniform, mlo, score; with control variates also remainder. Default: mlo "
               "for mlo, mlo-adaptive and penalty, remainder for difference, else uniform",
       .rule = one_of({"uniform", "mlo", "score", "remainder"}),
       .used_by = has_parts,
       .of_method = true},
      {.name = "weights-at",
       .field = &FitOptions::weights_at,
       .help = "The parameters at which the weights are computed: mle, map, or \"v1,v2,...\". Default: mle",
       .used_by = has_point,
       .of_method = true},
      {.name = "uniform-share",
       .field = &FitOptions::uniform_share,
       .help = fmt::format("Share of uniform weight mixed in, so that no row has weight 0. Default: {} "
                           "(remainder weights {})",
                           usual_uniform_share, usual_remainder_share),
       .rule = between(0, 1),
       .used_by = has_weights,
       .of_method = true},
      {.name = "replacement",
       .field = &FitOptions::replacement,
       .help = "Draw rows with replacement: yes or no. Default: no for uniform, austerity, confidence and "
               "barker, else yes",
       .rule = one_of({"yes", "no"}),
       .used_by = has_parts,
       .of_method = true},
      {.name = "noise-sd",
       .field = &FitOptions::noise_sd,
       .help = fmt::format(
           "penalty, difference: rows are read until the noise of the log acceptance ratio is below this. "
           "Default: {} ({} with control variates)",
           find_method("penalty")->parts->rule->usual_noise_sd,
           find_method("penalty")->parts->rule->usual_variates_noise_sd),
       .rule = positive,
       .used_by = has_noise_sd,
       .of_method = true},
      {.name = "bound",
       .field = &FitOptions::bound,
       .help = "confidence: the concentration bound, bernstein (default) or hoeffding",
       .rule = one_of({"bernstein", "hoeffding"}),
       .used_by = has_bound,
       .of_method = true},
      {.name = "blocks",
       .field = &FitOptions::blocks,
       .help = fmt::format(
           "block: number of blocks of the subsample; each step draws one of them anew. Default: {}",
           BlockOptions{}.blocks),
       .rule = between(1, billion),
       .used_by = has_blocks,
       .of_method = true},
      {.name = "shards",
       .field = &FitOptions::shards,
       .help = fmt::format(
           "consensus, weierstrass: parts the rows are divided into. Default: {}, at most one per row",
           usual_shards),
       .rule = between(1, 10'000),
       .used_by = has_shards,
       .of_method = true},
      {.name = "bandwidth",
       .field = &FitOptions::bandwidth,
       .help = fmt::format(
           "weierstrass: width of the kernel that ties the shards together, in sds of a shard's posterior. "
           "Default: {}",
           WeierstrassOptions{}.bandwidth),
       .rule = positive,
       .used_by = has_bandwidth,
       .of_method = true},
      {.name = "thinning",
       .field = &FitOptions::thinning,
       .help = "exact: the rule by which the rows that are read decide, balanced (default) or factorised",
       .rule = one_of({"balanced", "factorised"}),
       .used_by = is_exact,
       .of_method = true},
      {.name = "order",
       .field = &FitOptions::order,
       .help = "exact: order of the control variates, 2 or 3. Default: whichever takes less time",
       .rule = between(2, 3),
       .used_by = is_exact,
       .of_method = true},
      {.name = "audit",
       .field = &FitOptions::audit,
       .help = "exact: compare a random share of the steps, and the result, with all rows; takes longer",
       .used_by = may_be_exact,
       .of_method = true},
      {.name = "audit-every",
       .field = &FitOptions::audit_every,
       .help = "Number of steps per audited step, on average. Default: about 50 audited steps per chain",
       .rule = between(1, billion),
       .used_by = may_be_exact,
       .of_method = true},
      {.name = "proposal",
       .field = &FitOptions::proposal,
       .help =
           "Proposal: laplace, random-walk, adaptive; where all parameters are positive, as with "
           "gaussian-precision, also gamma (a step proportional to the parameter; not for auto and exact). "
           "Default: random-walk for methods that read some rows without control variates, else laplace",
       .rule = one_of({"laplace", "random-walk", "adaptive", "gamma"}),
       .used_by = has_proposal,
       .of_method = true},
      {.name = "proposal-scale",
       .field = &FitOptions::proposal_scale,
       .help =
           "Step of the proposal. laplace: in (0,1], default 1 (exact: tuned in warm-up; full: a mixture); gamma: the "
           "step's sd as a share of the parameter, in (0,1], no default; others: times the shape, default "
           "2.38/sqrt(p)",
       .rule = positive,
       .used_by = has_proposal,
       .of_method = true},
      {.name = "proposal-shape",
       .field = &FitOptions::proposal_shape,
       .help = "Shape of random-walk and (at first) adaptive: laplace (the fit's covariance, default) or "
               "identity (the same sd, the proposal scale, for every parameter)",
       .rule = one_of({"laplace", "identity"}),
       .used_by = has_shape,
       .of_method = true},
      {.name = "start",
       .field = &FitOptions::start,
       .help = "Where chains start: laplace (a draw from the fit, overdispersed) or mode",
       .rule = one_of({"laplace", "mode"}),
       .of_method = true},
  };
}

std::vector<Option> run_options() {
  return {
      {.name = "chains",
       .group = Group::run,
       .field = &FitOptions::chains,
       .help = "Number of chains",
       .rule = between(1, 10'000)},
      {.name = "warmup",
       .group = Group::run,
       .field = &FitOptions::warmup,
       .help =
           "Steps per chain before the first draw. Default: 1000; with group effects 200 and 50 for each parameter of the largest covariance: 250 for (1 | g), 350 for (1 + x | g)",
       .rule = between(0, billion)},
      {.name = "draws",
       .group = Group::run,
       .field = &FitOptions::draws,
       .help = "Draws kept per chain",
       .rule = between(1, billion)},
      {.name = "thin",
       .group = Group::run,
       .field = &FitOptions::thin,
       .help =
           "Steps per draw that is kept. Default: 1; with full and exact by what a step costs and how often steps are accepted in warm-up",
       .rule = between(1, billion),
       .of_method = true},
      {.name = "seed",
       .group = Group::run,
       .field = &FitOptions::seed,
       .help =
           "Seed: same seed, same draws, for any number of threads. Default: chosen at random and printed"},
      {.name = "threads",
       .group = Group::run,
       .field = &FitOptions::threads,
       .help = "Number of threads; 0 = all that the machine has",
       .rule = between(0, 1024),
       .decides_draws = false},
      {.name = "out",
       .group = Group::run,
       .field = &FitOptions::out,
       .help = "Directory for draws, summary and the run's record; must be new or empty",
       .decides_draws = false},
      {.name = "format",
       .group = Group::run,
       .field = &FitOptions::format,
       .help =
           "Files of draws in the directory of `out`: stan-csv, netcdf (draws.nc, for ArviZ and xarray) or "
           "both, with a comma between them. Those of stan-csv are always written: other commands read them"},
      {.name = "resume",
       .group = Group::run,
       .field = &FitOptions::resume,
       .help =
           "Continue the interrupted run in the directory of `out`; its draws are those of an uninterrupted run",
       .decides_draws = false},
      {.name = "report",
       .group = Group::run,
       .field = &FitOptions::report,
       .help =
           "Also write report.html to the directory of `out`: the verdict, the figures and the pictures, for a "
           "browser",
       .decides_draws = false},
  };
}

template <class T>
std::string plain_text(const T& value) {
  if constexpr (std::same_as<T, std::string> || std::integral<T>) {
    return fmt::format("{}", value);
  } else {
    return {};
  }
}

std::vector<Option> make_table() {
  std::vector<Option> table = model_options();
  for (std::vector<Option> part : {method_options(), run_options()})
    for (Option& option : part) table.push_back(std::move(option));
  const FitOptions usual;
  for (Option& option : table)
    std::visit(
        [&](const auto& field) {
          if constexpr (requires { usual.*field; }) {
            if constexpr (!std::same_as<std::remove_cvref_t<decltype(usual.*field)>, bool>)
              option.usual = plain_text(usual.*field);
          }
        },
        option.field);
  return table;
}

}  // namespace

Option::Type Option::type() const {
  struct {
    Type operator()(std::string FitOptions::*) const { return Type::text; }
    Type operator()(std::optional<std::string> FitOptions::*) const { return Type::text; }
    Type operator()(std::vector<std::string> FitOptions::*) const { return Type::texts; }
    Type operator()(std::int64_t FitOptions::*) const { return Type::integer; }
    Type operator()(std::optional<std::int64_t> FitOptions::*) const { return Type::integer; }
    Type operator()(std::optional<std::uint64_t> FitOptions::*) const { return Type::natural; }
    Type operator()(std::optional<double> FitOptions::*) const { return Type::real; }
    Type operator()(bool FitOptions::*) const { return Type::flag; }
    Type operator()(Pairs FitOptions::*) const { return Type::pairs; }
    Type operator()(std::monostate) const { return Type::real; }
  } type_of;
  return std::visit(type_of, field);
}

std::span<const Option> option_table() {
  static const std::vector<Option> table = make_table();
  return table;
}

const Option* find_option(std::string_view name) {
  const auto table = option_table();
  const auto at = std::find_if(table.begin(), table.end(), [&](const Option& o) { return o.name == name; });
  return at == table.end() ? nullptr : &*at;
}

}  // namespace mlo
