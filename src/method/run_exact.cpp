// Copyright (c) the mlo authors. BSD-3-Clause.
// exact, and auto, which chooses between exact, full and an approximation.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "method/audit.hpp"
#include "method/full_parts.hpp"
#include "method/run_levels.hpp"
#include "method/sampler.hpp"
#include "method/step_cost.hpp"
#include "mlo/base/text.hpp"
#include "mlo/diagnose/summary.hpp"
#include "mlo/kernel/exact.hpp"
#include "mlo/kernel/full.hpp"
#include "mlo/kernel/line_slices.hpp"
#include "mlo/kernel/repeated.hpp"
#include "mlo/model/glm.hpp"
#include "mlo/model/lines.hpp"
#include "mlo/model/softmax.hpp"
#include "mlo/model/sufficient.hpp"
#include "mlo/subsample/class_expansion.hpp"
#include "mlo/subsample/expansion.hpp"
#include "mlo/subsample/joint_expansion.hpp"

namespace mlo {

void run_composed(Sampler& sampler, const SubsamplePlan& plan);
void run_full(Sampler& sampler);

namespace {

// `auto` reads all rows rather than approximate, up to here.
constexpr double affordable_seconds = 300;

using SharedExpansion = std::shared_ptr<const Expansion>;

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
      {.order = s.plan().exact.order,
       .steps = s.steps(),
       .at_once = s.plan().exact.audit_share > 0 ? std::optional(true) : std::nullopt,  // it reads all rows
       .apart = apart,
       .derivatives = derivatives}));
  s.out().passes += out->passes;
  return {std::move(out), std::move(apart)};
}

ExactOptions exact_options(const ExactPlan& plan) {
  ExactOptions options;
  options.proposal.kind = plan.random_walk ? WhiteProposal::Kind::random_walk : WhiteProposal::Kind::laplace;
  if (plan.step > 0) options.proposal.step = plan.step;
  options.thinning = plan.factorised ? Thinning::factorised : Thinning::balanced;
  options.audit_share = plan.audit_share;
  return options;
}

void note_proposal(Sampler& s) {
  s.note(s.plan().exact.random_walk
             ? "proposal: random-walk, shaped like the Laplace fit"
             : "proposal: laplace (pCN around the Laplace fit), with some random walks");
}

void run_with(Sampler& s, const Expanded& found) {
  const SharedExpansion& expansion = found.expansion;
  s.out().log_posterior =
      fmt::format("by a Taylor polynomial of order {} about the mode, not of all rows", expansion->order);
  s.note(fmt::format("control variates of order {}; {} rows per step expected{}", expansion->order,
                     plain_number(found.rows(), 2), found.apart.empty() ? "" : ", besides the slices"));
  const ExactPlan& plan = s.plan().exact;
  ExactOptions options = exact_options(plan);
  note_proposal(s);
  if (!found.apart.empty()) {
    options.slices = slices_of(*s.model().glm(), found.apart);
    s.note(
        fmt::format("slices along {}, whose posterior is far from normal: the {} rows concerned are read "
                    "at every step",
                    listed(s.model(), found.apart), grouped(expansion->apart.rows.size())));
  }
  const RepeatOptions repeat = repeats(s.plan(), {expansion->rows.dim(), 0, false},
                                       !plan.random_walk && plan.step == 0, options.slices);
  s.run([&](ThreadPool& pool) { return Repeated(ExactKernel(s.model(), expansion, options, pool), repeat); });
}

// The second parameter is estimated.
std::shared_ptr<const JointExpansion> expanded_jointly(Sampler& s, const SurfacedRows& surfaced) {
  JointOptions options;
  options.steps = s.steps();
  if (s.plan().exact.order != 0)
    options.order = s.plan().exact.order == 2 ? JointOrder::two : JointOrder::three;
  if (s.plan().exact.audit_share > 0) options.at_once = true;  // it reads all rows
  const Eigen::VectorXd& centre = s.mode().evaluated_at;
  const Glm* glm = s.model().glm();
  if (glm != nullptr && glm->quadratic_but_second()) {
    Derivatives prior(s.model().dim());
    s.model().add_prior_derivatives(params(centre), prior);
    options.prior_slope = prior.gradient[centre.size() - 1];
    options.prior_curvature = prior.information(centre.size() - 1, centre.size() - 1);
    options.prior_of_second = [glm](double log_second) { return glm->log_prior_of_second(log_second); };
  }
  auto out = std::make_shared<const JointExpansion>(expand_jointly(surfaced, s.pool(), s.mode(), options));
  s.out().passes += out->passes;
  return out;
}

// The order in words.
std::string order_words(JointOrder order) {
  if (order == JointOrder::two) return "2";
  return order == JointOrder::mixed ? "2, and 3 where the second parameter takes part" : "3";
}

void run_jointly(Sampler& s, const std::shared_ptr<const JointExpansion>& expansion) {
  s.out().log_posterior = fmt::format("by a Taylor polynomial of order {} about the mode, not of all rows",
                                      order_words(expansion->order));
  s.note(fmt::format("control variates of order {}; {} rows per step expected{}",
                     order_words(expansion->order), plain_number(expansion->expected_rows(), 2),
                     expansion->always_read() > 0
                         ? fmt::format(", {} of them at every step", grouped(expansion->always_read()))
                         : ""));
  note_proposal(s);
  const ExactPlan& plan = s.plan().exact;
  const ExactOptions options = exact_options(plan);
  const RepeatOptions repeat =
      repeats(s.plan(), {expansion->dim(), 0, false}, !plan.random_walk && plan.step == 0);
  s.run([&](ThreadPool& pool) { return Repeated(ExactKernel(s.model(), expansion, options, pool), repeat); });
}

// Classes.
std::shared_ptr<const ClassExpansion> expanded_classes(Sampler& s, const Softmax& softmax) {
  auto out = std::make_shared<const ClassExpansion>(
      expand_classes(softmax, s.pool(), s.mode(), {.order = s.plan().exact.order, .steps = s.steps()}));
  s.out().passes += out->passes;
  return out;
}

void run_classes(Sampler& s, const std::shared_ptr<const ClassExpansion>& expansion) {
  s.out().log_posterior =
      fmt::format("by a Taylor polynomial of order {} about the mode, not of all rows", expansion->order);
  s.note(fmt::format("control variates of order {}; {} rows per step expected, {} of them at every step",
                     expansion->order, plain_number(expansion->expected_rows(), 2),
                     grouped(expansion->always_read())));
  note_proposal(s);
  const ExactPlan& plan = s.plan().exact;
  ExactOptions options = exact_options(plan);
  options.proposal.most_walks = most_class_walks;
  const RepeatOptions repeat =
      repeats(s.plan(), {expansion->dim(), 0, false}, !plan.random_walk && plan.step == 0);
  s.run([&](ThreadPool& pool) { return Repeated(ExactKernel(s.model(), expansion, options, pool), repeat); });
}

std::optional<SurfacedRows> surfaced_of(const Sampler& s) {
  const Eigen::VectorXd& centre = s.mode().evaluated_at;
  return s.model().surfaced(centre[centre.size() - 1]);
}

void run_from_sums(Sampler& s) {
  const Summarised summarised(s.model(), s.summed());
  const AnyProposal proposal = s.proposal_of(s.plan().proposal);
  const RepeatOptions repeat =
      repeats(s.plan(), {s.model().dim(), 0, false}, draws_independently(s.plan().proposal));
  s.run([&](ThreadPool& pool) { return Repeated(FullKernel(summarised, proposal, pool), repeat); });
}

void choose(Sampler& s, Role role, const std::string& why) {
  s.out().method = &spec_of(role);
  s.note(fmt::format("method {}: {}", s.out().method->name, why));
}

// `auto`, where there are bounds: `exact` if it is cheaper than reading all rows, which are `rows` per step
// of it.
template <class RunExact>
void exact_or_full(Sampler& s, bool cheaper, double rows, const char* besides, const RunExact& run) {
  if (cheaper) {
    choose(s, Role::exact,
           fmt::format("the exact posterior from about {} rows per step (of {}){}", plain_number(rows, 2),
                       grouped(s.model().rows()), besides));
    run();
    if (s.plan().audit) audit(s);
    return;
  }
  choose(
      s, Role::full,
      fmt::format("the bounds of exact would ask for {} rows per step (of {}): reading all takes no longer",
                  plain_number(rows, 2), grouped(s.model().rows())));
  run_full(s);
}

// All rows are kept in a form of their own, whatever the columns are made of.
constexpr double most_class_bytes = 8e9;

void check_class_memory(const Softmax& model) {
  const double bytes = class_expansion_bytes(model);
  if (bytes <= most_class_bytes) return;
  throw UsageError(
      fmt::format("`method exact` would need {:.0f} GB for {} rows, {} classes and {} columns; use `method "
                  "full` or `method difference`",
                  1e-9 * bytes, grouped(model.rows()), model.others() + 1, model.width()));
}

void choose_for_classes(Sampler& s, const Softmax& model) {
  if (class_expansion_bytes(model) > most_class_bytes) {
    choose(s, Role::full, "exact would need too much memory for the rows of all classes");
    run_full(s);
    return;
  }
  const auto expansion = expanded_classes(s, model);
  // Exponentials, and a product per class.
  const double row = static_cast<double>(model.others()) * (4 + 0.5 * static_cast<double>(model.width()));
  exact_or_full(s, expansion->expected_nanoseconds() < row * static_cast<double>(model.rows()),
                expansion->expected_rows(), "", [&] { run_classes(s, expansion); });
}

}  // namespace

void run_exact(Sampler& s) {
  // Its proposals and its bounds are made about one mode: a chain would hardly ever reach the others.
  if (s.modes().several())
    throw UsageError(
        fmt::format("`method exact` explores one mode, and {}; use `method full` or `method auto`",
                    modes_words(s.model(), s.modes())));
  if (s.summed()) {
    run_from_sums(s);
  } else if (const Softmax* softmax = s.model().softmax()) {
    check_class_memory(*softmax);
    run_classes(s, expanded_classes(s, *softmax));
  } else if (const std::optional<CurvedRows> curved = s.model().curved()) {
    if (const auto levels = level_run(s))
      run_levels(s, *levels);
    else
      run_with(s, expanded(s, *curved));
  } else if (const std::optional<SurfacedRows> surfaced = surfaced_of(s)) {
    run_jointly(s, expanded_jointly(s, *surfaced));
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
  if (s.modes().several()) {
    choose(s, Role::full,
           fmt::format("the posterior has {} modes, and exact explores one", s.modes().found.size()));
    run_full(s);
    return;
  }
  if (const Softmax* softmax = model.softmax()) {
    choose_for_classes(s, *softmax);
    return;
  }
  if (const std::optional<CurvedRows> curved = model.curved()) {
    if (const auto levels = level_run(s)) {
      choose(s, Role::exact,
             fmt::format("the exact posterior from about {} rows per step (of {}), level by level",
                         plain_number(levels->rows, 2), grouped(model.rows())));
      run_levels(s, *levels);
      return;
    }
    const Expanded found = expanded(s, *curved);
    const double rows = found.rows();
    exact_or_full(s, StepCost{model.dim(), rows, false}.nanoseconds() < pass.nanoseconds(), rows,
                  found.apart.empty() ? "" : ", besides those that slices read", [&] { run_with(s, found); });
    return;
  }
  if (const std::optional<SurfacedRows> surfaced = surfaced_of(s)) {
    const auto expansion = expanded_jointly(s, *surfaced);
    const double rows = expansion->expected_rows();
    // Where a share may as well be 0, its logit has a tail that no fit at the mode foresees: proposals from
    // the fit seldom get there, and seldom come back.
    const Glm* glm = model.glm();
    if (glm != nullptr && glm->family().spec().second->share && expansion->sd_of_second > 0.5 &&
        1e-9 * s.steps() * pass.nanoseconds() < affordable_seconds) {
      choose(s, Role::full,
             fmt::format(
                 "the data hardly tell {}, whose posterior is far from the Gaussian fit that the steps of "
                 "exact come from",
                 glm->family().spec().second->name));
      run_full(s);
      return;
    }
    // A row is evaluated at both ends of a move, by two or three times the work of a curve. Where the second
    // parameter is barely known, its posterior is wider than the Laplace fit, and more rows are read.
    const double work = expansion->sd_of_second > 0.2 ? 40 : 4;
    exact_or_full(s, StepCost{model.dim(), work * rows, false}.nanoseconds() < 2 * pass.nanoseconds(), rows,
                  "", [&] { run_jointly(s, expansion); });
    return;
  }
  const double seconds = 1e-9 * s.steps() * pass.nanoseconds();
  const std::string cost = fmt::format(
      "exact has no bounds for this model, and full, which reads all rows, takes about {:.2g} s on one core",
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
