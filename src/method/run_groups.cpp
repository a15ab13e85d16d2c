// Copyright (c) the mlo authors. BSD-3-Clause.
// Models with group effects: where the reference comes from, and which kernel runs.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>

#include "method/audit.hpp"
#include "method/pilot.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/base/text.hpp"
#include "mlo/base/timer.hpp"
#include "mlo/diagnose/quantile.hpp"
#include "mlo/diagnose/summary.hpp"
#include "mlo/kernel/levels.hpp"
#include "mlo/method/sample_groups.hpp"

namespace mlo {
namespace {

using Eigen::Index;
Index place(std::size_t i) { return static_cast<Index>(i); }

// Why rows cannot be drawn by bounds, in words; "" if they can.
std::string no_bounds(const GroupedModel& model) {
  const Family& family = model.family();
  if (model.rows().groups().size() > 1 && !model.rows().plain())
    return "several groupings of which one has slopes";
  if (family.spec().sums || model.curve() != nullptr || model.surface(model.start().log_second) != nullptr)
    return {};
  if (family.estimates_second())
    return fmt::format("{}an estimated {}", model.rows().groups().size() > 1 ? "several groupings and " : "",
                       family.spec().second->name);
  return fmt::format("several groupings and `family {}`", family.spec().name);
}

// A start with about 1.5 times the spread of the normal laws about the reference, unless it is to be there.
struct StartPlan {
  std::uint64_t seed = 0;
  bool at_mode = false;
};
Eigen::VectorXd start_of(const LevelReference& reference, const StartPlan& plan, std::size_t chain) {
  const GroupedModel& model = reference.model();
  GroupedPoint at = reference.at();
  if (!plan.at_mode) {
    Stream stream({.seed = plan.seed, .chain = chain, .purpose = Purpose::start, .iteration = 0});
    const std::size_t q = model.rows().columns();
    Eigen::VectorXd alpha(place(q));
    for (Index j = 0; j < alpha.size(); ++j) alpha[j] = 1.5 * normal(stream);
    reference.factor().transpose().triangularView<Eigen::Upper>().solveInPlace(alpha);
    for (std::size_t j = 0; j < q; ++j) at.coefficients[j] += alpha[place(j)];
    for (std::size_t k = 0; k < at.effects.size(); ++k) {
      const LevelSums& sums = reference.groups()[k];
      const std::size_t d = sums.d;
      for (double& xi : at.covariances[k]) xi += 0.2 * normal(stream);
      Eigen::VectorXd beta(place(d));
      for (std::size_t l = 0; l < at.effects[k].size() / d; ++l) {
        for (Index a = 0; a < beta.size(); ++a) beta[a] = normal(stream);
        const Eigen::Map<const Eigen::MatrixXd> factor(sums.factor.data() + l * d * d, place(d), place(d));
        factor.transpose().triangularView<Eigen::Upper>().solveInPlace(beta);
        for (std::size_t a = 0; a < d; ++a) {
          const Eigen::Map<const Eigen::VectorXd> m(sums.m.data() + (l * d + a) * q, place(q));
          at.effects[k][l * d + a] += beta[place(a)] - m.dot(alpha);
        }
      }
    }
  }
  Eigen::VectorXd theta(place(model.dim()));
  model.pack(at, {theta.data(), model.dim()});
  return theta;
}

std::shared_ptr<const LevelReference> reference_at(const GroupedModel& model, GroupedPoint at,
                                                   ThreadPool& pool, const LevelOptions& options,
                                                   LevelRoom& room) {
  return std::make_shared<const LevelReference>(
      model, std::move(at), pool,
      LevelReference::Options{.bounds = !options.all_rows, .odds = options.odds, .room = &room});
}

// Whether reading all rows as odds takes less time than drawing some: where levels have few events, so that
// moves of all of them would draw many rows. With crossed groupings that have about a row per cell every
// sweep visits every row's cell anyway.
bool odds_pay(const GroupedModel& model) {
  if (!OddsRows::suit(model)) return false;
  const LevelRows& rows = model.rows();
  if (rows.groups().size() > 1 && 2 * rows.cells().size() < rows.size()) return false;
  double events = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) events += rows.y(i);
  events = std::min(events, static_cast<double>(rows.size()) - events);
  std::size_t levels = 0;
  for (const Grouping& group : rows.groups()) levels = std::max(levels, group.levels());
  const double few = rows.groups().size() > 1 ? 8 : 1.5;
  return events < few * static_cast<double>(levels);
}

// What a short chain about the mode finds.
struct Centre {
  GroupedPoint at;
  double rows = 0;         // read per sweep
  bool near_edge = false;  // whether the second parameter comes near the end of what the bounds allow for
};

Centre centre_of(const std::shared_ptr<const LevelReference>& mode, const LevelOptions& options,
                 const Plan& plan, ThreadPool& pool, const SampleWatcher& watcher) {
  const GroupedModel& model = mode->model();
  LevelKernel kernel(mode, options, pool);
  Eigen::VectorXd start(place(model.dim()));
  model.pack(mode->at(), {start.data(), model.dim()});
  // Where all rows are read as odds nothing is expanded, and the second derivatives of a draw say more about
  // those of other draws than the smaller ones of their mean.
  PilotPlan of{.seed = plan.chain.seed};
  if (options.odds) of.sweeps = 60;
  if (options.odds) of.warmup = 30;
  Centre out;
  const double width = mode->mixed().width, second = mode->at().log_second;
  const Pilot pilot = run_pilot(kernel, std::move(start), of, watcher, [&](const Eigen::VectorXd& draw) {
    if (!mode->has_surface()) return;
    const double u = draw[place(model.rows().columns())] - second;
    out.near_edge = out.near_edge || std::abs(u) > 0.6 * width;
  });
  model.unpack({options.odds ? pilot.last.data() : pilot.mean.data(), model.dim()}, out.at);
  out.rows = pilot.rows;
  return out;
}

// Why drawing rows by their bounds would cost more than reading all of them, in words; "" if it does not. A
// sweep over all rows reads them some five times, but in order: 20,000 rows with group effects and additional
// zeros took a tenth of the time of 45,000 drawn ones.
std::string costly(const GroupedModel& model, const Centre& centre) {
  const auto n = static_cast<double>(model.rows().size());
  if (centre.near_edge)
    return fmt::format("{} is barely known: bounds for all that it may be would be of no use",
                       model.family().spec().second->name);
  if (centre.rows > n)
    return fmt::format("its bounds would draw {} rows per sweep",
                       grouped(static_cast<std::size_t>(centre.rows)));
  return {};
}

// What chains record: the main parameters, and the effects if they are kept.
struct GroupRecorder {
  const GroupedModel* model;
  KeptEffects kept;
  void to_user(Params theta, std::span<double> out) const { model->to_user(theta, out); }
  void keep_effects(Params theta, HugeVector<float>& effects) const {
    if (kept != KeptEffects::draws) return;
    for (std::size_t r = model->main_parameters(); r < theta.size(); ++r)
      effects.push_back(static_cast<float>(theta[r]));
  }
  // The kernel always knows the log posterior.
  [[nodiscard]] double log_prior(Params /*theta*/) const noexcept { return 0; }
};

MakeChain chains_of(const std::shared_ptr<const LevelReference>& reference, const LevelOptions& options,
                    KeptEffects kept) {
  return [reference, options, draws = GroupRecorder{&reference->model(), kept}](ThreadPool& pool,
                                                                                const ChainContext& context) {
    return std::unique_ptr<AnyChain>(std::make_unique<ChainOf<LevelKernel, GroupRecorder>>(
        LevelKernel(reference, options, pool), draws, context));
  };
}

// The draws against those of chains of the same kernel that read all rows.
void audit(const LevelReference& reference, const Plan& plan, const SampleWatcher& watcher,
           const std::vector<ChainRecord>& found, Samples& out) {
  if (watcher.phase) watcher.phase("auditing against all rows", 0);
  const GroupedModel& model = reference.model();
  const ChainOptions chain = audit_chains(plan.chain.seed);
  ThreadPool pool(plan.threads);
  LevelRoom room;
  const auto on_all_rows = reference_at(model, reference.at(), pool, {.all_rows = true}, room);
  RunControl control(chain.chains, watcher.interrupt);
  std::vector<ChainRecord> full;
  run_chains(model.main_parameters(), plan.threads, chain, full, control, {},
             chains_of(on_all_rows, {.all_rows = true}, KeptEffects::none),
             [&](std::size_t c) { return start_of(*on_all_rows, {.seed = chain.seed}, c); });
  report_audit(model.names(), found, full, out);
}

// What `auto` has chosen, and why.
std::string choice_words(const GroupedModel& model, const LevelOptions& options, const std::string& obstacle,
                         const std::string& cost) {
  if (options.odds)
    return "method full: levels have so few events that reading all rows is faster than drawing some";
  if (!cost.empty()) return fmt::format("method full: {}; every sweep reads all rows", cost);
  if (options.all_rows)
    return fmt::format("method full: group effects with {} have no bounds, so every sweep reads all rows",
                       obstacle);
  return fmt::format("method exact: {}",
                     model.family().spec().sums
                         ? "a gaussian likelihood is a function of sums by level; no row is read"
                         : "rows are drawn by their bounds, level by level");
}

[[noreturn]] void refuse_method(const Plan& plan) {
  throw UsageError(fmt::format(
      "`method {}` is not for models with group effects; use `method auto`, `method exact` or `method full`",
      plan.method->name));
}

}  // namespace

Samples sample(const GroupedModel& model, const Plan& plan, KeptEffects kept, const SampleWatcher& watcher,
               Keeping keeping) {
  const Timer timer;
  const Role role = plan.method->role;
  if (role != Role::automatic && role != Role::exact && role != Role::full) refuse_method(plan);
  const std::string obstacle = no_bounds(model);
  if (role == Role::exact && !obstacle.empty())
    throw UsageError(fmt::format(
        "`method exact` has no bounds for group effects with {}; use `method auto` or `method full`, which "
        "read all rows and are exact too",
        obstacle));
  LevelOptions options;
  options.odds = role == Role::automatic && odds_pay(model);
  options.all_rows = role == Role::full || !obstacle.empty() || options.odds;
  Samples out;
  ThreadPool pool(plan.threads);
  if (watcher.phase) watcher.phase("finding the mode", 0);
  LevelRoom room;
  GroupedPoint at = find_reference(model, pool, out.passes, &room);
  std::string cost;
  {
    auto mode = reference_at(model, at, pool, options, room);
    if (options.odds && !mode->odds()->tame()) {
      options.odds = options.all_rows = false;
      mode = reference_at(model, at, pool, options, room);
    }
    Centre centre = centre_of(mode, options, plan, pool, watcher);
    if (role == Role::automatic && !options.all_rows) cost = costly(model, centre);
    if (!cost.empty()) options.all_rows = true;
    at = std::move(centre.at);
  }
  const bool all_rows = options.all_rows;
  if (plan.audit && (!all_rows || options.odds)) options.audit_share = plan.exact.audit_share;
  out.method = &spec_of(all_rows ? Role::full : Role::exact);
  const auto reference = reference_at(model, std::move(at), pool, options, room);
  room = {};
  out.passes += 6;
  if (role == Role::automatic) out.notes.push_back(choice_words(model, options, obstacle, cost));
  out.notes.emplace_back("a step is a sweep over all levels, covariances and coefficients");
  constexpr std::size_t many_columns = 60;
  if (!model.family().spec().sums && model.rows().columns() > many_columns)
    out.notes.push_back(fmt::format(
        "{} coefficients move together, which takes long beside group effects; with (1 | g) in place of a factor g, its "
        "levels are sampled one by one",
        model.rows().columns()));
  out.mode_seconds = timer.seconds();
  if (watcher.interrupted()) throw Interrupted();
  if (keeping.before_sampling) keeping.before_sampling();

  RunControl control(plan.chain.chains, watcher.interrupt);
  for (std::size_t c = 0; c < keeping.records.size(); ++c)
    control.chains[c].steps = keeping.records[c].iteration;
  const Timer sampling;
  ChainOptions shown = plan.chain;
  shown.step_name = "sweep";
  if (watcher.sampling) watcher.sampling(control, shown);
  const auto finish = [&] {
    if (watcher.sampled) watcher.sampled();
    out.sample_seconds = sampling.seconds();
  };
  try {
    out.promise = run_chains(model.main_parameters(), plan.threads, plan.chain, keeping.records, control,
                             keeping.checkpoint, chains_of(reference, options, kept), [&](std::size_t chain) {
                               return start_of(*reference, {plan.chain.seed, plan.start_at_mode}, chain);
                             });
  } catch (...) {
    finish();
    throw;
  }
  finish();
  if (all_rows)
    out.log_posterior = "of all rows";
  else if (model.family().spec().sums)
    out.log_posterior = "of all rows, by sums over them";
  else
    out.log_posterior = "by a Taylor polynomial of order 3 about the posterior's centre, not of all rows";
  if (plan.audit && all_rows && !options.odds)
    out.notes.emplace_back("audit: every step reads all rows, so there is nothing to compare");
  else if (plan.audit)
    audit(*reference, plan, watcher, keeping.records, out);
  double at_edge = 0;
  for (const ChainRecord& chain : keeping.records)
    if (!chain.kernel.empty()) at_edge += LevelKernel::sweeps_at_edge(model, chain.kernel);
  if (at_edge > 0)
    out.warnings.push_back(fmt::format(
        "{}: {} sweep{} came near the end of what the bounds allow for, which warm-up did not; if there is more "
        "beyond, it is missing here. Run longer, or use `method full`",
        model.family().spec().second->name, grouped(static_cast<std::size_t>(at_edge)),
        at_edge == 1 ? "" : "s"));
  out.chains = std::move(keeping.records);
  return out;
}

std::vector<EffectSummary> effect_summaries(const GroupedModel& model, std::span<const ChainRecord> chains,
                                            ThreadPool& pool) {
  std::vector<LevelKernel::EffectMoments> moments;
  for (const ChainRecord& chain : chains) moments.push_back(LevelKernel::moments(model, chain.kernel));
  std::vector<EffectSummary> out;
  out.reserve(model.effects());
  for (std::size_t k = 0; k < model.rows().groups().size(); ++k)
    for (std::size_t l = 0; l < model.rows().groups()[k].levels(); ++l)
      for (std::size_t a = 0; a < model.rows().groups()[k].dim(); ++a)
        out.push_back({.group = k, .level = l, .effect = a});
  const std::size_t count = out.size();
  constexpr std::size_t part = 64;
  std::size_t kept = 0;  // draws
  for (const ChainRecord& chain : chains) kept += chain.effects.size() / count;
  pool.run((count + part - 1) / part, [&](std::size_t task) {
    const std::size_t first = task * part, width = std::min(part, count - first);
    // The draws of these effects, effect by effect: what is read lies together.
    std::vector<double> values(kept * width);
    std::optional<QuantileFinder> finder;
    if (kept > 0) finder.emplace(kept, std::vector{0.05, 0.95});
    std::size_t draw = 0;
    for (const ChainRecord& chain : chains)
      for (std::size_t at = first; at < chain.effects.size(); at += count, ++draw)
        for (std::size_t r = 0; r < width; ++r)
          values[r * kept + draw] = static_cast<double>(chain.effects[at + r]);
    for (std::size_t r = first; r < first + width; ++r) {
      EffectSummary& s = out[r];
      // From the chains' means and variances.
      double draws = 0, mean = 0, within = 0, between = 0;
      for (const auto& m : moments) {
        draws += m.draws;
        mean += m.draws * m.mean[r];
      }
      mean /= draws;
      for (const auto& m : moments) {
        within += m.draws * m.sd[r] * m.sd[r];
        between += m.draws * (m.mean[r] - mean) * (m.mean[r] - mean);
      }
      s.mean = mean;
      s.sd = std::sqrt((within + between) / std::max(1.0, draws - 1));
      s.rhat = std::sqrt((within + between) / within);
      const double tail = 1.6448536269514722 * s.sd;
      s.q5 = mean - tail;
      s.q95 = mean + tail;
      if (kept == 0) continue;
      const std::span<const double> own(values.data() + (r - first) * kept, kept);
      std::array<OrderPair, 2> ends;
      finder->find(own, {s.mean, s.sd}, ends);
      s.q5 = ends[0].value();
      s.q95 = ends[1].value();
    }
  });
  return out;
}

}  // namespace mlo
