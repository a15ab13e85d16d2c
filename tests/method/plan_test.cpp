// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/method/plan.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "mlo/base/errors.hpp"
#include "mlo/method/option_table.hpp"

namespace mlo {
namespace {

using Kind = ProposalPlan::Kind;

// "mlo", or with options "mlo:weights=score:thin=3", as bench-methods writes them.
FitOptions options(const std::string& text) {
  FitOptions o;
  o.seed = 1;
  o.threads = 1;
  std::size_t at = std::min(text.find(':'), text.size());
  o.method = text.substr(0, at);
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(':', at + 1), text.size());
    const std::string setting = text.substr(at + 1, end - at - 1);
    set_option(o, setting.substr(0, setting.find('=')), setting.substr(setting.find('=') + 1));
    at = end;
  }
  return o;
}
Plan plan_of(const std::string& text, std::size_t rows = 100'000, std::size_t dim = 4) {
  return resolve(options(text), {.rows = rows, .dim = dim});
}
std::string refusal(const std::string& text, std::size_t rows = 50, std::size_t dim = 2) {
  try {
    static_cast<void>(plan_of(text, rows, dim));
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

struct SizeCase {
  const char* method;
  std::size_t rows, size, max;
};

// docs/methods and the help of subsample-size and max-subsample-size.
TEST(Plan, SizesAreThoseOfTheDocs) {
  for (const SizeCase& c : std::vector<SizeCase>{
           {"uniform", 1'000'000, 10'000, 50'000},  // 1 % of the rows,
           {"uniform", 50'000, 1000, 2500},         // at least 1000,
           {"uniform", 50, 50, 50},                 // at most all
           {"uniform", 5, 5, 5},
           {"uniform", 1, 1, 1},
           {"mlo", 1'000'000, 10'000, 50'000},
           {"mlo", 50'000, 1000, 2500},
           {"mlo", 50, 50, 50},
           {"mlo", 5, 5, 5},
           {"mlo", 1, 1, 1},
           {"mlo-adaptive", 1'000'000, 1000, 50'000},  // 0.1 %, at least 100; at most 5 %
           {"mlo-adaptive", 50'000, 100, 2500},
           {"mlo-adaptive", 500, 100, 100},
           {"mlo-adaptive", 50, 50, 50},
           {"mlo-adaptive", 5, 5, 5},
           {"mlo-adaptive", 1, 1, 1},
           {"austerity", 1'000'000, 500, 1'000'000},
           {"austerity", 50, 50, 50},
           {"austerity", 5, 5, 5},
           {"austerity", 1, 1, 1},
           {"confidence", 1'000'000, 100, 1'000'000},
           {"confidence", 50, 50, 50},
           {"confidence", 5, 5, 5},
           {"confidence", 1, 1, 1},
           {"barker", 1'000'000, 100, 1'000'000},
           {"barker", 50, 50, 50},
           {"barker", 5, 5, 5},
           {"barker", 1, 1, 1},
           {"penalty", 1'000'000, 10'000, 1'000'000},
           {"penalty", 50, 50, 50},
           {"penalty", 5, 5, 5},
           {"penalty", 1, 1, 1},
           {"penalty:estimator=control-variates", 1'000'000, 20, 50'000},
           {"penalty:estimator=control-variates", 5000, 20, 1000},
           {"difference", 1'000'000, 20, 50'000},  // 5 % of the rows, at least 1000
           {"difference", 5000, 20, 1000},
           {"difference", 50, 20, 50},
           {"difference", 5, 5, 5},
           {"difference", 1, 1, 1},
           {"mlo:subsample-size=7", 50, 7, 7},
           {"mlo-adaptive:subsample-size=9000", 50'000, 9000, 9000},  // the most is at least the first look
           {"mlo-adaptive:subsample-size=7:max-subsample-size=7", 50, 7, 7},
           {"difference:max-subsample-size=30", 50, 20, 30}}) {
    const SubsamplePlan plan = plan_of(c.method, c.rows).subsample;
    EXPECT_EQ(plan.size, c.size) << c.method << ", " << c.rows << " rows";
    EXPECT_EQ(plan.max, c.max) << c.method << ", " << c.rows << " rows";
  }
}

TEST(Plan, PartsAreThoseOfTheDocs) {
  struct Case {
    const char* method;
    EstimatorKind estimator;
    RowWeights weights;
    bool replacement;
    double delta, noise_sd, uniform_share;
    Kind proposal;
  };
  constexpr EstimatorKind plain = EstimatorKind::plain, variates = EstimatorKind::control_variates;
  for (const Case& c : std::vector<Case>{
           {"uniform", plain, RowWeights::uniform, false, 0, 1, 0.001, Kind::random_walk},
           {"mlo", plain, RowWeights::mlo, true, 0, 1, 0.001, Kind::random_walk},
           {"mlo-adaptive", plain, RowWeights::mlo, true, 0.05, 1, 0.001, Kind::random_walk},
           {"austerity", plain, RowWeights::uniform, false, 0.05, 1, 0.001, Kind::random_walk},
           {"confidence", plain, RowWeights::uniform, false, 0.1, 1, 0.001, Kind::random_walk},
           {"barker", plain, RowWeights::uniform, false, 0, 1, 0.001, Kind::random_walk},
           {"penalty", plain, RowWeights::mlo, true, 0, 1, 0.001, Kind::random_walk},
           {"difference", variates, RowWeights::remainder, true, 0, 0.1, 0.2, Kind::laplace},
           // With other parts.
           {"penalty:estimator=control-variates", variates, RowWeights::mlo, true, 0, 0.1, 0.001,
            Kind::laplace},
           {"penalty:estimator=control-variates:weights=remainder", variates, RowWeights::remainder, true, 0,
            0.1, 0.2, Kind::laplace},
           {"austerity:weights=score:delta=0.25:uniform-share=0.5", plain, RowWeights::score, true, 0.25, 1,
            0.5, Kind::random_walk},
           {"uniform:replacement=yes:proposal=adaptive", plain, RowWeights::uniform, true, 0, 1, 0.001,
            Kind::adaptive},
           {"mlo:weights=uniform", plain, RowWeights::uniform, true, 0, 1, 0.001, Kind::random_walk},
           {"mlo:weights=uniform:replacement=no", plain, RowWeights::uniform, false, 0, 1, 0.001,
            Kind::random_walk}}) {
    const Plan plan = plan_of(c.method);
    const SubsamplePlan& s = plan.subsample;
    EXPECT_EQ(plan.method->name, std::string(c.method).substr(0, std::string(c.method).find(':')));
    EXPECT_EQ(s.parts.estimator, c.estimator) << c.method;
    EXPECT_EQ(s.parts.weights, c.weights) << c.method;
    EXPECT_EQ(s.parts.replacement, c.replacement) << c.method;
    EXPECT_EQ(s.delta, c.delta) << c.method;
    EXPECT_EQ(s.noise_sd, c.noise_sd) << c.method;
    EXPECT_EQ(s.uniform_share, c.uniform_share) << c.method;
    EXPECT_EQ(s.proposal.kind, c.proposal) << c.method;
    EXPECT_EQ(s.weights_at, SubsamplePlan::At::mle) << c.method;
    EXPECT_FALSE(s.hoeffding) << c.method;
  }
  EXPECT_TRUE(plan_of("confidence:bound=hoeffding").subsample.hoeffding);
  EXPECT_FALSE(plan_of("confidence:bound=bernstein").subsample.hoeffding);
}

TEST(Plan, ProposalsHaveTheDocumentedScales) {
  // 2.38 / sqrt(p)
  EXPECT_EQ(plan_of("mlo", 1000, 4).subsample.proposal.scale, 1.19);
  EXPECT_EQ(plan_of("full:proposal=random-walk", 1000, 4).proposal.scale, 1.19);
  EXPECT_EQ(plan_of("difference").subsample.proposal.scale, 1);
  EXPECT_EQ(plan_of("difference:proposal-scale=0.5").subsample.proposal.scale, 0.5);
  // full, and exact from sums, mix proposals unless a scale asks for plain pCN; block never does.
  EXPECT_EQ(plan_of("full").proposal.kind, Kind::mixed);
  EXPECT_EQ(plan_of("exact").proposal.kind, Kind::mixed);
  EXPECT_EQ(plan_of("full:proposal-scale=0.5").proposal.kind, Kind::laplace);
  EXPECT_EQ(plan_of("full:proposal-scale=0.5").proposal.scale, 0.5);
  EXPECT_EQ(plan_of("block").proposal.kind, Kind::laplace);
  EXPECT_EQ(plan_of("block").proposal.scale, 1);
  // The scale of the identity is that of the first steps; what is learnt has its own.
  const ProposalPlan identity =
      plan_of("full:proposal=adaptive:proposal-shape=identity:proposal-scale=7", 1000, 4).proposal;
  EXPECT_EQ(identity.shape, ProposalPlan::Shape::identity);
  EXPECT_EQ(identity.scale, 7);
  EXPECT_EQ(identity.learnt_scale, 1.19);
  const ProposalPlan shaped = plan_of("full:proposal=adaptive:proposal-scale=7", 1000, 4).proposal;
  EXPECT_EQ(shaped.shape, ProposalPlan::Shape::laplace);
  EXPECT_EQ(shaped.learnt_scale, 7);
}

TEST(Plan, ExactHasItsOwnNumbers) {
  const ExactPlan usual = plan_of("exact").exact;
  EXPECT_FALSE(usual.random_walk);
  EXPECT_EQ(usual.step, 0);  // learnt in warm-up
  EXPECT_FALSE(usual.factorised);
  EXPECT_EQ(usual.order, 0);  // whichever takes less time
  EXPECT_EQ(usual.audit_share, 0);
  const ExactPlan given =
      plan_of("exact:proposal=random-walk:proposal-scale=2:thinning=factorised:order=3").exact;
  EXPECT_TRUE(given.random_walk);
  EXPECT_EQ(given.step, 2);
  EXPECT_TRUE(given.factorised);
  EXPECT_EQ(given.order, 3);
}

// About 50 steps of each chain, or one in every `audit-every` steps.
TEST(Plan, AnAuditLooksAtItsShareOfTheSteps) {
  const Plan plan = plan_of("exact:audit=true:draws=2000:thin=5");
  EXPECT_TRUE(plan.audit);
  EXPECT_EQ(plan.exact.audit_share, 50.0 / 10'000);
  EXPECT_EQ(plan_of("exact:audit=true:draws=10:thin=1").exact.audit_share, 1);
  EXPECT_EQ(plan_of("auto:audit=true:audit-every=20").exact.audit_share, 0.05);
  EXPECT_FALSE(plan_of("exact").audit);
}

TEST(Plan, BlocksAreNoMoreThanTheRowsOfTheSubsample) {
  struct Case {
    const char* method;
    std::size_t rows, size, blocks;
  };
  for (const Case& c : std::vector<Case>{{"block", 100'000, 100, 50},
                                         {"block", 50, 50, 50},
                                         {"block", 5, 5, 5},
                                         {"block", 1, 1, 1},
                                         {"block:subsample-size=30", 100'000, 30, 30},
                                         {"block:subsample-size=30:blocks=7", 100'000, 30, 7}}) {
    const Plan plan = plan_of(c.method, c.rows);
    EXPECT_EQ(plan.block_size, c.size) << c.method << ", " << c.rows << " rows";
    EXPECT_EQ(plan.blocks, c.blocks) << c.method << ", " << c.rows << " rows";
  }
}

TEST(Plan, ShardsAreNoMoreThanTheRows) {
  for (const std::string method : {"consensus", "weierstrass"}) {
    EXPECT_EQ(plan_of(method).shards, 8U);
    EXPECT_EQ(plan_of(method, 50).shards, 8U);
    EXPECT_EQ(plan_of(method, 5).shards, 5U);
    EXPECT_EQ(plan_of(method, 1).shards, 1U);
    EXPECT_EQ(plan_of(method + ":shards=50", 50).shards, 50U);
    EXPECT_EQ(refusal(method + ":shards=51"),
              "`shards` must be between 1 and the number of rows, 50 (got 51)");
  }
  EXPECT_EQ(plan_of("weierstrass").bandwidth, 0.3);
  EXPECT_EQ(plan_of("weierstrass:bandwidth=0.1").bandwidth, 0.1);
}

// full and exact: 20,000 / rows, from 1 to 10. Others: 1.
TEST(Plan, StepsPerDrawAreChosenLaterUnlessTheyAreStated) {
  for (const MethodSpec& method : methods()) {
    const std::string name(method.name);
    EXPECT_EQ(plan_of(name, 50).chain.thin, 1U) << name;
    EXPECT_TRUE(plan_of(name, 50).choose_steps) << name;
    EXPECT_EQ(plan_of(name + ":thin=3", 50).chain.thin, 3U) << name;
    EXPECT_FALSE(plan_of(name + ":thin=1", 50).choose_steps) << name;
  }
}

TEST(Plan, ChainsAreAsTheOptionsSay) {
  const Plan usual = plan_of("full");
  EXPECT_EQ(usual.chain.seed, 1U);
  EXPECT_EQ(usual.chain.chains, 4U);
  EXPECT_EQ(usual.chain.warmup, 1000U);
  EXPECT_EQ(usual.chain.draws, 1000U);
  EXPECT_FALSE(usual.start_at_mode);
  const Plan given = plan_of("mlo:seed=18446744073709551615:chains=2:warmup=0:draws=7:threads=3:start=mode");
  EXPECT_EQ(given.chain.seed, 18446744073709551615ULL);
  EXPECT_EQ(given.chain.chains, 2U);
  EXPECT_EQ(given.chain.warmup, 0U);
  EXPECT_EQ(given.chain.draws, 7U);
  EXPECT_EQ(given.threads, 3U);
  EXPECT_TRUE(given.start_at_mode);
}

TEST(Plan, WarmUpOfGroupEffectsDependsOnTheirCovariance) {
  const auto warmup = [](std::optional<std::int64_t> given, std::optional<std::size_t> covariance) {
    MethodOptions o;
    o.warmup = given;
    return resolve(o, {.rows = 100, .dim = 3, .all_positive = false, .covariance = covariance}).chain.warmup;
  };
  EXPECT_EQ(warmup({}, {}), 1000U);
  EXPECT_EQ(warmup({}, 0), 200U);
  EXPECT_EQ(warmup({}, 1), 250U);
  EXPECT_EQ(warmup({}, 3), 350U);
  EXPECT_EQ(warmup({}, 36), 1000U);
  EXPECT_EQ(warmup(7, 3), 7U);
}

TEST(Plan, SettleDrawsASeedThatCanBeTypedAgain) {
  MethodOptions o;
  EXPECT_TRUE(settle(o));
  ASSERT_TRUE(o.seed);
  EXPECT_LT(*o.seed, std::uint64_t{1} << 31U);
  EXPECT_GE(o.threads, 1);
  const MethodOptions settled = o;
  EXPECT_FALSE(settle(o));
  EXPECT_TRUE(o == settled);
}

TEST(Plan, WeightsAtIsAWordOrAPoint) {
  using At = SubsamplePlan::At;
  EXPECT_EQ(plan_of("mlo:weights-at=mle").subsample.weights_at, At::mle);
  EXPECT_EQ(plan_of("mlo:weights-at=map").subsample.weights_at, At::map);
  for (const char* text : {"1,-2.5e-3", "1, -2.5e-3", " 1 -2.5e-3 "}) {
    const SubsamplePlan plan = plan_of(std::string("mlo:weights-at=") + text, 50, 2).subsample;
    EXPECT_EQ(plan.weights_at, At::point) << text;
    EXPECT_EQ(plan.weights_point, (std::vector<double>{1, -2.5e-3})) << text;
  }
  EXPECT_EQ(refusal("mlo:weights-at=1,2,3"),
            "`weights-at` needs 2 numbers, one per parameter (got 3: \"1,2,3\")");
  EXPECT_EQ(refusal("mlo:weights-at="), "`weights-at` needs 2 numbers, one per parameter (got 0: \"\")");
  for (const std::string bad : {"1,b", "1,nan", "1,inf", "1,2x", "mode"})
    EXPECT_EQ(refusal("mlo:weights-at=" + bad),
              "`weights-at` must be mle, map or numbers separated by commas (got \"" + bad + "\")");
}

TEST(Plan, SizesThatDoNotFitTheRowsAreRefused) {
  for (const std::string size : {"0", "-1", "51"})
    EXPECT_EQ(refusal("mlo:subsample-size=" + size),
              "`subsample-size` must be between 1 and the number of rows, 50 (got " + size + ")");
  // A variance takes two rows.
  for (const std::string method : {"austerity", "confidence", "barker", "penalty", "difference", "block"}) {
    EXPECT_EQ(refusal(method + ":subsample-size=1"),
              "`subsample-size` must be between 2 and the number of rows, 50 (got 1)");
    EXPECT_EQ(refusal(method + ":subsample-size=1", 1), "") << "there is one row";
  }
  EXPECT_EQ(refusal("mlo-adaptive:subsample-size=20:max-subsample-size=10"),
            "`max-subsample-size` must be between `subsample-size`, 20, and the number of rows, 50 (got 10)");
  EXPECT_EQ(refusal("difference:max-subsample-size=51"),
            "`max-subsample-size` must be between `subsample-size`, 20, and the number of rows, 50 (got 51)");
  EXPECT_EQ(refusal("block:subsample-size=10:blocks=11"),
            "`blocks` must be at most `subsample-size`, 10 (got 11)");
}

TEST(Plan, PartsThatDoNotGoTogetherAreRefused) {
  EXPECT_EQ(refusal("difference:estimator=plain"),
            "`method difference` has control variates; without them it is `method penalty`");
  for (const std::string weights : {"uniform", "mlo", "score"})
    EXPECT_EQ(refusal("difference:weights=" + weights),
              "`method difference` has remainder weights: for `weights " + weights +
                  "` use `method penalty` and `estimator control-variates`");
  EXPECT_EQ(refusal("uniform:weights=score"),
            "`method uniform` has uniform weights; for `weights score` use `method mlo`");
  EXPECT_EQ(refusal("uniform:estimator=control-variates:weights=remainder"),
            "`method uniform` has uniform weights; for `weights remainder` use `method difference`");
  for (const char* option : {"weights=mlo", "replacement=yes", "weights=score:estimator=control-variates"})
    EXPECT_EQ(refusal(std::string("confidence:") + option),
              "`method confidence` needs uniform weights without replacement: its bounds are for rows drawn "
              "that way (Serfling's inequality)");
  EXPECT_EQ(refusal("mlo:weights=remainder"),
            "`weights remainder` are for what control variates leave over: use `estimator control-variates`, "
            "or `method difference`");
  EXPECT_EQ(refusal("penalty:estimator=control-variates:weights=remainder:weights-at=map"),
            "`weights-at` has no meaning with remainder weights, which are taken at the mode");
  EXPECT_EQ(refusal("difference:uniform-share=0"),
            "`uniform-share` must be positive with remainder weights (got 0)");
  EXPECT_EQ(refusal("mlo:weights=uniform:weights-at=map"),
            "`weights-at` has no meaning with uniform weights");
  EXPECT_EQ(refusal("barker:uniform-share=0.1"), "`uniform-share` has no meaning with uniform weights");
  EXPECT_EQ(
      refusal("mlo:replacement=no"),
      "`replacement no` needs uniform weights: rows drawn with the unequal probabilities of `weights mlo` are "
      "drawn with replacement, or the estimate is biased");
  EXPECT_EQ(refusal("austerity:delta=0.5"),
            "`delta` must be below 0.5 with `method austerity`: a coin is wrong as often (got 0.5)");
  EXPECT_EQ(refusal("mlo-adaptive:delta=0.5"), "");
  EXPECT_EQ(refusal("exact:audit-every=10"), "`audit-every` needs `audit`");
}

TEST(Plan, ProposalsThatDoNotSuitTheMethodAreRefused) {
  for (const std::string method : {"exact", "auto"})
    EXPECT_EQ(
        refusal(method + ":proposal=adaptive"),
        "`proposal adaptive` has no meaning with `method " + method +
            "`, whose proposals have the posterior's shape from the start; use laplace or random-walk, or "
            "`method full`");
  EXPECT_EQ(
      refusal("full:proposal-shape=identity"),
      "`proposal-shape` has no meaning with `proposal laplace`, which has the shape of the Laplace fit");
  EXPECT_EQ(
      refusal("full:proposal-scale=2"),
      "`proposal-scale` must be at most 1 with `proposal laplace`, where 1 draws independently from the "
      "Laplace fit (got 2)");
  EXPECT_EQ(refusal("mlo:proposal-shape=identity"),
            "`proposal-shape identity` needs `proposal-scale`: the step's standard deviation, for every "
            "parameter");
  EXPECT_EQ(refusal("mlo:proposal-scale=2"), "");
}

TEST(Plan, GammaIsForParametersThatArePositive) {
  const auto positive = [](const std::string& text) {
    return resolve(options(text), {.rows = 50, .dim = 1, .all_positive = true});
  };
  for (const std::string method : {"full", "block"}) {
    EXPECT_EQ(positive(method + ":proposal=gamma:proposal-scale=0.05").proposal.kind, Kind::gamma) << method;
    EXPECT_EQ(positive(method + ":proposal=gamma:proposal-scale=0.05").proposal.scale, 0.05) << method;
  }
  for (const std::string method : {"uniform", "mlo", "mlo-adaptive", "difference", "barker"})
    EXPECT_EQ(positive(method + ":proposal=gamma:proposal-scale=1").subsample.proposal.kind, Kind::gamma)
        << method;
  EXPECT_EQ(refusal("mlo:proposal=gamma:proposal-scale=0.05"),
            "`proposal gamma` needs a model whose parameters are all positive and are sampled as they are, "
            "such as `family gaussian-precision`; use `proposal random-walk`");
  EXPECT_EQ(refusal("mlo:proposal=gamma"),
            "`proposal gamma` needs `proposal-scale`: the step's standard deviation as a share of the "
            "parameter, at most 1");
  EXPECT_EQ(refusal("mlo:proposal=gamma:proposal-scale=1.5"),
            "`proposal-scale` must be at most 1 with `proposal gamma`, where it is the step's standard "
            "deviation as a share of the parameter (got 1.5)");
  EXPECT_EQ(refusal("mlo:proposal=gamma:proposal-scale=0.05:proposal-shape=identity"),
            "`proposal-shape` has no meaning with `proposal gamma`, whose step is proportional to the "
            "parameter");
  for (const std::string method : {"exact", "auto"})
    EXPECT_EQ(refusal(method + ":proposal=gamma:proposal-scale=0.05"),
              "`proposal gamma` has no meaning with `method " + method +
                  "`, whose proposals have the posterior's shape from the start; use laplace or random-walk, "
                  "or `method full`");
}

TEST(Plan, AnUnknownMethodComesWithTheKnownOnes) {
  EXPECT_EQ(refusal("fill"),
            "`method` must be one of auto, exact, difference, full, uniform, mlo, mlo-adaptive, austerity, "
            "confidence, barker, penalty, block, consensus, weierstrass (got \"fill\"); did you mean full?");
  EXPECT_TRUE(refusal("nuts").ends_with("(got \"nuts\")"));
}

// What `auto` falls back on is difference with its defaults, whatever the data.
TEST(Plan, AutoCarriesThePlanOfWhatItMayChoose) {
  for (const std::size_t rows : {1U, 5U, 50U, 1'000'000U}) {
    const Plan automatic = plan_of("auto", rows), difference = plan_of("difference", rows);
    EXPECT_EQ(automatic.method->role, Role::automatic);
    EXPECT_EQ(automatic.subsample.size, difference.subsample.size);
    EXPECT_EQ(automatic.subsample.max, difference.subsample.max);
    EXPECT_EQ(automatic.subsample.noise_sd, difference.subsample.noise_sd);
    EXPECT_EQ(automatic.subsample.uniform_share, difference.subsample.uniform_share);
    EXPECT_EQ(automatic.subsample.parts.weights, RowWeights::remainder);
    EXPECT_EQ(automatic.subsample.proposal.kind, Kind::laplace);
    EXPECT_EQ(automatic.proposal.kind, Kind::mixed);
  }
  const Plan walk = plan_of("auto:proposal=random-walk:proposal-scale=2");
  EXPECT_TRUE(walk.exact.random_walk);
  EXPECT_EQ(walk.exact.step, 2);
  EXPECT_EQ(walk.proposal.kind, Kind::random_walk);
  EXPECT_EQ(walk.proposal.scale, 2);
  EXPECT_EQ(walk.subsample.proposal.kind, Kind::random_walk);
  EXPECT_TRUE(plan_of("auto:audit=true").audit);
  for (const char* option : {"subsample-size=10", "noise-sd=0.1", "order=2", "thinning=balanced", "blocks=5",
                             "shards=2", "weights=mlo", "proposal-shape=laplace"})
    EXPECT_NE(refusal(std::string("auto:") + option).find("has no meaning with `method auto`"),
              std::string::npos)
        << option;
}

TEST(Check, NamesWhatIsWrongWithTheModelBeforeAnyDataAreRead) {
  const auto refused = [](const std::string& method, const std::string& family, FitOptions o = {}) {
    o.method = method;
    o.family = family;
    try {
      check(o);
    } catch (const UsageError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(
      refused("auto", "normal"),
      "`family` must be one of gaussian, gaussian-mean, gaussian-precision, student, logistic, probit, "
      "beta-binomial, poisson, negative-binomial, zero-inflated-poisson, gamma, softmax (got \"normal\")");
  // As other programs spell them.
  EXPECT_TRUE(refused("auto", "Poisson").ends_with("; did you mean poisson?"));
  EXPECT_TRUE(refused("auto", "zero_inflated_poisson").ends_with("; did you mean zero-inflated-poisson?"));
  EXPECT_TRUE(refused("auto", "binominal").ends_with("; did you mean binomial?"));
  EXPECT_EQ(refused("auto", "negbinomial"), "");
  for (const char* family :
       {"gaussian", "gaussian-mean", "gaussian-precision", "logistic", "probit", "poisson", "student",
        "negative-binomial", "gamma", "zero-inflated-poisson", "beta-binomial"})
    EXPECT_EQ(refused("exact", family), "") << family;
  FitOptions o;
  o.numbers["freedom"] = 3;
  EXPECT_EQ(refused("full", "logistic", o), "`freedom` has no meaning with `family logistic`");
  o.numbers = {{"nonsense", 3}};
  EXPECT_EQ(refused("full", "logistic", o), "`nonsense` has no meaning with `family logistic`");
}

}  // namespace
}  // namespace mlo
