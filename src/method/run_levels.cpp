// Copyright (c) the mlo authors. BSD-3-Clause.
#include "method/run_levels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "method/full_parts.hpp"
#include "method/pilot.hpp"
#include "method/step_cost.hpp"
#include "mlo/base/text.hpp"
#include "mlo/kernel/factors.hpp"
#include "mlo/kernel/repeated.hpp"
#include "mlo/model/glm.hpp"
#include "mlo/subsample/expansion.hpp"

namespace mlo {
namespace {

// A row from the middle of each level of a factor.
std::vector<RowId> row_of_each_level(const Design& design, const FactorBlock& factor) {
  std::vector<std::size_t> seen(factor.levels(), 0);
  std::vector<RowId> out(factor.levels(), 0);
  const LevelBlock& block = design.blocks[factor.block];
  for (std::size_t i = 0; i < design.rows; ++i) {
    const std::uint32_t level = factor.level_of_cell[block.cell(design.row(i))];
    if (seen[level]++ == factor.rows[level] / 2) out[level] = static_cast<RowId>(i);
  }
  return out;
}

// What a move of all coefficients would cost, with the slices beside it. One row of each level stands for its
// others: whitening all rows would take longer than many a run.
double joint_nanoseconds(const Sampler& s, const Glm& glm, const FactorBlock& factor) {
  const Mode& mode = s.mode();
  const std::optional<CurvedRows> curved = glm.curved();
  const RowStore& store = glm.store();
  const std::size_t p = store.dim();
  const Eigen::MatrixXd lower = Eigen::LLT<Eigen::MatrixXd>(mode.information).matrixL();
  const Coefficients centre(params(mode.theta), store);
  const std::vector<RowId> some = row_of_each_level(glm.design(), factor);
  std::array<double, 2> totals{};  // of order 2 and 3
  for (std::size_t l = 0; l < some.size(); ++l) {
    double eta = 0, y = 0;
    const Rows row = Rows::range(some[l], 1);
    store.predictors(centre, row, {&eta, 1});
    store.responses(row, {&y, 1});
    RowShape shape;
    curved->shapes(some[l], {&eta, 1}, {&y, 1}, {&shape, 1});
    const double length = store.white_lengths(some[l], 1, lower)[0] * std::abs(shape.direction);
    const double reach = length * (std::sqrt(static_cast<double>(p)) + 3);
    for (const int order : {2, 3}) {
      double most = 0;
      curved->curve->suprema(order + 1, {&shape.e, 1}, {&reach, 1}, {&most, 1});
      totals[order == 2 ? 0 : 1] +=
          static_cast<double>(factor.rows[l]) * most * std::abs(shape.scale) * std::pow(length, order + 1);
    }
  }
  const auto n = static_cast<double>(glm.rows()), d = static_cast<double>(p);
  const auto cost = [&](double rows) { return StepCost{p, std::min(rows, n), false}.nanoseconds(); };
  double out = cost(totals[0] * expected_pair_bound(2, p));
  // Order 3 reads fewer rows, and has a cubic form to evaluate.
  if (p <= CubicForm::max_dim)
    out = std::min(out, cost(totals[1] * expected_pair_bound(3, p)) + 0.1 * d * (d + 1) * (d + 2) / 6);
  // A slice evaluates its rows some eight times.
  for (const AwkwardLine& line : apart_of(s)) out += 800 + 160 * static_cast<double>(line.rows.size());
  return out;
}

// A sweep without its rows: each level has a few products with the other columns, each cell is visited once
// per factor, and all coefficients have their priors.
double sweep_nanoseconds(const FactorChoice& choice) {
  const auto q = static_cast<double>(choice.columns.size()), levels = static_cast<double>(choice.levels());
  const double cells = choice.factors.size() > 1
                           ? static_cast<double>(choice.factors.size()) * static_cast<double>(choice.cells)
                           : 0;
  return 8000 + levels * (60 + 5 * q) + 2 * cells + 2 * q * q * q / 3;
}

// Whether an option is about moves of all coefficients.
bool asks_for_joint_moves(const Plan& plan) {
  const ExactPlan& exact = plan.exact;
  return plan.audit || exact.audit_share > 0 || exact.order != 0 || exact.random_walk || exact.step > 0 ||
         exact.factorised;
}

// Whether the intercept's prior says less about the levels' mean than the rows: it is not in the proposals.
bool weak_intercept(const Glm& glm, double information) {
  const Prior& prior = glm.layout().blocks()[0].priors[0];
  return !prior.proper() || prior.scale() * prior.scale() * information > 25;
}

std::shared_ptr<const LevelReference> reference_at(const FactorGlm& model, const Eigen::VectorXd& theta,
                                                   ThreadPool& pool) {
  GroupedPoint at;
  model.to_groups(params(theta), std::vector<double>(model.factors() - 1, 0.0), at);
  return std::make_shared<const LevelReference>(model.grouped(), std::move(at), pool,
                                                LevelReference::Options{});
}

}  // namespace

std::unique_ptr<LevelRun> level_run(Sampler& s) {
  const Glm* const glm = s.model().glm();
  if (glm == nullptr || asks_for_joint_moves(s.plan())) return nullptr;
  FactorChoice choice = choose_factors(*glm);
  const double information = s.mode().information(0, 0);
  if (choice.factors.empty() || !weak_intercept(*glm, information)) return nullptr;
  const auto n = static_cast<double>(glm->rows());
  const double joint = joint_nanoseconds(s, *glm, choice.factors[0]);
  auto out = std::make_unique<LevelRun>();
  out->nanoseconds = sweep_nanoseconds(choice);
  out->levels = choice.levels();
  out->factors = choice.factors.size();
  // A sweep has as many effective draws as a move of all coefficients, or more.
  if (out->nanoseconds > joint) return nullptr;
  out->model =
      std::make_shared<const FactorGlm>(*glm, std::move(choice), params(s.mode().theta), information);
  out->reference = reference_at(*out->model, s.mode().theta, s.pool());
  s.out().passes += 3;
  FactorKernel pilot(out->model, out->reference, {}, s.pool());
  // With many levels for the number of rows the centre is some sds from the mode.
  const bool recentre = static_cast<double>(out->levels * out->levels) > n;
  PilotPlan pilot_plan{.seed = s.plan().chain.seed};
  if (!recentre) pilot_plan = {.sweeps = 40, .warmup = 0, .seed = pilot_plan.seed};
  const Pilot found = run_pilot(pilot, s.mode().theta, pilot_plan, s.watcher());
  out->rows = found.rows;
  if (recentre) {
    out->reference = reference_at(*out->model, found.mean, s.pool());
    s.out().passes += 3;
  }
  const double row = StepCost{glm->dim(), 0, false}.row_nanoseconds();
  if (out->nanoseconds + row * out->rows > joint) return nullptr;
  return out;
}

void run_levels(Sampler& s, const LevelRun& run) {
  s.out().log_posterior = "by a Taylor polynomial of order 3 about the mode, not of all rows";
  s.note(
      fmt::format("level by level: a step is a sweep over the {} levels of {} factor{} and the other "
                  "coefficients; about {} rows per sweep",
                  grouped(run.levels), run.factors, run.factors == 1 ? "" : "s", plain_number(run.rows, 2)));
  RepeatOptions repeat = repeats(s.plan(), {s.model().dim(), 0, false}, false);
  repeat.step_nanoseconds = run.nanoseconds;
  s.run([&](ThreadPool& pool) { return Repeated(FactorKernel(run.model, run.reference, {}, pool), repeat); });
}

}  // namespace mlo
