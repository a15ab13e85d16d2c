// Copyright (c) the mlo authors. BSD-3-Clause.
// The list of methods and of the rules they are made of.
#include "mlo/method/methods.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "method/rules.hpp"
#include "mlo/base/text.hpp"
#include "mlo/kernel/austerity.hpp"
#include "mlo/kernel/barker.hpp"
#include "mlo/kernel/confidence.hpp"
#include "mlo/kernel/penalty.hpp"
#include "mlo/model/family.hpp"

namespace mlo {

// The functions of methods that are not made of parts, defined in src/method/run_*.cpp.
void run_automatic(Sampler& sampler);
void run_exact(Sampler& sampler);
void run_full(Sampler& sampler);
void run_block(Sampler& sampler);
void run_consensus(Sampler& sampler);
void run_weierstrass(Sampler& sampler);

namespace {

std::string looks(const SubsamplePlan& plan, const std::string& until) {
  return fmt::format("{} to {} rows per step, {}", grouped(plan.size), grouped(plan.max), until);
}

// Sizes in the spirit of the sources: the paper's fixed size is 1 % of the rows, and its Algorithm 3 has a
// pilot of 0.1 % and at most 5 %; sequential tests begin with some hundred rows and may come to read all.

constexpr RuleSpec fixed{
    .usual_sizes =
        [](std::int64_t n, bool) {
          return UsualSizes{std::max<std::int64_t>(n / 100, 1000), n / 20, 1};
        },
    .make = [](const SubsamplePlan& plan, std::size_t) -> AnyRule { return FixedSize(plan.size); },
    .words = [](const SubsamplePlan& plan) { return fmt::format("{} rows per step", grouped(plan.size)); }};

constexpr RuleSpec adaptive{
    .grows = true,
    .delta = true,
    .usual_delta = 0.05,
    .usual_sizes =
        [](std::int64_t n, bool) {
          return UsualSizes{std::max<std::int64_t>(n / 1000, 100), n / 20, 1};
        },
    .make = [](const SubsamplePlan& plan, std::size_t) -> AnyRule {
      return AdaptiveSize({.pilot = plan.size, .max = plan.max, .delta = plan.delta});
    },
    .words = [](const SubsamplePlan& plan) { return looks(plan, fmt::format("delta {}", plan.delta)); }};

constexpr RuleSpec penalised{
    .noise = NoiseEffect::corrected,
    .grows = true,
    .noise_sd = true,
    .usual_noise_sd = 1,
    .usual_variates_noise_sd = 0.1,
    .usual_sizes =
        [](std::int64_t n, bool variates) {
          // Plain terms need about n rows for a noise of 1.
          return variates ? UsualSizes{20, std::max<std::int64_t>(n / 20, 1000), 2}
                          : UsualSizes{std::max<std::int64_t>(n / 100, 1000), n, 2};
        },
    .make = [](const SubsamplePlan& plan, std::size_t rows) -> AnyRule {
      return PenaltySize(rows, {.pilot = plan.size, .max = plan.max, .noise_sd = plan.noise_sd});
    },
    .words =
        [](const SubsamplePlan& plan) {
          return looks(plan, fmt::format("until the noise sd is below {}", plan.noise_sd));
        }};

constexpr RuleSpec t_tests{
    .noise = NoiseEffect::tested,
    .grows = true,
    .delta = true,
    .usual_delta = Austerity::Options{}.eps,
    .largest_delta = 0.5,
    .usual_sizes =
        [](std::int64_t n, bool) {
          return UsualSizes{500, n, 2};
        },
    .make = [](const SubsamplePlan& plan, std::size_t rows) -> AnyRule {
      Austerity::Options options;
      options.eps = plan.delta;
      options.batch = plan.size;
      options.max = plan.max;
      return Austerity(rows, options);
    },
    .words =
        [](const SubsamplePlan& plan) {
          return looks(plan, fmt::format("in batches of {}, until the t-test is sure, with error {}",
                                         plan.size, plan.delta));
        }};

constexpr RuleSpec concentration{
    .noise = NoiseEffect::tested,
    .delta = true,
    .bound = true,
    .usual_delta = Confidence::Options{}.delta,
    .needs_bounds = true,
    .usual_sizes =
        [](std::int64_t n, bool) {
          return UsualSizes{100, n, 2};
        },
    .make = [](const SubsamplePlan& plan, std::size_t rows) -> AnyRule {
      Confidence::Options options;
      options.delta = plan.delta;
      options.batch = plan.size;
      if (plan.hoeffding) options.bound = Confidence::Bound::hoeffding;
      return Confidence(rows, options);
    },
    .words =
        [](const SubsamplePlan& plan) {
          return looks(plan, fmt::format("until the {} bound is sure, with error {}",
                                         plan.hoeffding ? "hoeffding" : "bernstein", plan.delta));
        }};

constexpr RuleSpec barkers{
    .noise = NoiseEffect::corrected,
    .grows = true,
    .usual_sizes =
        [](std::int64_t n, bool) {
          return UsualSizes{100, n, 2};
        },
    .make = [](const SubsamplePlan& plan, std::size_t rows) -> AnyRule {
      Barker::Options options;
      options.pilot = plan.size;
      options.max = plan.max;
      return Barker(rows, options);
    },
    .words =
        [](const SubsamplePlan& plan) {
          return looks(plan, fmt::format("until the noise sd is below {}", Barker::Options{}.noise_sd));
        }};

constexpr EstimatorKind plain = EstimatorKind::plain, variates = EstimatorKind::control_variates;

constexpr std::array<MethodSpec, 14> table{{
    {.name = "auto",
     .promise = Promise::exact,
     .summary = "exact or full, whichever takes less time; difference only if neither is affordable",
     .reads = "as the method that it chooses",
     .needs = "any model",
     .trust = "the posterior, up to Monte Carlo error",
     .source = "docs/methods/auto.md",
     .role = Role::automatic,
     .run = run_automatic},
    {.name = "exact",
     .promise = Promise::exact,
     .summary = "Metropolis-Hastings with control variates and thinning",
     .reads = "about 1, less with more data; gaussian families 0",
     .needs = {},
     .trust = "the posterior, up to Monte Carlo error",
     .source = "Prado, Nemeth & Sherlock 2024; Cornish et al. 2019; docs/methods/exact.md",
     .role = Role::exact,
     .run = run_exact},
    {.name = "difference",
     .promise = Promise::approximate,
     .summary = "control variates, remainder weights and a penalty for the noise that is left",
     .reads = "`subsample-size` (20) up to `max-subsample-size`",
     .needs = "any model with a smooth log-likelihood",
     .trust = "as good as the posterior's where the reported noise sd is below 0.1",
     .source = "Ceperley & Dewing 1999; docs/methods/difference.md",
     .role = Role::difference,
     .parts = Composition{&penalised, variates, RowWeights::remainder, true}},
    {.name = "full",
     .promise = Promise::exact,
     .summary = "Metropolis-Hastings on all rows",
     .reads = "n",
     .needs = "any model",
     .trust = "the posterior, up to Monte Carlo error",
     .source = "paper, Algorithm 1",
     .role = Role::full,
     .run = run_full},
    {.name = "uniform",
     .promise = Promise::approximate,
     .summary = "a uniform subsample in each step, without replacement",
     .reads = "`subsample-size` r",
     .needs = "any model",
     .trust = "means usable, intervals too wide: 2 to 50 times on the paper's logistic example",
     .source = "paper, section 2.2; its baseline",
     .role = Role::uniform,
     .parts = Composition{&fixed, plain, RowWeights::uniform, false}},
    {.name = "mlo",
     .promise = Promise::approximate,
     .summary = "a subsample with most-likely-optimal probabilities in each step",
     .reads = "`subsample-size` r",
     .needs = "any model with a finite maximum-likelihood fit, or `weights-at map`",
     .trust = "means usable, intervals too wide: 2 to 50 times on the paper's logistic example",
     .source = "paper, Algorithm 2",
     .parts = Composition{&fixed, plain, RowWeights::mlo, true}},
    {.name = "mlo-adaptive",
     .promise = Promise::approximate,
     .summary = "as mlo; a pilot subsample says how many rows a step needs",
     .reads = "`subsample-size` up to `max-subsample-size`",
     .needs = "any model with a finite maximum-likelihood fit, or `weights-at map`",
     .trust = "means usable, intervals too wide: 3 to 12 times on the paper's logistic example",
     .source = "paper, Algorithm 3",
     .parts = Composition{&adaptive, plain, RowWeights::mlo, true}},
    {.name = "austerity",
     .promise = Promise::approximate,
     .summary = "a t-test after each batch of rows, until the decision is safe with error `delta`",
     .reads = "`subsample-size` (500) up to n",
     .needs = "any model",
     .trust = "close to the posterior's with a small `delta`; then it reads most of the rows",
     .source = "Korattikara, Chen & Welling 2014; docs/methods/austerity.md",
     .parts = Composition{&t_tests, plain, RowWeights::uniform, false}},
    {.name = "confidence",
     .promise = Promise::bounded_error,
     .summary = "reads rows until a concentration bound says that the decision is right, with error `delta`",
     .reads = "`subsample-size` (100) up to n; often n",
     .needs = {},
     .trust = "close to the posterior's: a step differs from one of full with probability at most `delta`",
     .source = "Bardenet, Doucet & Holmes 2014, 2017; docs/methods/confidence.md",
     .parts = Composition{&concentration, plain, RowWeights::uniform, false}},
    {.name = "barker",
     .promise = Promise::approximate,
     .summary = "Barker's test, whose randomness absorbs that of a subsample with noise below 1",
     .reads = "`subsample-size` (100) up to n",
     .needs = "any model",
     .trust = "close to the posterior's where the reported noise sd is below 1",
     .source = "Seita, Pan, Chen & Canny 2017; docs/methods/barker.md",
     .parts = Composition{&barkers, plain, RowWeights::uniform, false}},
    {.name = "penalty",
     .promise = Promise::approximate,
     .summary = "a subsample in each step, with a penalty for its noise",
     .reads = "`subsample-size` up to `max-subsample-size`",
     .needs = "any model with a finite maximum-likelihood fit, or `weights-at map`",
     .trust = "good where the reported noise sd is below about 1; with more noise the chain hardly moves",
     .source = "Ceperley & Dewing 1999; docs/methods/penalty.md",
     .parts = Composition{&penalised, plain, RowWeights::mlo, true}},
    {.name = "block",
     .promise = Promise::approximate,
     .summary = "pseudo-marginal: control variates, and a subsample of which each step renews one block",
     .reads = "`subsample-size` (100)",
     .needs = "any model with a smooth log-likelihood",
     .trust = "those of a slightly perturbed posterior, as good as the posterior's for tall data",
     .source = "Quiroz, Kohn, Villani & Tran 2019; docs/methods/block.md",
     .run = run_block,
     .blocks = true},
    {.name = "consensus",
     .promise = Promise::approximate,
     .summary = "chains on shards of the rows, whose draws are averaged",
     .reads = "n, in shards",
     .needs = "any model; warns if a shard has no mode of its own",
     .trust = "good where each shard's posterior is nearly Gaussian",
     .source = "Scott et al. 2016; docs/methods/consensus.md",
     .run = run_consensus,
     .shards = true,
     .proposals = false},
    {.name = "weierstrass",
     .promise = Promise::approximate,
     .summary = "chains on shards of the rows, tied together by a kernel of width `bandwidth`",
     .reads = "n, in shards",
     .needs = "any model; warns if a shard has no mode of its own",
     .trust = "too wide by about half the square of `bandwidth`",
     .source = "Wang & Dunson 2013; docs/methods/weierstrass.md",
     .run = run_weierstrass,
     .shards = true,
     .bandwidth = true,
     .proposals = false},
}};

}  // namespace

std::span<const MethodSpec> methods() { return table; }

const MethodSpec& spec_of(Role role) {
  return *std::find_if(table.begin(), table.end(), [&](const MethodSpec& m) { return m.role == role; });
}

const MethodSpec* find_method(std::string_view name) {
  const auto* const at =
      std::find_if(table.begin(), table.end(), [&](const MethodSpec& m) { return m.name == name; });
  return at == table.end() ? nullptr : at;
}

std::string needs_of(const MethodSpec& method) {
  if (!method.needs.empty()) return std::string(method.needs);
  std::string always, known, estimated;
  for (const FamilySpec* f : families()) {
    const auto add = [&](std::string& list, const std::string& text) {
      list += fmt::format("{}{}", list.empty() ? "" : ", ", text);
    };
    if (f->sums || f->classes ? method.role == Role::exact : f->curved && (f->surfaced || !f->second)) {
      add(always, std::string(f->name));
    } else if (f->curved) {
      add(known, fmt::format("{} (`{}`)", f->name, f->second->known_by));
    } else if (f->surfaced) {
      add(estimated, std::string(f->name));
    }
  }
  if (!known.empty()) always += "; with their second parameter known: " + known;
  if (!estimated.empty()) always += "; with their second parameter estimated: " + estimated;
  return always;
}

std::string method_names() {
  std::string out;
  for (const MethodSpec& m : table) out += fmt::format("{}{}", out.empty() ? "" : ", ", m.name);
  return out;
}

}  // namespace mlo
