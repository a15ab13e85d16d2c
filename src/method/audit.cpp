// Copyright (c) the mlo authors. BSD-3-Clause.
#include "method/audit.hpp"

#include <algorithm>

#include "method/full_parts.hpp"
#include "mlo/diagnose/summary.hpp"
#include "mlo/kernel/full.hpp"

namespace mlo {
namespace {

// Several overdispersed chains on all rows, with the proposals that `full` would use and random numbers of
// their own.
void compare_with_full(Sampler& s) {
  const ChainOptions chain{.seed = ~s.plan().chain.seed, .chains = 4, .warmup = 200, .draws = 400, .thin = 1};
  RunControl control(chain.chains, s.watcher().interrupt);
  std::vector<ChainRecord> full;
  const FullParts parts = full_parts(s, {.kind = ProposalPlan::Kind::mixed});
  run_chains(
      s.model(), s.plan().threads, chain, full, control, {},
      [&](ThreadPool& pool) { return FullKernel(s.model(), parts.proposal, pool, parts.slices); },
      [&](std::size_t c) { return overdispersed_start(s.model(), s.laplace(), chain.seed, c); });
  const auto shortest = [](const std::vector<ChainRecord>& records) {
    std::size_t draws = records[0].size();
    for (const ChainRecord& record : records) draws = std::min(draws, record.size());
    return draws;
  };
  AuditReport& report = s.out().audit;
  for (const ChainRecord& record : full) report.full_draws += record.size();
  if (shortest(s.records()) < 10 || shortest(full) < 10) return;  // interrupted
  compare(summarise(s.model().names(), s.records()), summarise(s.model().names(), full), report);
  if (!report.warning.empty()) s.out().warnings.push_back(report.warning);
}

}  // namespace

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

}  // namespace mlo
