// Copyright (c) the mlo authors. BSD-3-Clause.
// exact, full, and auto, which chooses between them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "method/audit.hpp"
#include "method/sampler.hpp"
#include "mlo/base/text.hpp"
#include "mlo/diagnose/summary.hpp"
#include "mlo/kernel/exact.hpp"
#include "mlo/kernel/full.hpp"
#include "mlo/kernel/line_slices.hpp"
#include "mlo/kernel/repeated.hpp"
#include "mlo/model/glm.hpp"
#include "mlo/model/lines.hpp"
#include "mlo/model/sufficient.hpp"
#include "mlo/subsample/expansion.hpp"

namespace mlo {

void run_composed(Sampler& sampler, const SubsamplePlan& plan);

namespace {

// What a step costs, roughly: `auto` chooses by it. Not by a clock, or the same options would not give the
// same draws.
struct StepCost {
  std::size_t dim;
  double rows;    // read per step
  bool all_rows;  // in order, or at random
  [[nodiscard]] double nanoseconds() const noexcept {
    const auto p = static_cast<double>(dim);
    // Measured on the benchmarks: a row in a pass, a row read at random, and a step's own work.
    constexpr double random_row = 45;
    const double pass_row = 3 + 0.6 * p;
    return all_rows ? pass_row * rows : 60 + 20 * p + random_row * rows;
  }
};
// `auto` reads all rows rather than approximate, up to here.
constexpr double affordable_seconds = 300;

using SharedExpansion = std::shared_ptr<const Expansion>;

using Lines = std::vector<AwkwardLine>;

// Steps per draw: stated, or chosen after warm-up.
RepeatOptions repeats(const Sampler& s, const StepCost& cost, bool independent) {
  const double row =
      StepCost{cost.dim, 1, cost.all_rows}.nanoseconds() - StepCost{cost.dim, 0, cost.all_rows}.nanoseconds();
  return {.fixed = s.plan().choose_steps ? 0U : 1U,
          .independent = independent,
          .draws = s.plan().chain.draws,
          .step_nanoseconds = 100 + StepCost{cost.dim, 0, cost.all_rows}.nanoseconds(),
          .row_nanoseconds = row};
}

// "\"a\", \"b\" and 3 more"
std::string listed(const Sampler& s, const Lines& lines) {
  constexpr std::size_t most = 3;
  std::string out;
  for (std::size_t k = 0; k < std::min(most, lines.size()); ++k)
    out += fmt::format("{}\"{}\"", k == 0 ? "" : ", ", s.model().names()[lines[k].column]);
  if (lines.size() > most) out += fmt::format(" and {} more", lines.size() - most);
  return out;
}

// What exact keeps apart: lines of few rows, beside other coefficients and most of the rows.
Lines apart_of(Sampler& s) {
  const Glm* const glm = s.model().glm();
  if (glm == nullptr) return {};
  AwkwardLimits limits;
  limits.all_rows = std::min(limits.all_rows, glm->rows() / 4);
  Lines lines = awkward_lines(*glm, s.mode(), limits);
  if (lines.size() >= glm->columns()) lines.clear();
  return lines;
}

struct Expanded {
  std::shared_ptr<const Expansion> expansion;
  Lines apart;
  // Read per step, those that are always read included.
  [[nodiscard]] double rows() const {
    return expansion->expected_rows() + static_cast<double>(expansion->apart.rows.size());
  }
};

Expanded expanded(Sampler& s, const CurvedRows& curved) {
  Lines apart = apart_of(s);
  const auto derivatives = [&](Rows rows) {
    Derivatives d(s.model().dim());
    s.model().add_derivatives(params(s.mode().evaluated_at), rows, d);
    return d;
  };
  auto out = std::make_shared<const Expansion>(expand(
      curved, s.pool(), s.mode(),
      {.order = s.plan().exact.order, .steps = s.steps(), .apart = apart, .derivatives = derivatives}));
  s.out().passes += out->passes;
  return {std::move(out), std::move(apart)};
}

LineSlices slices_of(const Glm& model, const Lines& lines) {
  auto out = std::make_shared<std::vector<SliceLine>>();
  for (const AwkwardLine& line : lines) out->push_back(slice_line(line));
  return {model, std::move(out)};
}

void run_with(Sampler& s, const Expanded& found) {
  const SharedExpansion& expansion = found.expansion;
  s.note(fmt::format("control variates of order {}; {:.2g} rows per step expected", expansion->order,
                     found.rows()));
  const ExactPlan& plan = s.plan().exact;
  ExactOptions options;
  options.proposal.kind = plan.random_walk ? WhiteProposal::Kind::random_walk : WhiteProposal::Kind::laplace;
  if (plan.step > 0) options.proposal.step = plan.step;
  options.thinning = plan.factorised ? Thinning::factorised : Thinning::balanced;
  options.audit_share = plan.audit_share;
  s.note(plan.random_walk ? "proposal: random-walk, shaped like the Laplace fit"
                          : "proposal: laplace (pCN around the Laplace fit), with some random walks");
  if (!found.apart.empty()) {
    options.slices = slices_of(*s.model().glm(), found.apart);
    s.note(
        fmt::format("slices along {}, whose posterior is far from normal: the {} rows concerned are read "
                    "at every step",
                    listed(s, found.apart), grouped(expansion->apart.rows.size())));
  }
  const RepeatOptions repeat =
      repeats(s, {expansion->rows.dim(), 0, false}, !plan.random_walk && plan.step == 0);
  s.run([&](ThreadPool& pool) { return Repeated(ExactKernel(s.model(), expansion, options, pool), repeat); });
}

// Where full needs slices: along lines of few rows where the posterior is far from normal; along all
// coefficients and the principal axes where there are no more rows than coefficients, so that the prior
// decides about most directions.
struct SlicesOfFull {
  std::optional<LineSlices> slices;
  std::string note;
};

SlicesOfFull slices_of_full(const Sampler& s) {
  const Glm* const glm = s.model().glm();
  if (glm == nullptr) return {};
  AwkwardLimits limits;
  limits.few_rows = 200;
  const bool wide = glm->columns() >= glm->rows();
  if (wide) {
    limits.few_rows = glm->rows();
    limits.all_rows = std::numeric_limits<std::size_t>::max();
    limits.remainder = -1;
  }
  const Lines lines = awkward_lines(*glm, s.mode(), limits);
  auto out = std::make_shared<std::vector<SliceLine>>();
  for (const AwkwardLine& line : lines) out->push_back(slice_line(line));
  std::string note;
  if (wide) {
    for (SliceLine& line : principal_lines(*glm, s.mode())) out->push_back(std::move(line));
    note =
        "slices along every coefficient and every principal axis: there are no more rows than coefficients";
  } else if (!lines.empty()) {
    note = fmt::format("slices along {}, whose posterior is far from normal", listed(s, lines));
  }
  if (out->empty()) return {};
  return {LineSlices(*glm, std::move(out)), std::move(note)};
}

bool draws_independently(const ProposalPlan& plan) {
  return plan.kind == ProposalPlan::Kind::mixed ||
         (plan.kind == ProposalPlan::Kind::laplace && plan.scale == 1);
}

void run_from_sums(Sampler& s) {
  const Summarised summarised(s.model(), s.summed());
  const AnyProposal proposal = s.proposal_of(s.plan().proposal);
  const RepeatOptions repeat = {.fixed = s.plan().choose_steps ? 0U : 1U,
                                .independent = draws_independently(s.plan().proposal),
                                .draws = s.plan().chain.draws,
                                .step_nanoseconds = StepCost{s.model().dim(), 0, false}.nanoseconds(),
                                .row_nanoseconds = 0};
  s.run([&](ThreadPool& pool) { return Repeated(FullKernel(summarised, proposal, pool), repeat); });
}

void choose(Sampler& s, Role role, const std::string& why) {
  s.out().method = &spec_of(role);
  s.note(fmt::format("method {}: {}", s.out().method->name, why));
}

}  // namespace

void run_full(Sampler& s) {
  const AnyProposal proposal = s.proposal_of(s.plan().proposal);
  const SlicesOfFull extra = slices_of_full(s);
  if (!extra.note.empty()) s.note(extra.note);
  const RepeatOptions repeat = repeats(s, {s.model().dim(), 0, true}, draws_independently(s.plan().proposal));
  s.run([&](ThreadPool& pool) {
    return Repeated(FullKernel(s.model(), proposal, pool, extra.slices), repeat);
  });
  if (s.plan().audit) s.note("audit: every step reads all rows, so there is nothing to compare");
}

void run_exact(Sampler& s) {
  // Its proposals and its bounds are made about one mode: a chain would hardly ever reach the others.
  if (s.modes().several())
    throw UsageError(
        fmt::format("`method exact` explores one mode, and {}; use `method full` or `method auto`",
                    modes_words(s.model(), s.modes())));
  if (s.summed()) {
    run_from_sums(s);
  } else if (const std::optional<CurvedRows> curved = s.model().curved()) {
    run_with(s, expanded(s, *curved));
  } else {
    s.refuse("bounds on what one row can say");
  }
  if (s.plan().audit) audit(s, slices_of_full(s).slices);
}

void run_automatic(Sampler& s) {
  const AnyModel& model = s.model();
  const auto n = static_cast<double>(model.rows());
  const StepCost pass{model.dim(), n, true};
  if (s.summed()) {
    choose(s, Role::exact, "a gaussian likelihood is a function of a few sums; no row is read");
    run_from_sums(s);
    if (s.plan().audit) audit(s, slices_of_full(s).slices);
    return;
  }
  if (s.modes().several()) {
    choose(s, Role::full,
           fmt::format("the posterior has {} modes, and exact explores one", s.modes().found.size()));
    run_full(s);
    return;
  }
  if (const std::optional<CurvedRows> curved = model.curved()) {
    const Expanded found = expanded(s, *curved);
    const double rows = found.rows();
    if (StepCost{model.dim(), rows, false}.nanoseconds() < pass.nanoseconds()) {
      choose(s, Role::exact,
             fmt::format("the exact posterior from about {:.2g} rows per step (of {})", rows,
                         grouped(model.rows())));
      run_with(s, found);
      if (s.plan().audit) audit(s, slices_of_full(s).slices);
    } else {
      choose(
          s, Role::full,
          fmt::format(
              "the bounds of exact would ask for {:.2g} rows per step (of {}): reading all takes no longer",
              rows, grouped(model.rows())));
      run_full(s);
    }
    return;
  }
  const double seconds = 1e-9 * s.steps() * pass.nanoseconds();
  const std::string cost = fmt::format(
      "exact has no bounds for this model (a second parameter is estimated, or its terms have none), and "
      "full, which reads all rows, takes about {:.2g} s on one core",
      seconds);
  if (seconds > affordable_seconds && model.has_remainders()) {
    choose(s, Role::difference, cost + ": an approximation with little noise instead");
    run_composed(s, s.plan().subsample);
  } else {
    choose(s, Role::full, cost);
    run_full(s);
  }
}

}  // namespace mlo
