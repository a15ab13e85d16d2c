// Copyright (c) the mlo authors. BSD-3-Clause.
// exact, full, and auto, which chooses between them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "method/sampler.hpp"
#include "mlo/base/text.hpp"
#include "mlo/diagnose/summary.hpp"
#include "mlo/kernel/exact.hpp"
#include "mlo/kernel/full.hpp"
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

SharedExpansion expansion_of(Sampler& s, const CurvedRows& curved) {
  auto out = std::make_shared<const Expansion>(
      expand(curved, s.pool(), s.mode(), {.order = s.plan().exact.order, .steps = s.steps()}));
  s.out().passes += out->passes;
  return out;
}

void run_with(Sampler& s, const SharedExpansion& expansion) {
  s.note(fmt::format("control variates of order {}; {:.2g} rows per step expected", expansion->order,
                     expansion->expected_rows()));
  const ExactPlan& plan = s.plan().exact;
  ExactOptions options;
  options.proposal.kind = plan.random_walk ? WhiteProposal::Kind::random_walk : WhiteProposal::Kind::laplace;
  if (plan.step > 0) options.proposal.step = plan.step;
  options.thinning = plan.factorised ? Thinning::factorised : Thinning::balanced;
  options.audit_share = plan.audit_share;
  s.note(plan.random_walk ? "proposal: random-walk, shaped like the Laplace fit"
                          : "proposal: laplace (pCN around the Laplace fit), with some random walks");
  s.run([&](ThreadPool& pool) { return ExactKernel(s.model(), expansion, options, pool); });
}

void run_from_sums(Sampler& s) {
  const Summarised summarised(s.model(), s.summed());
  const AnyProposal proposal = s.proposal_of(s.plan().proposal);
  s.run([&](ThreadPool& pool) { return FullKernel(summarised, proposal, pool); });
}

// The draws against a short chain on all rows with random numbers of its own.
void compare_with_full(Sampler& s) {
  const ChainOptions chain{
      .seed = ~s.plan().chain.seed, .chains = 1, .warmup = 100, .draws = 1000, .thin = 1};
  RunControl control(1, s.watcher().interrupt);
  std::vector<ChainRecord> full;
  run_chains(
      s.model(), s.plan().threads, chain, full, control, {},
      [&](ThreadPool& pool) {
        return FullKernel(s.model(), AnyProposal(LaplaceProposal(s.laplace(), {})), pool);
      },
      [&](std::size_t) { return s.laplace().mode; });
  AuditReport& audit = s.out().audit;
  const std::vector<ChainRecord>& records = s.records();
  std::size_t draws = records[0].size();
  for (const ChainRecord& record : records) draws = std::min(draws, record.size());
  audit.full_draws = full[0].size();
  audit.sd_ratio_low = std::numeric_limits<double>::infinity();
  if (draws < 10 || full[0].size() < 10) return;  // interrupted
  const auto found = summarise(s.model().names(), records), reference = summarise(s.model().names(), full);
  for (std::size_t j = 0; j < s.model().dim(); ++j) {
    const ParameterSummary &a = found[j], &b = reference[j];
    audit.sd_ratio_low = std::min(audit.sd_ratio_low, a.sd / b.sd);
    audit.sd_ratio_high = std::max(audit.sd_ratio_high, a.sd / b.sd);
    audit.worst_z = std::max(audit.worst_z, std::abs(a.mean - b.mean) / std::hypot(a.mcse_mean, b.mcse_mean));
  }
}

// Of `exact`, after its run.
void audit(Sampler& s) {
  AuditReport& report = s.out().audit;
  report.done = true;
  for (const ChainRecord& record : s.records()) {
    report.steps += record.account.audited;
    report.worst_error = std::max(report.worst_error, record.account.audit_error);
  }
  if (s.watcher().phase) s.watcher().phase("auditing against all rows", 0);
  compare_with_full(s);
}

void choose(Sampler& s, Role role, const std::string& why) {
  s.out().method = &spec_of(role);
  s.note(fmt::format("method {}: {}", s.out().method->name, why));
}

}  // namespace

void run_full(Sampler& s) {
  const AnyProposal proposal = s.proposal_of(s.plan().proposal);
  s.run([&](ThreadPool& pool) { return FullKernel(s.model(), proposal, pool); });
  if (s.plan().audit) s.note("audit: every step reads all rows, so there is nothing to compare");
}

void run_exact(Sampler& s) {
  if (s.summed()) {
    run_from_sums(s);
  } else if (const std::optional<CurvedRows> curved = s.model().curved()) {
    run_with(s, expansion_of(s, *curved));
  } else {
    s.refuse("bounds on what one row can say");
  }
  if (s.plan().audit) audit(s);
}

void run_automatic(Sampler& s) {
  const AnyModel& model = s.model();
  const auto n = static_cast<double>(model.rows());
  const StepCost pass{model.dim(), n, true};
  if (s.summed()) {
    choose(s, Role::exact, "a gaussian likelihood is a function of a few sums; no row is read");
    run_from_sums(s);
    if (s.plan().audit) audit(s);
    return;
  }
  if (const std::optional<CurvedRows> curved = model.curved()) {
    const SharedExpansion expansion = expansion_of(s, *curved);
    const double rows = expansion->expected_rows();
    if (StepCost{model.dim(), rows, false}.nanoseconds() < pass.nanoseconds()) {
      choose(s, Role::exact,
             fmt::format("the exact posterior from about {:.2g} rows per step (of {})", rows,
                         grouped(model.rows())));
      run_with(s, expansion);
      if (s.plan().audit) audit(s);
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
