// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/fit/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string_view>

#include "fit/data_source.hpp"
#include "fit/facts.hpp"
#include "fit/holdout.hpp"
#include "fit/run_directory.hpp"
#include "mlo/base/files.hpp"
#include "mlo/base/text.hpp"
#include "mlo/base/timer.hpp"
#include "mlo/data/design.hpp"
#include "mlo/data/formula.hpp"
#include "mlo/data/holdout.hpp"
#include "mlo/data/reader.hpp"
#include "mlo/data/table_reader.hpp"
#include "mlo/data/text_columns.hpp"
#include "mlo/fit/report.hpp"
#include "mlo/method/option_table.hpp"
#include "mlo/method/read_options.hpp"
#include "mlo/method/sample.hpp"
#include "mlo/method/sample_groups.hpp"
#include "mlo/model/any_model.hpp"
#include "mlo/model/grouped.hpp"
#include "mlo/model/layout.hpp"
#include "mlo/model/softmax.hpp"
#include "mlo/report/netcdf.hpp"

namespace mlo {
namespace {

// What a fit knows about its data once the design has moved into the model.
struct Loaded {
  std::unique_ptr<AnyModel> model;        // null if there are group effects:
  std::unique_ptr<GroupedModel> grouped;  // then it is this
  std::string response;
  RunSummary::Data data;
  Recipe recipe;
  std::vector<FactorLevels> factors;
  std::vector<std::string> notes;
};

void add_scale_note(Scale scale, std::vector<std::string>& notes) {
  if (scale == Scale::none) return;
  notes.push_back(
      fmt::format("columns were {}divided by their standard deviations: coefficients and priors refer to the "
                  "scaled columns",
                  scale == Scale::standard ? "centred and " : ""));
}

// "origin: 219 levels, base "ABE"": what a reader needs to know to read the coefficients.
using Remarks = std::map<std::string, std::string>;  // on text columns, by name

void add_factor_notes(const Design& design, const Remarks& remarks, bool classes,
                      std::vector<std::string>& notes) {
  for (const FactorLevels& factor : design.factors) {
    std::string note = fmt::format("{}: {} levels", factor.name, grouped(factor.levels.size()));
    if (!factor.base.empty()) note += fmt::format(", base \"{}\"", factor.base);
    if (factor.unused > 0) note += fmt::format(", {} unused", grouped(factor.unused));
    if (const auto remark = remarks.find(factor.name); remark != remarks.end()) note += "; " + remark->second;
    notes.push_back(std::move(note));
  }
  if (design.response_levels.size() == 2 && !classes)
    notes.push_back(fmt::format("the response is 1 for {} \"{}\" and 0 for \"{}\"", design.response,
                                design.response_levels[1], design.response_levels[0]));
  if (!design.empty_columns.empty())
    notes.push_back(
        fmt::format("no row has {}{}: left out", design.empty_columns[0],
                    design.empty_columns.size() == 1
                        ? ""
                        : fmt::format(" and {} more interactions", design.empty_columns.size() - 1)));
  if (design.weightless > 0)
    notes.push_back(fmt::format("{} rows have the weight 0 and are not used", grouped(design.weightless)));
}

void refuse_group_options(const FitOptions& options) {
  const char* const given = options.prior_sd      ? "prior-sd"
                            : options.prior_cor   ? "prior-cor"
                            : options.save_groups ? "save-groups"
                                                  : nullptr;
  if (given != nullptr)
    throw UsageError(
        fmt::format("`{}` is for group effects, and the formula has none, such as (1 | group)", given));
}

// Options of methods that models with group effects do not have: their one kernel chooses these things.
void refuse_method_options(const FitOptions& options) {
  const char* const given = options.proposal         ? "proposal"
                            : options.proposal_scale ? "proposal-scale"
                            : options.proposal_shape ? "proposal-shape"
                            : options.order          ? "order"
                            : options.thinning       ? "thinning"
                                                     : nullptr;
  if (given != nullptr)
    throw UsageError(fmt::format("`{}` has no meaning for models with group effects; leave it out", given));
}

// Where the data say little about a standard deviation.
std::string remark_on(const GroupDesign& group, std::size_t rows, const Family& family) {
  if (group.levels.size() == 1)
    return "; one level does not say how much levels differ: the sd comes from its prior, and the effects cannot "
           "be told from the coefficients";
  if (group.levels.size() == rows && group.intercept && family.spec().sums && family.estimates_second())
    return "; every row has a level of its own, so the effects cannot be told from the noise, sigma";
  return "";
}

void load_groups(const FitOptions& options, const PriorOptions& priors, Design design, Loaded& out) {
  const FamilySpec& spec = *find_family(options.family);
  if (spec.make == nullptr) throw UsageError(fmt::format("`family {}` has no group effects", options.family));
  refuse_method_options(options);
  const std::shared_ptr<const Family> family = make_family(options.family, options.numbers);
  for (const GroupDesign& group : design.groups)
    out.notes.push_back(fmt::format("{}: {} level{} with effects of {} own ({}){}", group.name,
                                    grouped(group.levels.size()), group.levels.size() == 1 ? "" : "s",
                                    group.levels.size() == 1 ? "its" : "their",
                                    fmt::join(group.effects, ", "), remark_on(group, design.rows, *family)));
  out.grouped = std::make_unique<GroupedModel>(
      std::move(design), family, GroupPriorOptions{priors, options.prior_sd, options.prior_cor});
  out.notes.push_back("priors: " + out.grouped->prior_words());
  if (std::string words = family->words(); !words.empty()) out.notes.push_back(std::move(words));
}

Loaded load(const FitOptions& options, const Formula& formula, Table table) {
  const DesignOptions how = design_options(options);
  Remarks remarks;
  for (const Column& column : table.columns)
    if (std::string remark = factor_remark(table, column); !remark.empty())
      remarks.emplace(column.name, std::move(remark));
  Design design = build_design(formula, std::move(table), how);
  Loaded out;
  out.response = design.response;
  out.data = {design.rows_in_file, design.rows, design.dropped};
  add_scale_note(how.scale, out.notes);
  const FamilySpec& family = *find_family(options.family);
  add_factor_notes(design, remarks, family.classes, out.notes);
  out.recipe = design.recipe;
  out.factors = design.factors;
  const PriorOptions priors{options.prior, options.prior_intercept, options.prior_for};
  if (!design.groups.empty()) {
    load_groups(options, priors, std::move(design), out);
    return out;
  }
  refuse_group_options(options);
  design.response_base = options.base.value_or("");
  out.model = make_model(family, std::move(design), options.numbers, priors, out.notes);
  if (const Softmax* softmax = out.model->softmax()) out.recipe.classes = softmax->classes();
  return out;
}

MethodAccount account_of(const Samples& samples) {
  MethodAccount account;
  account.name = samples.method->name;
  account.promise = samples.promise;
  account.log_posterior = samples.log_posterior;
  double steps = 0, accepted = 0, rows = 0, noise = 0, finite = 0;
  std::vector<double> sample;
  for (const ChainRecord& record : samples.chains) {
    const ChainAccount& a = record.account;
    steps += static_cast<double>(a.steps);
    accepted += static_cast<double>(a.accepted);
    rows += static_cast<double>(a.rows_read);
    noise += a.noise_sd_sum;
    finite += static_cast<double>(a.steps - a.not_finite);
    account.not_finite += a.not_finite;
    account.bound_violations += a.bound_violations;
    for (const std::uint64_t r : a.rows_sample) sample.push_back(static_cast<double>(r));
  }
  account.acceptance = accepted / steps;
  account.rows_per_step = rows / steps;
  std::sort(sample.begin(), sample.end());
  account.median_rows_per_step = sample.empty() ? std::nan("") : quantile(sample, 0.5);
  account.noise_sd = finite > 0 ? noise / finite : 0;
  return account;
}

// Thousands of shards may all give the same warning: only the first one is shown.
std::vector<std::string> said_once(const std::vector<std::string>& warnings) {
  std::vector<std::string> out;
  std::size_t first = 0, shards = 0;
  for (const std::string& warning : warnings) {
    const bool of_shard = warning.rfind("shard ", 0) == 0;
    if (of_shard && ++shards == 1) first = out.size();
    if (!of_shard || shards == 1) out.push_back(warning);
  }
  if (shards > 1)
    out[first] = fmt::format("{} shards have no mode of their own; the first: {}", shards, out[first]);
  return out;
}

void add_warnings(RunSummary& s, bool groups = false) {
  const char* const proposal = groups ? "" : ", or another `proposal`,";
  const bool wide = s.noise.verdict == NoiseReport::Verdict::inflated ||
                    s.noise.verdict == NoiseReport::Verdict::not_the_posterior;
  if (wide) s.warnings.push_back(s.noise.words);
  std::string bad_rhat;
  double worst = 0;
  std::string few, unknown;
  double fewest = std::numeric_limits<double>::infinity();
  for (const ParameterSummary& p : s.parameters) {
    if (p.rhat > 1.01 && p.rhat > worst) {
      worst = p.rhat;
      bad_rhat = p.name;
    }
    if (unknown.empty() && (std::isnan(p.ess_bulk) || std::isnan(p.ess_tail) || std::isnan(p.rhat)))
      unknown = p.name;
    const double ess = std::min(p.ess_bulk, p.ess_tail);
    if (ess < fewest) {
      fewest = ess;
      few = p.name;
    }
  }
  if (worst > 0)
    s.warnings.push_back(fmt::format(
        "R-hat is {:.3f} for \"{}\": the chains have not mixed; more `warmup` and `draws`{} may help.", worst,
        bad_rhat, proposal));
  if (!unknown.empty())
    s.warnings.push_back(
        fmt::format("R-hat or the effective draws of \"{}\" are not defined: {} draws per chain are too few, "
                    "or they are all alike; do not trust means and intervals, and take more `draws`.",
                    unknown, s.draws));
  if (fewest < 100 * static_cast<double>(s.chains))
    s.warnings.push_back(fmt::format(
        "only {:.0f} effective draws for \"{}\": below 100 per chain, means and intervals are rough; take "
        "more `draws`, or `thin`{}.",
        fewest, few, groups ? "" : ", or another `proposal`"));
  if (s.method.bound_violations > 0)
    s.warnings.push_back(
        fmt::format("{} rows broke their bound: these draws are NOT exact. This is a defect of mlo; please "
                    "report it, and use `method full`.",
                    s.method.bound_violations));
  if (s.method.name == "exact" && s.method.acceptance < 0.3)
    s.warnings.push_back(fmt::format(
        "only {:.0f} % of the proposals were accepted: the posterior is far from the Gaussian fit that they "
        "come from (few rows, or a response that the columns nearly separate). The draws are exact, but look "
        "at R-hat and the effective draws.",
        100 * s.method.acceptance));
  if (s.method.not_finite > 0)
    s.warnings.push_back(
        fmt::format("{} proposals had no finite density and were rejected.", s.method.not_finite));
}

// "3.2 steps per draw", where a kernel has chosen them; "" where there is one.
std::string repeats_note(const std::vector<ChainRecord>& chains) {
  double steps = 0, counted = 0;
  for (const ChainRecord& chain : chains) {
    steps += static_cast<double>(chain.account.steps);
    counted += static_cast<double>(chain.account.counted);
  }
  if (steps <= counted) return {};
  return fmt::format("{:.3g} steps per draw, by the acceptance in warm-up", steps / counted);
}

// How much of the variance about the mean response, on the scale of the predictor, each grouping has, where
// that is a number: intercepts alone, and a family with a variance of its own on that scale.
std::string variance_note(const GroupedModel& model, const std::vector<ParameterSummary>& parameters) {
  const FamilySpec& spec = model.family().spec();
  double own = 0;
  if (!model.rows().plain() || spec.residual_variance == nullptr) return {};
  const std::size_t first = model.layout().dim();
  own = spec.residual_variance(model.family().estimates_second() ? parameters[first - 1].mean
                                                                 : model.family().known_second());
  double total = own;
  for (std::size_t k = 0; k < model.rows().groups().size(); ++k)
    total += parameters[first + k].mean * parameters[first + k].mean;
  std::string out = "variance of the predictor's scale at the posterior means:";
  for (std::size_t k = 0; k < model.rows().groups().size(); ++k) {
    const double sd = parameters[first + k].mean;
    out += fmt::format(" {} {:.1f} %,", model.rows().groups()[k].name, 100 * sd * sd / total);
  }
  return out + fmt::format(" within groups {:.1f} %", 100 * own / total);
}

void add_group_effects(const GroupedModel& model, const Plan& plan, std::span<const ChainRecord> chains,
                       bool keep, FitResult& result) {
  RunSummary& s = result.summary;
  s.noise.laplace_sd.assign(s.parameters.size(), std::nan(""));
  s.noise.sd_ratio = s.noise.laplace_sd;
  s.noise.median_ratio = std::nan("");
  if (std::string note = variance_note(model, s.parameters); !note.empty())
    s.notes.push_back(std::move(note));
  if (!keep) return;
  ThreadPool pool(plan.threads);
  for (const EffectSummary& effect : effect_summaries(model, chains, pool)) {
    const Grouping& group = model.rows().groups()[effect.group];
    result.effects.push_back({group.name, group.level_names[effect.level], group.effects[effect.effect],
                              effect.mean, effect.sd, effect.q5, effect.q95, effect.rhat});
  }
}

FitResult summarised(const FitOptions& options, const Plan& plan, Loaded loaded, Samples samples) {
  FitResult result;
  result.names = loaded.grouped ? loaded.grouped->names() : loaded.model->names();
  result.recipe = std::move(loaded.recipe);
  RunSummary& s = result.summary;
  s.chains = samples.chains.size();
  s.draws = plan.chain.draws;
  for (const ChainRecord& record : samples.chains) {
    s.draws = std::min<std::uint64_t>(s.draws, record.size());
    s.interrupted = s.interrupted || record.iteration < plan.chain.steps();
  }
  if (s.draws == 0)
    throw options.out.empty()
        ? Interrupted()
        : Interrupted(fmt::format(
              "interrupted before every chain had a draw; continue the run with `resume` and `out {}`",
              options.out));
  s.title = fmt::format("{} model of {}, {} rows, {} parameter{}", options.family, loaded.response,
                        grouped(loaded.data.used), result.names.size(), result.names.size() == 1 ? "" : "s");
  s.notes = std::move(loaded.notes);
  s.notes.insert(s.notes.end(), samples.notes.begin(), samples.notes.end());
  if (plan.chain.thin > 1) s.notes.push_back(fmt::format("{} steps per draw (`thin`)", plan.chain.thin));
  if (const std::string note = repeats_note(samples.chains); !note.empty()) s.notes.push_back(note);
  s.notes.push_back(fmt::format("seed {}", plan.chain.seed));
  if (loaded.data.dropped > 0)
    s.notes.push_back(fmt::format("{} of {} rows had a missing cell and {} dropped",
                                  grouped(loaded.data.dropped), grouped(loaded.data.rows),
                                  loaded.data.dropped == 1 ? "was" : "were"));
  s.parameters = summarise(result.names, samples.chains);
  s.method = account_of(samples);
  s.audit = samples.audit;
  if (loaded.grouped) {
    add_group_effects(*loaded.grouped, plan, samples.chains, options.save_groups != "no", result);
  } else {
    s.noise = noise_report(s.method.noise_sd, s.parameters, samples.laplace_sd, samples.noise);
  }
  s.data = loaded.data;
  s.passes = samples.passes;
  s.warnings = said_once(samples.warnings);
  add_warnings(s, loaded.grouped != nullptr);
  s.seconds.mode = samples.mode_seconds;
  s.seconds.sample = samples.sample_seconds;
  result.chains.reserve(samples.chains.size());
  for (ChainRecord& record : samples.chains)
    result.chains.push_back(std::move(static_cast<ChainDraws&>(record)));
  result.facts = loaded.grouped
                     ? facts_of(*loaded.grouped, loaded.factors, result.chains, options)
                     : facts_of(*loaded.model, loaded.factors, samples.mode, result.chains, options);
  return result;
}

// Draws of group effects are kept if they are small enough, unless the user says what to keep.
KeptEffects kept_effects(const FitOptions& options, const GroupedModel& model) {
  constexpr double most_bytes = 200e6;
  if (options.save_groups)
    return *options.save_groups == "yes"       ? KeptEffects::draws
           : *options.save_groups == "summary" ? KeptEffects::summary
                                               : KeptEffects::none;
  const double bytes = static_cast<double>(options.chains) * static_cast<double>(options.draws) *
                       static_cast<double>(model.effects() * sizeof(float));
  return bytes <= most_bytes ? KeptEffects::draws : KeptEffects::summary;
}

// Known before sampling, not after.
void check_holdout(const FitOptions& options, KeptEffects kept) {
  if (options.holdout && kept != KeptEffects::draws)
    throw UsageError(
        fmt::format("`holdout` needs the draws of group effects, which {}; use `save-groups yes`",
                    options.save_groups ? fmt::format("`save-groups {}` does not keep", *options.save_groups)
                                        : "take more than 200 MB and are not kept"));
}

// The columns of the table in the order of the header.
std::vector<UsedColumn> used_columns(const std::vector<std::string>& header, const Table& table) {
  std::map<std::string_view, const Column*> used;
  for (const Column& column : table.columns) used[column.name] = &column;
  std::vector<UsedColumn> out;
  for (const std::string& name : header)
    if (const auto at = used.find(name); at != used.end())
      out.push_back({name, at->second->is_text(), at->second->logical});
  return out;
}

// Takes the rows that are held out from the table. There must be some.
Table hold_out(Table& table, const FitOptions& options) {
  const std::size_t rows = table.rows;
  Table held = hold_out(table, *options.seed, *options.holdout);
  if (held.rows == 0 || table.rows == 0)
    throw DataError(table.source.name,
                    fmt::format("`holdout {}` holds out {} of {} rows; choose another share",
                                *options.holdout, held.rows == 0 ? "none" : "all", grouped(rows)));
  return held;
}

void add_holdout(const FitOptions& options, const HeldOutRows& held, FitResult& result) {
  RunSummary& s = result.summary;
  s.holdout = held.score(options, result.chains);
  s.notes.push_back(fmt::format("{} of {} rows were held out (`holdout {}`)", grouped(held.size()),
                                grouped(s.data.rows), *options.holdout));
  if (const std::size_t fresh = held.new_groups(); fresh > 0)
    s.notes.push_back(fmt::format(
        "{} of them have a group that no other row has: its effects are drawn from the law of all groups",
        grouped(fresh)));
}

// The options of a run that is to be resumed: its own, except for the threads.
FitOptions kept_options(const FitOptions& given, const RunDirectory& directory) {
  if (directory.status() == "finished")
    throw UsageError(
        fmt::format("`resume`: the run in {0} is finished; show it with `summary {0}`", given.out));
  FitOptions kept = directory.options();
  FitOptions asked = given;
  if (!asked.seed) asked.seed = kept.seed;
  if (!asked.data.empty() && options_to_json(asked) != options_to_json(kept))
    throw UsageError(fmt::format(
        "`resume`: these are not the options of the run in {}; leave them out, as all of them are in its "
        "run.json, and continue it with `resume` and `out {}`",
        given.out, given.out));
  kept.threads = given.threads;
  kept.report = given.report;
  kept.resume = true;
  return kept;
}

DataFacts data_facts(const Loaded& loaded) {
  if (!loaded.grouped)
    return {.rows = loaded.model->rows(),
            .dim = loaded.model->dim(),
            .all_positive = loaded.model->all_positive()};
  std::size_t largest = 0;
  for (const GroupCovariance& covariance : loaded.grouped->covariances())
    largest = std::max(largest, covariance.size());
  return {.rows = loaded.grouped->rows().size(),
          .dim = loaded.grouped->main_parameters(),
          .all_positive = false,
          .covariance = largest};
}

// Reads, samples, and keeps the run if there is a directory. `directory` is open already if a run is resumed.
FitResult fit(FitOptions options, Reader& reader, std::optional<RunDirectory> directory,
              const FitWatcher& watcher, const Timer& timer) {
  if (!options.out.empty() && !options.resume) directory = RunDirectory::create(options.out);
  const auto show = [&](double share) {
    if (watcher.interrupted()) throw Interrupted();
    if (watcher.phase) watcher.phase("reading " + data_words(options), share);
  };
  const Formula formula = parse_formula(options.formula, reader.header());
  const std::vector<std::string> wanted = wanted_columns(options, formula, reader.header());
  Table table = reader.read(wanted, show);
  std::vector<UsedColumn> columns = used_columns(reader.header(), table);
  std::optional<HeldOutRows> held;
  Table held_table;
  if (options.holdout) held_table = hold_out(table, options);
  Loaded loaded = load(options, formula, std::move(table));
  if (options.holdout) held.emplace(options, formula, loaded.recipe, std::move(held_table));
  if (held) loaded.data.rows += held->size();
  const Plan plan = resolve(options, data_facts(loaded));
  options.warmup = static_cast<std::int64_t>(plan.chain.warmup);  // part of the run's record
  const KeptEffects kept = loaded.grouped ? kept_effects(options, *loaded.grouped) : KeptEffects::none;
  if (loaded.grouped) check_holdout(options, kept);
  const double read_seconds = timer.seconds();

  Keeping keeping;
  if (directory) {
    if (options.resume && directory->fingerprint() != reader.fingerprint())
      throw DataError(
          data_words(options),
          fmt::format("has changed since the run in {} began; it cannot be continued", options.out));
    const std::uint64_t key = run_key(options, reader.fingerprint());
    if (options.resume) keeping.records = directory->read_checkpoints(plan.chain.chains, key);
    keeping.checkpoint = directory->checkpoints(key);
    keeping.before_sampling = [&] { directory->begin(options, reader.fingerprint()); };
  }
  Samples samples = loaded.grouped ? sample(*loaded.grouped, plan, kept, watcher, std::move(keeping))
                                   : sample(*loaded.model, plan, watcher, std::move(keeping));
  FitResult result = summarised(options, plan, std::move(loaded), std::move(samples));
  if (held) add_holdout(options, *held, result);
  result.summary.seconds.read = read_seconds;
  result.summary.seconds.total = timer.seconds();
  result.columns = std::move(columns);
  result.fingerprint = reader.fingerprint();
  result.options = std::move(options);
  if (directory) directory->finish(result.options, result.fingerprint, result);
  if (result.options.report)
    write_file(directory->report_file(), html_report(report_input(result, watcher.wording)));
  return result;
}

// The data of a run that is resumed must be found from here.
void check_place(const FitOptions& options) {
  for (const std::filesystem::path file : options.data) {
    const bool pattern = file.native().find_first_of("*?[") != std::string::npos;
    if (file == "-" || pattern || file.is_absolute() || std::filesystem::exists(file)) continue;
    throw DataError(
        file,
        fmt::format(
            "no such file here; the name is relative to the directory where the run in {} was started: resume "
            "it there",
            options.out));
  }
}

// Replaces the options by those in force; returns the directory of a run that is resumed.
std::optional<RunDirectory> prepare(FitOptions& options, const FitWatcher& watcher) {
  std::optional<RunDirectory> directory;
  if (options.resume) {
    if (options.out.empty()) throw UsageError("`resume` needs `out`: the directory of the run to continue");
    directory = RunDirectory::open(options.out);
    options = kept_options(options, *directory);
  }
  check(options);
  options.family = find_family(options.family)->name;  // it may be an alias
  if (wants_netcdf(options)) netcdf_library();         // not after an hour of sampling
  if (options.report && options.out.empty())
    throw UsageError("`report` needs `out`: the report is written to that directory");
  if (settle(options) && watcher.note) watcher.note(fmt::format("seed {}", *options.seed));
  return directory;
}

}  // namespace

FitResult fit(const FitOptions& given, const FitWatcher& watcher) {
  const Timer timer;
  FitOptions options = given;
  std::optional<RunDirectory> directory = prepare(options, watcher);
  if (options.resume) check_place(options);
  const std::unique_ptr<Reader> reader = open_data(options);
  return fit(std::move(options), *reader, std::move(directory), watcher, timer);
}

FitResult fit(const FitOptions& given, Reader& reader, const FitWatcher& watcher) {
  const Timer timer;
  FitOptions options = given;
  std::optional<RunDirectory> directory = prepare(options, watcher);
  return fit(std::move(options), reader, std::move(directory), watcher, timer);
}

FitResult fit(const FitOptions& given, Table table, const FitWatcher& watcher) {
  TableReader reader(std::move(table));
  return fit(given, reader, watcher);
}

RunSummary summary_of(const Samples& samples, const std::vector<std::string>& names,
                      const ChainOptions& chain, std::uint64_t rows) {
  RunSummary s;
  s.chains = samples.chains.size();
  s.draws = chain.draws;
  for (const ChainRecord& record : samples.chains) {
    s.draws = std::min<std::uint64_t>(s.draws, record.size());
    s.interrupted = s.interrupted || record.iteration < chain.steps();
  }
  if (s.draws == 0) throw Interrupted();
  s.title = fmt::format("your model, {} rows, {} parameter{}", grouped(rows), names.size(),
                        names.size() == 1 ? "" : "s");
  s.notes = samples.notes;
  if (chain.thin > 1) s.notes.push_back(fmt::format("{} steps per draw (`thin`)", chain.thin));
  if (const std::string note = repeats_note(samples.chains); !note.empty()) s.notes.push_back(note);
  s.notes.push_back(fmt::format("seed {}", chain.seed));
  s.parameters = summarise(names, samples.chains);
  s.method = account_of(samples);
  s.audit = samples.audit;
  s.noise = noise_report(s.method.noise_sd, s.parameters, samples.laplace_sd, samples.noise);
  s.data = {rows, rows, 0};
  s.passes = samples.passes;
  s.warnings = said_once(samples.warnings);
  add_warnings(s);
  s.seconds.mode = samples.mode_seconds;
  s.seconds.sample = samples.sample_seconds;
  s.seconds.total = samples.mode_seconds + samples.sample_seconds;
  return s;
}

const char* version() { return MLO_VERSION; }

}  // namespace mlo
