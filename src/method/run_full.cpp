// Copyright (c) the mlo authors. BSD-3-Clause.
#include <algorithm>
#include <limits>
#include <memory>

#include "method/full_parts.hpp"
#include "method/step_cost.hpp"
#include "mlo/kernel/apart_proposal.hpp"
#include "mlo/kernel/full.hpp"
#include "mlo/model/glm.hpp"

namespace mlo {
namespace {

// Up to here a chain on all rows can afford a slice along every coefficient.
constexpr std::size_t few_rows = 200;

std::vector<SliceLine> slice_lines(const Lines& lines) {
  std::vector<SliceLine> out;
  out.reserve(lines.size());
  for (const AwkwardLine& line : lines) out.push_back(slice_line(line));
  return out;
}

// With no more rows than coefficients the prior decides about most directions.
LineSlices slices_everywhere(const Glm& model, const Mode& mode) {
  const AwkwardLimits all{.line_rows = model.rows(),
                          .all_rows = std::numeric_limits<std::size_t>::max(),
                          .few_rows = model.rows(),
                          .remainder = -1};
  std::vector<SliceLine> out = slice_lines(awkward_lines(model, mode, all));
  for (SliceLine& line : principal_lines(model, mode)) out.push_back(std::move(line));
  return {model, std::make_shared<const std::vector<SliceLine>>(std::move(out))};
}

}  // namespace

Lines apart_of(const Sampler& s) {
  const Glm* const glm = s.model().glm();
  if (glm == nullptr) return {};
  AwkwardLimits limits;
  limits.all_rows = std::min(limits.all_rows, glm->rows() / 4);
  Lines lines = awkward_lines(*glm, s.mode(), limits);
  if (lines.size() >= glm->columns()) lines.clear();
  return lines;
}

LineSlices slices_of(const Glm& model, const Lines& lines) {
  return {model, std::make_shared<const std::vector<SliceLine>>(slice_lines(lines))};
}

std::string listed(const AnyModel& model, const Lines& lines) {
  constexpr std::size_t most = 3;
  std::string out;
  for (std::size_t k = 0; k < std::min(most, lines.size()); ++k)
    out += fmt::format("{}\"{}\"", k == 0 ? "" : ", ", model.names()[lines[k].column]);
  if (lines.size() > most) out += fmt::format(" and {} more", lines.size() - most);
  return out;
}

bool draws_independently(const ProposalPlan& plan) {
  return plan.kind == ProposalPlan::Kind::mixed ||
         (plan.kind == ProposalPlan::Kind::laplace && plan.scale == 1);
}

FullParts full_parts(const Sampler& s, const ProposalPlan& plan) {
  FullParts parts{.proposal = s.make(plan), .slices = {}, .note = {}};
  const Glm* const glm = s.model().glm();
  if (glm == nullptr) return parts;
  if (glm->rows() <= glm->columns()) {
    parts.slices = slices_everywhere(*glm, s.mode());
    parts.note = "slices along every coefficient and the principal axes: no more rows than coefficients";
    return parts;
  }
  Lines lines = apart_of(s);
  // Jumps between modes move all coefficients.
  if (!lines.empty() && plan.kind == ProposalPlan::Kind::mixed && !s.modes().several())
    parts.proposal = ApartProposal(s.laplace(), keep_apart(lines, s.mode().information));
  if (lines.empty() && glm->rows() <= few_rows) lines = awkward_lines(*glm, s.mode(), {.few_rows = few_rows});
  if (lines.empty()) return parts;
  parts.slices = slices_of(*glm, lines);
  parts.note = fmt::format("slices along {}, whose posterior is far from normal", listed(s.model(), lines));
  return parts;
}

void run_full(Sampler& s) {
  s.note_proposal(s.plan().proposal);
  const FullParts parts = full_parts(s, s.plan().proposal);
  if (!parts.note.empty()) s.note(parts.note);
  const RepeatOptions repeat =
      repeats(s.plan(), {s.model().dim(), 0, true}, draws_independently(s.plan().proposal), parts.slices);
  s.run([&](ThreadPool& pool) {
    return Repeated(FullKernel(s.model(), parts.proposal, pool, parts.slices), repeat);
  });
  if (s.plan().audit) s.note("audit: every step reads all rows, so there is nothing to compare");
}

}  // namespace mlo
