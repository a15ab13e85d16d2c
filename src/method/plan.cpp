// Copyright (c) the mlo authors. BSD-3-Clause.
// From options to a plan: the defaults that depend on the method or the data, and the rules that tie options
// together. The rules of a single option are in its row of the table.
#include "mlo/method/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <random>
#include <thread>
#include <vector>

#include "method/rules.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/base/names.hpp"
#include "mlo/kernel/block.hpp"
#include "mlo/kernel/weierstrass.hpp"
#include "mlo/method/option_table.hpp"
#include "mlo/model/family.hpp"
#include "mlo/model/prior.hpp"
#include "mlo/subsample/weights.hpp"

namespace mlo {
namespace {

template <class T>
struct Word {
  std::string_view word;
  T value;
};
constexpr std::array<Word<RowWeights>, 4> weights_words{{{"uniform", RowWeights::uniform},
                                                         {"mlo", RowWeights::mlo},
                                                         {"score", RowWeights::score},
                                                         {"remainder", RowWeights::remainder}}};
constexpr std::array<Word<EstimatorKind>, 2> estimator_words{
    {{"plain", EstimatorKind::plain}, {"control-variates", EstimatorKind::control_variates}}};
constexpr std::array<Word<ProposalPlan::Kind>, 4> proposal_kinds{
    {{"laplace", ProposalPlan::Kind::laplace},
     {"random-walk", ProposalPlan::Kind::random_walk},
     {"adaptive", ProposalPlan::Kind::adaptive},
     {"gamma", ProposalPlan::Kind::gamma}}};

// The value of a word that has been checked.
template <class T, std::size_t n>
T value_of(const std::array<Word<T>, n>& words, const std::string& word) {
  return std::find_if(words.begin(), words.end(), [&](const Word<T>& w) { return w.word == word; })->value;
}

// The method's own parts, except where an option says otherwise; empty for methods that are not made of
// parts.
std::optional<Composition> composition(const MethodOptions& o, const MethodSpec& method) {
  std::optional<Composition> out = method.parts;
  if (!out) return out;
  if (o.estimator) out->estimator = value_of(estimator_words, *o.estimator);
  if (o.weights) out->weights = value_of(weights_words, *o.weights);
  // Rows drawn with unequal probabilities are drawn with replacement, or the estimate is biased.
  if (out->weights != RowWeights::uniform) out->replacement = true;
  if (o.replacement) out->replacement = *o.replacement == "yes";
  return out;
}

// What the options say, or what suits the method. Where the noise of an estimate grows with the step, as it
// does without control variates, steps should be small: a random walk.
ProposalPlan::Kind proposal_kind(const MethodOptions& o, const std::optional<Composition>& parts) {
  if (o.proposal) return value_of(proposal_kinds, *o.proposal);
  return parts && parts->estimator == EstimatorKind::plain ? ProposalPlan::Kind::random_walk
                                                           : ProposalPlan::Kind::laplace;
}

std::string_view word_of(RowWeights weights) {
  return std::find_if(weights_words.begin(), weights_words.end(),
                      [&](const auto& w) { return w.value == weights; })
      ->word;
}

void check_composition(const MethodOptions& o, const MethodSpec& method, const Composition& parts) {
  const bool variates = parts.estimator == EstimatorKind::control_variates;
  const std::string_view weights = word_of(parts.weights);
  if (method.role == Role::difference) {
    if (!variates)
      throw UsageError("`method difference` has control variates; without them it is `method penalty`");
    if (parts.weights != RowWeights::remainder)
      throw UsageError(fmt::format(
          "`method difference` has remainder weights: for `weights {}` use `method penalty` and `estimator "
          "control-variates`",
          weights));
  }
  if (method.role == Role::uniform && parts.weights != RowWeights::uniform)
    throw UsageError(fmt::format("`method uniform` has uniform weights; for `weights {}` use `method {}`",
                                 weights, parts.weights == RowWeights::remainder ? "difference" : "mlo"));
  if (parts.rule->needs_bounds && (parts.weights != RowWeights::uniform || parts.replacement))
    throw UsageError(
        "`method confidence` needs uniform weights without replacement: its bounds are for rows drawn that "
        "way (Serfling's inequality)");
  if (parts.weights == RowWeights::remainder) {
    if (!variates)
      throw UsageError(
          "`weights remainder` are for what control variates leave over: use `estimator control-variates`, or "
          "`method difference`");
    if (o.weights_at)
      throw UsageError("`weights-at` has no meaning with remainder weights, which are taken at the mode");
    if (o.uniform_share && *o.uniform_share == 0)
      throw UsageError("`uniform-share` must be positive with remainder weights (got 0)");
  }
  if (parts.weights == RowWeights::uniform) {
    if (o.weights_at) throw UsageError("`weights-at` has no meaning with uniform weights");
    if (o.uniform_share) throw UsageError("`uniform-share` has no meaning with uniform weights");
  } else if (!parts.replacement) {
    throw UsageError(fmt::format(
        "`replacement no` needs uniform weights: rows drawn with the unequal probabilities of `weights {}` "
        "are drawn with replacement, or the estimate is biased",
        weights));
  }
  if (o.delta && *o.delta >= parts.rule->largest_delta)
    throw UsageError(
        fmt::format("`delta` must be below {} with `method {}`: a coin is wrong as often (got {})",
                    parts.rule->largest_delta, method.name, *o.delta));
}

void check_proposal(const MethodOptions& o, const MethodSpec& method,
                    const std::optional<Composition>& parts) {
  const bool exact = method.role == Role::exact || method.role == Role::automatic;
  const ProposalPlan::Kind kind = proposal_kind(o, parts);
  if (exact && (kind == ProposalPlan::Kind::adaptive || kind == ProposalPlan::Kind::gamma))
    throw UsageError(
        fmt::format("`proposal {}` has no meaning with `method {}`, whose proposals have the "
                    "posterior's shape from the start; use laplace or random-walk, or `method full`",
                    *o.proposal, method.name));
  if (kind == ProposalPlan::Kind::gamma) {
    if (o.proposal_shape)
      throw UsageError(
          "`proposal-shape` has no meaning with `proposal gamma`, whose step is proportional to the "
          "parameter");
    if (!o.proposal_scale)
      throw UsageError(
          "`proposal gamma` needs `proposal-scale`: the step's standard deviation as a share of the "
          "parameter, at most 1");
    if (*o.proposal_scale > 1)
      throw UsageError(
          fmt::format("`proposal-scale` must be at most 1 with `proposal gamma`, where it is the step's "
                      "standard deviation as a share of the parameter (got {})",
                      *o.proposal_scale));
  }
  if (kind == ProposalPlan::Kind::laplace) {
    if (o.proposal_shape)
      throw UsageError(
          "`proposal-shape` has no meaning with `proposal laplace`, which has the shape of the Laplace fit");
    if (o.proposal_scale && *o.proposal_scale > 1)
      throw UsageError(fmt::format(
          "`proposal-scale` must be at most 1 with `proposal laplace`, where 1 draws independently from the "
          "Laplace fit (got {})",
          *o.proposal_scale));
  }
  if (o.proposal_shape == "identity" && !o.proposal_scale)
    throw UsageError(
        "`proposal-shape identity` needs `proposal-scale`: the step's standard deviation, for every "
        "parameter");
}

// "1, 2.5" as numbers.
std::vector<double> numbers(const std::string& list) {
  std::vector<double> out;
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at < end) {
    while (at < end && (*at == ' ' || *at == ',')) ++at;
    if (at == end) break;
    const char* const cell_end = std::find_if(at, end, [](char c) { return c == ',' || c == ' '; });
    double value = 0;
    const auto [stop, error] = std::from_chars(at, cell_end, value);
    if (error != std::errc() || stop != cell_end || !std::isfinite(value))
      throw UsageError(
          fmt::format("`weights-at` must be mle, map or numbers separated by commas (got \"{}\")", list));
    out.push_back(value);
    at = cell_end;
  }
  return out;
}

FitOptions as_fit_options(const MethodOptions& options) {
  FitOptions out;
  static_cast<MethodOptions&>(out) = options;
  return out;
}

const MethodSpec& named_method(const std::string& name) {
  const MethodSpec* const method = find_method(name);
  if (method == nullptr) {
    std::vector<std::string> known;
    for (const MethodSpec& spec : methods()) known.emplace_back(spec.name);
    throw UsageError(fmt::format("`method` must be one of {} (got \"{}\"){}", method_names(), name,
                                 did_you_mean(name, known)));
  }
  return *method;
}

// What ties the method's options together; each by itself has been checked.
void check_together(const MethodOptions& o, const MethodSpec& method) {
  if (o.audit_every && !o.audit) throw UsageError("`audit-every` needs `audit`");
  const std::optional<Composition> parts = composition(o, method);
  if (parts) check_composition(o, method, *parts);
  if (method.proposals) check_proposal(o, method, parts);
}

// ---- defaults

struct Sizes {
  std::size_t size, max;
};

Sizes sizes_of(const MethodOptions& o, const UsualSizes& usual, std::int64_t n) {
  const auto inside = [&](const char* option, std::int64_t value, std::int64_t least,
                          const std::string& least_name) {
    if (value < least || value > n)
      throw UsageError(fmt::format("`{}` must be between {} and the number of rows, {} (got {})", option,
                                   least_name, n, value));
  };
  const std::int64_t size = o.subsample_size.value_or(std::min(usual.size, n));
  const std::int64_t least = std::min(usual.least, n);
  inside("subsample-size", size, least, std::to_string(least));
  const std::int64_t most = o.max_subsample_size.value_or(std::min(n, std::max(size, usual.max)));
  inside("max-subsample-size", most, size, fmt::format("`subsample-size`, {},", size));
  return {static_cast<std::size_t>(size), static_cast<std::size_t>(most)};
}

ProposalPlan proposal_plan(const MethodOptions& o, const std::optional<Composition>& parts, bool all_rows,
                           std::size_t dim) {
  ProposalPlan out;
  out.kind = proposal_kind(o, parts);
  if (out.kind == ProposalPlan::Kind::laplace) {
    if (all_rows && !o.proposal_scale) out.kind = ProposalPlan::Kind::mixed;
    out.scale = o.proposal_scale.value_or(1.0);
    return out;
  }
  if (out.kind == ProposalPlan::Kind::gamma) {
    out.scale = *o.proposal_scale;
    return out;
  }
  const double usual = 2.38 / std::sqrt(static_cast<double>(dim));
  out.scale = out.learnt_scale = o.proposal_scale.value_or(usual);
  if (o.proposal_shape == "identity") {
    out.shape = ProposalPlan::Shape::identity;
    // The scale is that of the first steps alone: what is learnt has a scale of its own.
    out.learnt_scale = usual;
  }
  return out;
}

SubsamplePlan subsample_plan(const MethodOptions& o, const Composition& parts, const DataFacts& facts) {
  SubsamplePlan out;
  out.parts = parts;
  const RuleSpec& rule = *parts.rule;
  const bool variates = parts.estimator == EstimatorKind::control_variates;
  const auto n = static_cast<std::int64_t>(facts.rows);
  const Sizes sizes = sizes_of(o, rule.usual_sizes(n, variates), n);
  out.size = sizes.size;
  out.max = sizes.max;
  out.delta = o.delta.value_or(rule.usual_delta);
  out.noise_sd = o.noise_sd.value_or(variates ? rule.usual_variates_noise_sd : rule.usual_noise_sd);
  out.hoeffding = o.bound == "hoeffding";
  out.uniform_share = o.uniform_share.value_or(parts.weights == RowWeights::remainder ? usual_remainder_share
                                                                                      : usual_uniform_share);
  if (o.weights_at == "map") {
    out.weights_at = SubsamplePlan::At::map;
  } else if (o.weights_at && *o.weights_at != "mle") {
    out.weights_at = SubsamplePlan::At::point;
    out.weights_point = numbers(*o.weights_at);
    if (out.weights_point.size() != facts.dim)
      throw UsageError(fmt::format("`weights-at` needs {} numbers, one per parameter (got {}: \"{}\")",
                                   facts.dim, out.weights_point.size(), *o.weights_at));
  }
  out.proposal = proposal_plan(o, parts, false, facts.dim);
  return out;
}

ExactPlan exact_plan(const MethodOptions& o, const ChainOptions& chain) {
  ExactPlan out;
  out.random_walk = o.proposal == "random-walk";
  out.step = o.proposal_scale.value_or(0);
  out.factorised = o.thinning == "factorised";
  out.order = static_cast<int>(o.order.value_or(0));
  if (o.audit) {
    const double steps = static_cast<double>(std::max<std::uint64_t>(1, chain.draws * chain.thin));
    out.audit_share = o.audit_every ? 1 / static_cast<double>(*o.audit_every) : std::min(1.0, 50 / steps);
  }
  return out;
}

void block_plan(const MethodOptions& o, const DataFacts& facts, Plan& plan) {
  const auto n = static_cast<std::int64_t>(facts.rows);
  const BlockOptions usual;
  const auto size = static_cast<std::int64_t>(usual.subsample_size);
  plan.block_size = sizes_of(o, {.size = size, .max = n / 20, .least = 2}, n).size;
  plan.blocks = std::min(usual.blocks, plan.block_size);
  if (!o.blocks) return;
  if (*o.blocks > static_cast<std::int64_t>(plan.block_size))
    throw UsageError(
        fmt::format("`blocks` must be at most `subsample-size`, {} (got {})", plan.block_size, *o.blocks));
  plan.blocks = static_cast<std::size_t>(*o.blocks);
}

}  // namespace

void check(const MethodOptions& options) {
  const FitOptions all = as_fit_options(options);
  const MethodSpec& method = named_method(options.method);
  check_values(all);
  check_use(all, method);
  check_together(options, method);
}

void check(const FitOptions& options) {
  const FamilySpec* const family = find_family(options.family);
  if (family == nullptr) refuse_family("`family`", options.family);
  const MethodSpec& method = named_method(options.method);
  check_values(options);
  check_use(options, method);
  check_together(options, method);
  check_numbers(*family, options.numbers);
  if (options.base && !family->classes)
    throw UsageError(fmt::format("`base` has no meaning with `family {}`", family->name));
  if (options.holdout && family->make == nullptr && !family->classes)
    throw UsageError(fmt::format(
        "`holdout` has no meaning with `family {}`, which has no columns to predict from", family->name));
  if (options.holdout && (options.row_weights || options.trials))
    throw UsageError(fmt::format("`holdout` and `{}` cannot be used together: scores are of single rows",
                                 options.trials ? "trials" : "row-weights"));
  if (wants_netcdf(options) && options.out.empty())
    throw UsageError(fmt::format("`format {}` needs `out`: the directory for the file", options.format));
  if (options.trials && !family->shares && !family->counted)
    throw UsageError(fmt::format(
        "`trials` is for `family logistic` and `family beta-binomial`, not for `family {}`", family->name));
  if (method.role == Role::exact && family->surfaced && !family->curved &&
      !estimates_second(*family, options.numbers))
    throw UsageError(fmt::format(
        "`method exact` has bounds for `family {}` only where {} is estimated, not where it is known. "
        "Use `method full`",
        family->name, family->second->name));
  if (method.role == Role::exact && !family->sums && !family->curved && !family->surfaced && !family->classes)
    throw UsageError(
        fmt::format("`method exact` needs bounds on what one row can say; `family {}` has none. Use `method "
                    "full` or `method difference`",
                    family->name));
}

bool wants_netcdf(const FitOptions& options) {
  bool found = false;
  const std::string& text = options.format;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    const std::string_view word = std::string_view(text).substr(from, comma - from);
    if (word != "stan-csv" && word != "netcdf")
      throw UsageError(
          fmt::format("`format` must be stan-csv, netcdf or stan-csv,netcdf (got \"{}\")", options.format));
    found = found || word == "netcdf";
    from = comma + 1;
  }
  return found;
}

bool settle(MethodOptions& options) {
  if (options.threads == 0) options.threads = std::max(1U, std::thread::hardware_concurrency());
  if (options.seed) return false;
  std::random_device device;
  options.seed = (static_cast<std::uint64_t>(device()) << 32U) | device();
  // Small enough to type again, and to survive every JSON reader's doubles.
  *options.seed %= std::uint64_t{1} << 31U;
  return true;
}

std::size_t usual_warmup(const DataFacts& facts) noexcept {
  constexpr std::size_t most = 1000;
  return facts.covariance ? std::min(most, 200 + 50 * *facts.covariance) : most;
}

Plan resolve(const MethodOptions& options, const DataFacts& facts) {
  check(options);
  MethodOptions o = options;
  settle(o);
  const MethodSpec& method = named_method(o.method);
  if (o.proposal == "gamma" && !facts.all_positive)
    throw UsageError(
        "`proposal gamma` needs a model whose parameters are all positive and are sampled as they are, such "
        "as `family gaussian-precision`; use `proposal random-walk`");
  Plan plan;
  plan.method = &method;
  plan.chain = {.seed = *o.seed,
                .chains = static_cast<std::size_t>(o.chains),
                .warmup = o.warmup ? static_cast<std::size_t>(*o.warmup) : usual_warmup(facts),
                .draws = static_cast<std::size_t>(o.draws),
                .thin = static_cast<std::size_t>(o.thin.value_or(1))};
  plan.choose_steps = !o.thin;
  plan.threads = static_cast<std::size_t>(o.threads);
  plan.start_at_mode = o.start == "mode";
  plan.audit = o.audit;
  plan.exact = exact_plan(o, plan.chain);
  // What `auto` falls back on is difference with its own parts: it takes no option of parts itself.
  if (const auto parts = composition(o, method.role == Role::automatic ? spec_of(Role::difference) : method))
    plan.subsample = subsample_plan(o, *parts, facts);
  if (method.blocks) block_plan(o, facts, plan);
  plan.proposal = proposal_plan(o, {}, !method.blocks, facts.dim);
  const auto rows = static_cast<std::int64_t>(facts.rows);
  if (o.shards && *o.shards > rows)
    throw UsageError(
        fmt::format("`shards` must be between 1 and the number of rows, {} (got {})", rows, *o.shards));
  plan.shards = static_cast<std::size_t>(o.shards.value_or(std::min(usual_shards, rows)));
  plan.bandwidth = o.bandwidth.value_or(WeierstrassOptions{}.bandwidth);
  return plan;
}

}  // namespace mlo
