// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/registry/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "mlo/base/errors.hpp"
#include "mlo/model/prior.hpp"
#include "registry/composition.hpp"

namespace mlo {
namespace {

constexpr std::array<FamilyEntry, 8> family_table{{
    {"gaussian", "any number", "coefficients and sigma"},
    {"gaussian-mean", "any number; sigma known (--known-sigma)", "mu, or coefficients if there are columns"},
    {"gaussian-precision", "any number; mean known (--known-mean); formula y ~ 1", "tau = 1 / variance"},
    {"student", "any number, outliers too; Student's law with --freedom (4)",
     "coefficients and sigma, unless it is known (--known-sigma)"},
    {"logistic", "0 or 1", "coefficients (log odds)"},
    {"probit", "0 or 1", "coefficients"},
    {"poisson", "counts 0, 1, 2, ...", "coefficients (log rate)"},
    {"negative-binomial", "counts 0, 1, 2, ..., overdispersed: variance mu + mu^2 / size",
     "coefficients (log mean) and size, unless it is known (--size)"},
}};

constexpr std::array<MethodEntry, 14> method_table{{
    {"auto", Promise::exact,
     "exact or full, whichever takes less time; difference only where neither can be had",
     "as the method it takes", "any model", "the posterior, up to Monte Carlo error", "docs/methods/auto.md"},
    {"exact", Promise::exact, "Metropolis-Hastings with control variates and thinning",
     "about 1, less with more data; gaussian families 0",
     "a gaussian family, logistic, probit, poisson; negative-binomial with --size, student with "
     "--known-sigma",
     "the posterior, up to Monte Carlo error",
     "Prado, Nemeth & Sherlock 2024; Cornish et al. 2019; docs/methods/exact.md"},
    {"difference", Promise::approximate,
     "control variates, remainder weights and a penalty for the noise that is left",
     "--subsample-size (20) up to --max-subsample-size", "any model with a smooth log-likelihood",
     "as good as the posterior's where the reported noise sd is below 0.1",
     "Ceperley & Dewing 1999; docs/methods/difference.md"},
    {"full", Promise::exact, "Metropolis-Hastings on all rows", "n", "any model",
     "the posterior, up to Monte Carlo error", "paper, Algorithm 1"},
    {"uniform", Promise::approximate, "a uniform subsample each step, without replacement",
     "--subsample-size r", "any model",
     "means usable, intervals too wide: 2 to 50 times on the paper's logistic example",
     "paper, section 2.2; its baseline"},
    {"mlo", Promise::approximate, "a subsample with most-likely-optimal probabilities each step",
     "--subsample-size r", "any model with a finite maximum-likelihood fit, or --weights-at map",
     "means usable, intervals too wide: 2 to 50 times on the paper's logistic example", "paper, Algorithm 2"},
    {"mlo-adaptive", Promise::approximate, "as mlo; a pilot subsample says how many rows a step needs",
     "--subsample-size up to --max-subsample-size",
     "any model with a finite maximum-likelihood fit, or --weights-at map",
     "means usable, intervals too wide: 3 to 12 times on the paper's logistic example", "paper, Algorithm 3"},
    {"austerity", Promise::approximate,
     "a t-test after each batch of rows, until the decision is safe with error --delta",
     "--subsample-size (500) up to n", "any model",
     "close to the posterior's with a small --delta; then it reads most of the rows",
     "Korattikara, Chen & Welling 2014; docs/methods/austerity.md"},
    {"confidence", Promise::bounded_error,
     "reads rows until a concentration bound says that the decision is right, but for --delta",
     "--subsample-size (100) up to n; often n",
     "logistic, probit, poisson; negative-binomial with --size, "
     "student with --known-sigma",
     "close to the posterior's: a step decides otherwise than full with probability --delta at most",
     "Bardenet, Doucet & Holmes 2014, 2017; docs/methods/confidence.md"},
    {"barker", Promise::approximate,
     "Barker's test, whose randomness absorbs that of a subsample with noise below 1",
     "--subsample-size (100) up to n", "any model",
     "close to the posterior's where the reported noise sd is below 1",
     "Seita, Pan, Chen & Canny 2017; docs/methods/barker.md"},
    {"penalty", Promise::approximate, "a subsample each step, with a penalty for its noise",
     "--subsample-size up to --max-subsample-size",
     "any model with a finite maximum-likelihood fit, or --weights-at map",
     "good where the reported noise sd is below about 1; with more noise the chain hardly moves",
     "Ceperley & Dewing 1999; docs/methods/penalty.md"},
    {"block", Promise::approximate,
     "pseudo-marginal: control variates, and a subsample of which one block is new each step",
     "--subsample-size (100)", "any model with a smooth log-likelihood",
     "those of a slightly perturbed posterior, as good as the posterior's for tall data",
     "Quiroz, Kohn, Villani & Tran 2019; docs/methods/block.md"},
    {"consensus", Promise::approximate, "chains on shards of the rows, whose draws are averaged",
     "n, in shards", "any model; it warns of shards without a mode of their own",
     "good where each shard's posterior is nearly Gaussian", "Scott et al. 2016; docs/methods/consensus.md"},
    {"weierstrass", Promise::approximate,
     "chains on shards of the rows, tied together by a kernel of width "
     "--bandwidth",
     "n, in shards", "any model; it warns of shards without a mode of their own",
     "too wide by about half the square of --bandwidth", "Wang & Dunson 2013; docs/methods/weierstrass.md"},
}};

template <std::size_t n>
void one_of(std::string_view option, const std::string& value,
            const std::array<std::string_view, n>& allowed) {
  if (std::find(allowed.begin(), allowed.end(), value) == allowed.end())
    throw UsageError(
        fmt::format("{} must be one of {} (got \"{}\")", option, fmt::join(allowed, ", "), value));
}

void within(std::string_view option, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value < least) throw UsageError(fmt::format("{} must be at least {} (got {})", option, least, value));
  if (value > most) throw UsageError(fmt::format("{} must be at most {} (got {})", option, most, value));
}

template <class T>
void meaningless(const std::optional<T>& given, std::string_view option, const std::string& why) {
  if (given) throw UsageError(fmt::format("{} has no meaning {}", option, why));
}

void positive(std::string_view option, const std::optional<double>& value) {
  if (value && !(*value > 0 && std::isfinite(*value)))
    throw UsageError(fmt::format("{} must be positive{} (got {})", option,
                                 std::isinf(*value) ? " and finite" : "", *value));
}

template <class Table>
std::string names_of(const Table& table) {
  std::string out;
  for (const auto& entry : table) out += fmt::format("{}{}", out.empty() ? "" : ", ", entry.name);
  return out;
}

template <class Table>
bool known(const Table& table, const std::string& name) {
  return std::any_of(table.begin(), table.end(), [&](const auto& entry) { return entry.name == name; });
}

// What an option is for, said where it has no meaning.
template <class T>
void only(const std::optional<T>& given, bool allowed, std::string_view option, const FitOptions& o,
          std::string_view whose) {
  if (!allowed) meaningless(given, option, fmt::format("with --method {}; it is for {}", o.method, whose));
}

void check_composition(const FitOptions& o, const Composition& parts) {
  if (o.method == "difference") {
    if (parts.estimator != "control-variates")
      throw UsageError("--method difference has control variates; without them it is --method penalty");
    if (parts.weights != "remainder")
      throw UsageError(
          fmt::format("--method difference has remainder weights: for --weights {} use --method "
                      "penalty --estimator control-variates",
                      parts.weights));
  }
  if (o.method == "uniform" && parts.weights != "uniform")
    throw UsageError(fmt::format("--method uniform has uniform weights; for --weights {} use --method {}",
                                 parts.weights, parts.weights == "remainder" ? "difference" : "mlo"));
  if (parts.rule == Rule::confidence && (parts.weights != "uniform" || parts.replacement))
    throw UsageError(
        "--method confidence needs uniform weights without replacement: its bounds are for rows drawn so "
        "(Serfling's inequality)");
  if (parts.weights == "remainder") {
    if (parts.estimator != "control-variates")
      throw UsageError(
          "--weights remainder are for what control variates leave over: use --estimator control-variates, "
          "or "
          "--method difference");
    meaningless(o.weights_at, "--weights-at", "with remainder weights, which are taken at the mode");
    if (o.uniform_share && *o.uniform_share == 0)
      throw UsageError("--uniform-share must be positive with remainder weights (got 0)");
  }
  if (parts.weights == "uniform") {
    meaningless(o.weights_at, "--weights-at", "with uniform weights");
    meaningless(o.uniform_share, "--uniform-share", "with uniform weights");
  } else if (!parts.replacement) {
    throw UsageError(
        fmt::format("--replacement no needs uniform weights: rows drawn with the unequal probabilities of "
                    "--weights {} are drawn with replacement, or the estimate is biased",
                    parts.weights));
  }
}

void check_method_options(const FitOptions& o) {
  if (o.thinning) one_of<2>("--thinning", *o.thinning, {"balanced", "factorised"});
  if (o.order) within("--order", *o.order, 2, 3);
  if (o.audit_every && !o.audit) throw UsageError("--audit-every needs --audit");
  if (o.audit_every) within("--audit-every", *o.audit_every, 1, 1'000'000'000);
  if (o.weights) one_of<4>("--weights", *o.weights, {"uniform", "mlo", "score", "remainder"});
  if (o.replacement) one_of<2>("--replacement", *o.replacement, {"yes", "no"});
  if (o.estimator) one_of<2>("--estimator", *o.estimator, {"plain", "control-variates"});
  if (o.bound) one_of<2>("--bound", *o.bound, {"bernstein", "hoeffding"});
  if (o.blocks) within("--blocks", *o.blocks, 1, 1'000'000'000);
  if (o.shards) within("--shards", *o.shards, 1, 10'000);
  positive("--bandwidth", o.bandwidth);
  positive("--noise-sd", o.noise_sd);
  if (o.uniform_share && !(*o.uniform_share >= 0 && *o.uniform_share <= 1))
    throw UsageError(fmt::format("--uniform-share must be between 0 and 1 (got {})", *o.uniform_share));
  if (o.delta && !(*o.delta > 0 && *o.delta < 1))
    throw UsageError(fmt::format("--delta must be between 0 and 1, exclusive (got {})", *o.delta));

  const std::optional<Composition> parts = composition(o, o.method);
  if (o.delta && parts && parts->rule == Rule::austerity && *o.delta >= 0.5)
    throw UsageError(fmt::format(
        "--delta must be below 0.5 with --method austerity: a coin is wrong as often (got {})", *o.delta));
  const auto rule_is = [&](std::initializer_list<Rule> rules) {
    return parts && std::find(rules.begin(), rules.end(), parts->rule) != rules.end();
  };
  const std::string_view subsampled = "methods that read some of the rows";
  only(o.subsample_size, parts || o.method == "block", "--subsample-size", o, subsampled);
  only(o.weights, parts.has_value(), "--weights", o, subsampled);
  only(o.weights_at, parts.has_value(), "--weights-at", o, subsampled);
  only(o.uniform_share, parts.has_value(), "--uniform-share", o, subsampled);
  only(o.replacement, parts.has_value(), "--replacement", o, subsampled);
  only(o.estimator, parts.has_value(), "--estimator", o, subsampled);
  only(o.max_subsample_size, rule_is({Rule::adaptive, Rule::penalty, Rule::austerity, Rule::barker}),
       "--max-subsample-size", o, "mlo-adaptive, austerity, barker, penalty and difference");
  only(o.delta, rule_is({Rule::adaptive, Rule::austerity, Rule::confidence}), "--delta", o,
       "mlo-adaptive, austerity and confidence");
  only(o.noise_sd, rule_is({Rule::penalty}), "--noise-sd", o, "penalty and difference");
  only(o.bound, rule_is({Rule::confidence}), "--bound", o, "--method confidence");
  only(o.blocks, o.method == "block", "--blocks", o, "--method block");
  only(o.shards, is_sharded(o.method), "--shards", o, "consensus and weierstrass");
  only(o.bandwidth, o.method == "weierstrass", "--bandwidth", o, "--method weierstrass");
  only(o.thinning, o.method == "exact", "--thinning", o, "--method exact");
  only(o.order, o.method == "exact", "--order", o, "--method exact");
  if (o.audit && o.method != "exact" && o.method != "auto")
    throw UsageError(
        fmt::format("--audit has no meaning with --method {}: it checks --method exact", o.method));
  if (parts) check_composition(o, *parts);
}

void check_proposal_options(const FitOptions& o) {
  if (o.proposal) one_of<3>("--proposal", *o.proposal, {"laplace", "random-walk", "adaptive"});
  if (o.proposal_shape) one_of<2>("--proposal-shape", *o.proposal_shape, {"laplace", "identity"});
  const bool exact = o.method == "exact" || o.method == "auto";
  const std::string proposal = proposal_of(o, o.method);
  if (is_sharded(o.method)) {
    const std::string why =
        fmt::format("with --method {}, whose shards have proposals of their own", o.method);
    meaningless(o.proposal, "--proposal", why);
    meaningless(o.proposal_scale, "--proposal-scale", why);
    meaningless(o.proposal_shape, "--proposal-shape", why);
  }
  if (exact && proposal == "adaptive")
    throw UsageError(
        fmt::format("--proposal adaptive has no meaning with --method {}, whose proposals have the "
                    "posterior's shape from the "
                    "start; use laplace or random-walk, or --method full",
                    o.method));
  if (exact && o.proposal_shape)
    throw UsageError(fmt::format(
        "--proposal-shape has no meaning with --method {}, whose proposals have the shape of the Laplace fit",
        o.method));
  if (o.proposal_scale && !(*o.proposal_scale > 0 && std::isfinite(*o.proposal_scale)))
    throw UsageError(fmt::format("--proposal-scale must be positive (got {})", *o.proposal_scale));
  if (proposal == "laplace") {
    meaningless(o.proposal_shape, "--proposal-shape",
                "with --proposal laplace, which has the shape of the Laplace fit");
    if (o.proposal_scale && *o.proposal_scale > 1)
      throw UsageError(
          fmt::format("--proposal-scale must be at most 1 with --proposal laplace, where 1 draws "
                      "independently from the Laplace fit (got {})",
                      *o.proposal_scale));
  }
  if (o.proposal_shape == "identity" && !o.proposal_scale)
    throw UsageError(
        "--proposal-shape identity needs --proposal-scale: the step's standard deviation, for every "
        "parameter");
  one_of<2>("--start", o.start, {"laplace", "mode"});
}

}  // namespace

std::span<const FamilyEntry> families() { return family_table; }
std::span<const MethodEntry> methods() { return method_table; }
std::string family_names() { return names_of(family_table); }
std::string method_names() { return names_of(method_table); }

void check_method_name(const std::string& method) {
  if (!known(method_table, method))
    throw UsageError(fmt::format("--method must be one of {} (got \"{}\")", method_names(), method));
}

std::int64_t default_thin(const FitOptions& options, std::size_t rows) {
  if (options.method != "auto" && options.method != "full" && options.method != "exact") return 1;
  constexpr std::size_t many = 20'000, most = 10;
  return static_cast<std::int64_t>(std::clamp<std::size_t>(many / std::max<std::size_t>(rows, 1), 1, most));
}

void check(const FitOptions& o) {
  if (!known(family_table, o.family))
    throw UsageError(fmt::format("--family must be one of {} (got \"{}\")", family_names(), o.family));
  check_method_name(o.method);
  one_of<3>("--scale", o.scale, {"none", "sd", "standard"});
  one_of<2>("--missing", o.missing, {"drop", "error"});
  constexpr std::int64_t billion = 1'000'000'000;  // products of two of them still fit
  within("--chains", o.chains, 1, 10'000);
  within("--warmup", o.warmup, 0, billion);
  within("--draws", o.draws, 1, billion);
  if (o.thin) within("--thin", *o.thin, 1, billion);
  within("--threads", o.threads, 0, 1024);
  check_method_options(o);
  check_proposal_options(o);

  const std::string with_family = fmt::format("with --family {}", o.family);
  if (o.family != "gaussian-mean" && o.family != "student")
    meaningless(o.known_sigma, "--known-sigma", with_family);
  if (o.family != "gaussian-precision") meaningless(o.known_mean, "--known-mean", with_family);
  if (o.family != "student") meaningless(o.freedom, "--freedom", with_family);
  if (o.family != "negative-binomial") meaningless(o.size, "--size", with_family);
  positive("--known-sigma", o.known_sigma);
  positive("--freedom", o.freedom);
  positive("--size", o.size);
  if (o.known_mean && !std::isfinite(*o.known_mean))
    throw UsageError(fmt::format("--known-mean must be a finite number (got {})", *o.known_mean));
  const bool estimated =
      (o.family == "student" && !o.known_sigma) || (o.family == "negative-binomial" && !o.size);
  if (o.method == "exact" && estimated)
    throw UsageError(fmt::format(
        "--method exact needs bounds that hold for every value of the parameters; there are none while the "
        "second "
        "parameter of --family {} is estimated. Give it with {}, or use --method full or difference",
        o.family, o.family == "student" ? "--known-sigma" : "--size"));
  if (o.prior) static_cast<void>(Prior::parse(*o.prior, "--prior"));
  if (o.prior_intercept) static_cast<void>(Prior::parse(*o.prior_intercept, "--prior-intercept"));
  for (const auto& [name, text] : o.prior_for) static_cast<void>(Prior::parse(text, "--prior-for " + name));
}

}  // namespace mlo
