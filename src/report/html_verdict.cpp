// Copyright (c) the mlo authors. BSD-3-Clause.
// The verdict: what a reader needs to know before any figure.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mlo/base/text.hpp"
#include "mlo/report/html.hpp"

namespace mlo {
namespace {

using Level = ReportVerdict::Level;

constexpr double far_rhat = 1.05;

void worsen(ReportVerdict& verdict, Level level) { verdict.level = std::max(verdict.level, level); }

void say_data(const RunSummary& s, ReportVerdict& verdict) {
  if (s.data.dropped > 0)
    verdict.sentences.push_back(fmt::format("{} of {} rows had a missing cell and {} left out.",
                                            grouped(s.data.dropped), grouped(s.data.rows),
                                            s.data.dropped == 1 ? "was" : "were"));
  if (s.interrupted) {
    worsen(verdict, Level::care);
    verdict.sentences.push_back(
        fmt::format("The run was interrupted: there are {} draws per chain, fewer than were asked for.",
                    grouped(s.draws)));
  }
}

// Whether the chains are so far from each other that the verdict is red.
bool far_apart(const RunSummary& s) {
  return std::any_of(s.parameters.begin(), s.parameters.end(),
                     [](const ParameterSummary& p) { return p.rhat > far_rhat; });
}

// Exact or not, and why.
void say_promise(const RunSummary& s, ReportVerdict& verdict) {
  const std::string rows = s.method.rows_per_step == 0      ? std::string("none")
                           : s.method.rows_per_step < 0.005 ? std::string("almost none")
                                                            : plain_number(s.method.rows_per_step);
  const std::string reads =
      fmt::format("On average a step reads {} of the {} rows.", rows, grouped(s.data.used));
  if (s.method.bound_violations > 0) {
    worsen(verdict, Level::bad);
    verdict.sentences.push_back(fmt::format(
        "The draws are NOT exact: {} row{} broke the bounds that the method {} relies on.",
        grouped(s.method.bound_violations), s.method.bound_violations == 1 ? "" : "s", s.method.name));
    return;
  }
  switch (s.method.promise) {
    case Promise::exact:
      verdict.sentences.push_back(fmt::format(
          fmt::runtime(
              far_apart(s)
                  ? "The method {} samples the posterior itself, but these chains have not explored it yet. {}"
                  : "The draws are exact: the method {} samples the posterior itself, not an approximation of it. {}"),
          s.method.name,
          s.method.rows_per_step >= 0.99 * static_cast<double>(s.data.used)
              ? "A step reads as many rows as there are, or more."
              : reads));
      break;
    case Promise::bounded_error:
      verdict.sentences.push_back(fmt::format(
          "The draws are not exact, but the error of each decision of the method {} is bounded. {}",
          s.method.name, reads));
      break;
    case Promise::approximate:
      verdict.sentences.push_back(fmt::format(
          "The draws are approximate: however long it runs, the method {} does not sample the posterior itself. {}",
          s.method.name, reads));
      break;
  }
  switch (s.noise.verdict) {
    case NoiseReport::Verdict::none:
    case NoiseReport::Verdict::harmless:
      break;
    case NoiseReport::Verdict::inflated:
      worsen(verdict, Level::care);
      break;
    case NoiseReport::Verdict::not_the_posterior:
      worsen(verdict, Level::bad);
      break;
  }
  // A verdict on harmful noise is among the warnings too.
  if (s.noise.verdict == NoiseReport::Verdict::harmless && !s.noise.words.empty())
    verdict.sentences.push_back(s.noise.words);
  if (s.audit.done)
    verdict.sentences.push_back(fmt::format(
        "An audit compared {} steps with all rows, and the draws with {} draws of chains that read all rows: {}.",
        grouped(s.audit.steps), grouped(s.audit.full_draws),
        s.audit.warning.empty() ? "they agree" : "they do not agree"));
  if (!s.audit.warning.empty()) worsen(verdict, Level::bad);
}

// Converged or not.
void say_convergence(const RunSummary& s, ReportVerdict& verdict) {
  const ParameterSummary* worst = nullptr;
  const ParameterSummary* fewest = nullptr;
  std::size_t undefined = 0;
  const auto ess = [](const ParameterSummary& p) { return std::min(p.ess_bulk, p.ess_tail); };
  for (const ParameterSummary& p : s.parameters) {
    if (std::isnan(p.rhat) || std::isnan(ess(p))) {
      ++undefined;
      continue;
    }
    if (worst == nullptr || p.rhat > worst->rhat) worst = &p;
    if (fewest == nullptr || ess(p) < ess(*fewest)) fewest = &p;
  }
  if (undefined > 0) {
    worsen(verdict, Level::bad);
    verdict.sentences.push_back(fmt::format(
        "Whether the chains have converged is not known for {} of {} parameters: too few draws, or all alike.",
        undefined, s.parameters.size()));
  }
  if (worst == nullptr) return;
  const std::string chains =
      s.chains == 1 ? "The two halves of the one chain" : fmt::format("The {} chains", s.chains);
  if (worst->rhat > 1.01) {
    worsen(verdict, worst->rhat > far_rhat ? Level::bad : Level::care);
    const auto many = std::count_if(s.parameters.begin(), s.parameters.end(),
                                    [](const ParameterSummary& p) { return p.rhat > 1.01; });
    verdict.sentences.push_back(
        fmt::format("{} do not agree: R-hat is {:.3f} for {}, and above 1.01 for {} of {} parameters.",
                    chains, worst->rhat, worst->name, many, s.parameters.size()));
  } else {
    verdict.sentences.push_back(
        fmt::format("{} agree: the largest R-hat is {:.3f}, below 1.01.", chains, worst->rhat));
  }
  const double needed = 100 * static_cast<double>(s.chains);
  if (ess(*fewest) < needed) {
    worsen(verdict, Level::care);
    verdict.sentences.push_back(fmt::format(
        "There are only {:.0f} effective draws for {}: below {:.0f}, means and intervals are rough.",
        ess(*fewest), fewest->name, needed));
  } else {
    double error = 0;
    for (const ParameterSummary& p : s.parameters)
      if (p.mcse_mean / p.sd > error) error = p.mcse_mean / p.sd;
    verdict.sentences.push_back(fmt::format(
        "There are at least {} effective draws for each parameter, so that the Monte Carlo error of a mean is at most "
        "{:.1g} of its posterior sd.",
        grouped(static_cast<std::uint64_t>(ess(*fewest))), error));
  }
}

// Effects of levels have an R-hat of their own, and there may be many of them: a little above 1.01 is chance.
void say_groups(const ReportInput& input, ReportVerdict& verdict) {
  if (input.effects.empty()) return;
  const GroupEffect* worst = nullptr;
  std::vector<std::string> groups;
  for (const GroupEffect& e : input.effects) {
    if (groups.empty() || groups.back() != e.group) groups.push_back(e.group);
    if (std::isfinite(e.rhat) && (worst == nullptr || e.rhat > worst->rhat)) worst = &e;
  }
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  std::string sentence = fmt::format("Beside these parameters there are {} group effects (of {})",
                                     grouped(input.effects.size()), fmt::join(groups, ", "));
  if (worst != nullptr && worst->rhat > 1.05) {
    worsen(verdict, Level::care);
    sentence += fmt::format(", on which the chains do not agree: R-hat is {:.3f} for {} of {} {}.",
                            worst->rhat, worst->effect, worst->group, worst->level);
  } else if (worst != nullptr) {
    sentence += fmt::format("; the largest of their R-hats is {:.3f}.", worst->rhat);
  } else {
    sentence += "; their R-hats are not known.";
  }
  verdict.sentences.push_back(std::move(sentence));
}

// What the model does not imitate: figures far outside of their 90 % intervals, by half of their width (for a
// normal law 3.3 sds from the mean), so that an alarm is rarely false.
void say_check(const ReportInput& input, ReportVerdict& verdict) {
  if (!input.facts.check) return;
  const PredictiveCheck& check = *input.facts.check;
  std::vector<std::string> off, beside;
  for (const PredictiveCheck::Statistic& s : check.statistics)
    if (s.observed < s.q5 - 0.5 * (s.q95 - s.q5) || s.observed > s.q95 + 0.5 * (s.q95 - s.q5))
      off.push_back(s.name);
    else if (s.observed < s.q5 || s.observed > s.q95)
      beside.push_back(s.name);
  std::size_t outside = 0;
  for (const PredictiveCheck::Group& g : check.groups)
    outside += g.observed < g.q5 || g.observed > g.q95 ? 1 : 0;
  // Of groups with 90 % intervals, a tenth is expected outside.
  const bool shape = check.groups.size() >= 5 && outside * 5 > check.groups.size() * 2;
  if (off.empty() && !shape && !beside.empty()) {
    verdict.sentences.push_back(fmt::format(
        "Simulated responses are much like those that were observed; not quite by {}, {} outside of {} 90 % interval{}, "
        "though not far.",
        fmt::join(beside, " and "), beside.size() == 1 ? "which is" : "which are",
        beside.size() == 1 ? "its" : "their", beside.size() == 1 ? "" : "s"));
    return;
  }
  if (off.empty() && !shape) {
    verdict.sentences.emplace_back(check.binary ? "Predicted probabilities agree with the observed shares."
                                                : "Simulated responses look like those that were observed.");
    return;
  }
  worsen(verdict, Level::care);
  verdict.sentences.push_back(
      check.binary
          ? fmt::format("Predicted probabilities and observed shares differ in {} of {} groups of rows.",
                        outside, check.groups.size())
      : off.empty()
          ? fmt::format(
                "The observed responses have another distribution than simulated ones: {} of {} bins differ.",
                outside, check.groups.size())
          : fmt::format(
                "The model does not imitate the responses well: {} of the observed responses {} out of "
                "what it simulates.",
                fmt::join(off, ", "), off.size() == 1 ? "is" : "are"));
  verdict.next.emplace_back(
      "Look at the predictive check: another family, a transformation, or terms that are missing from the formula "
      "may describe the data better. The posterior is that of the model as it is.");
}

// Whether the groups of held-out rows, by prediction, have the responses that were predicted: the sum of
// squared errors in standard errors, which chance alone brings near the number of groups. An alarm needs 6.7
// of its standard deviations, 40 with ten groups. The variance within a group is that of shares, or else the
// mean squared error, for groups with large predictions in proportion to their square, as if the spread grew
// with the mean: rather too large.
void say_holdout(const RunSummary& s, ReportVerdict& verdict) {
  constexpr std::size_t least_groups = 5;
  if (!s.holdout || s.holdout->calibration.size() < least_groups) return;
  if (!s.holdout->brier && !s.holdout->rmse) return;
  double rows = 0, mean = 0;
  for (const CalibrationBin& g : s.holdout->calibration) {
    rows += static_cast<double>(g.rows);
    mean += static_cast<double>(g.rows) * g.predicted;
  }
  mean /= rows;
  double sum = 0;
  for (const CalibrationBin& g : s.holdout->calibration) {
    const auto n = static_cast<double>(g.rows);
    const double size = s.holdout->brier ? 1 : std::max(1.0, std::abs(g.predicted / mean));
    const double variance = s.holdout->brier ? std::max(g.predicted * (1 - g.predicted), 1 / n)
                                             : std::pow(*s.holdout->rmse * size, 2);
    if (variance > 0) sum += n * std::pow(g.observed - g.predicted, 2) / variance;
  }
  sum /= 1 + rows / static_cast<double>(s.data.used);  // predictions have errors too
  const auto groups = static_cast<double>(s.holdout->calibration.size());
  if (!(sum > groups + 6.7 * std::sqrt(2 * groups))) {
    verdict.sentences.emplace_back("Predictions of the rows that were held out agree with their responses.");
    return;
  }
  worsen(verdict, Level::care);
  verdict.sentences.emplace_back(
      "Predictions of the rows that were held out differ from their responses by more than chance.");
  verdict.next.emplace_back(
      "Look at the hold-out: where points are far from the line, a term may be missing from the formula, or have the "
      "wrong form.");
}

void say_next(const ReportInput& input, ReportVerdict& verdict) {
  const RunSummary& s = input.summary;
  for (const std::string& warning : s.warnings) {
    worsen(verdict, Level::care);
    verdict.next.push_back(warning);
  }
  if (!s.audit.warning.empty() &&
      std::find(s.warnings.begin(), s.warnings.end(), s.audit.warning) == s.warnings.end())
    verdict.next.push_back(s.audit.warning);
  if (s.interrupted) verdict.next.emplace_back("Continue the run, so that all draws are made.");
  if (verdict.level == Level::good) {
    verdict.next.emplace_back("Nothing needs to be done: read the coefficients below.");
    if (!input.predict_command.empty())
      verdict.next.push_back(fmt::format("For predictions of other rows: {}", input.predict_command));
  }
}

}  // namespace

ReportVerdict report_verdict(const ReportInput& input) {
  ReportVerdict verdict{.level = Level::good};
  say_promise(input.summary, verdict);
  say_convergence(input.summary, verdict);
  say_groups(input, verdict);
  say_data(input.summary, verdict);
  say_check(input, verdict);
  say_holdout(input.summary, verdict);
  say_next(input, verdict);
  const bool exact = input.summary.method.promise == Promise::exact;
  switch (verdict.level) {
    case Level::good:
      verdict.headline = exact ? "Exact and converged" : "Converged, to an approximation of the posterior";
      break;
    case Level::care:
      verdict.headline = "Usable with care";
      break;
    case Level::bad:
      verdict.headline = "Do not use these draws yet";
      break;
  }
  return verdict;
}

}  // namespace mlo
