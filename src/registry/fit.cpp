// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/registry/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <random>
#include <thread>
#include <variant>

#include "mlo/base/errors.hpp"
#include "mlo/data/csv.hpp"
#include "mlo/data/design.hpp"
#include "mlo/data/formula.hpp"
#include "mlo/model/gaussian_precision.hpp"
#include "mlo/model/glm.hpp"
#include "registry/priors.hpp"
#include "registry/run_directory.hpp"
#include "registry/sample.hpp"

namespace mlo {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

using AnyModel = std::variant<Glm<Logistic>, Glm<Probit>, Glm<Poisson>, Glm<GaussianMean>, Glm<Gaussian>,
                              Glm<Student>, Glm<StudentKnownScale>, Glm<NegativeBinomial>,
                              Glm<NegativeBinomialKnownSize>, GaussianPrecision>;

// What a fit knows of its data once the design has moved into the model.
struct DataFacts {
  std::string response;
  std::uint64_t rows = 0, used = 0, dropped = 0;
};

AnyModel make_model(const FitOptions& options, Design design, std::vector<std::string>& notes) {
  if (options.family == "gaussian-precision") {
    if (design.dim != 1 || !design.intercept)
      throw UsageError(
          fmt::format("--family gaussian-precision has one parameter, tau, and no columns: write {} ~ 1",
                      design.response));
    const double mean = options.known_mean.value_or(0);
    notes.push_back(fmt::format("known mean {}", mean));
    return GaussianPrecision(design, mean, precision_prior(options, notes));
  }
  if (options.family == "gaussian-mean" && design.dim == 1 && design.intercept) design.names[0] = "mu";
  GlmPriors priors = glm_priors(options, design, notes);
  if (options.family == "gaussian-mean") {
    const double sigma = options.known_sigma.value_or(1);
    notes.push_back(fmt::format("known sigma {}", sigma));
    return Glm<GaussianMean>(std::move(design), GaussianMean{.sigma = sigma}, std::move(priors));
  }
  if (options.family == "student") {
    const double freedom = options.freedom.value_or(Student{}.freedom);
    notes.push_back(fmt::format("Student's law with {} degrees of freedom", freedom));
    if (!options.known_sigma) return Glm<Student>(std::move(design), {.freedom = freedom}, std::move(priors));
    notes.push_back(fmt::format("known sigma {}", *options.known_sigma));
    return Glm<StudentKnownScale>(std::move(design), {.freedom = freedom, .sigma = *options.known_sigma},
                                  std::move(priors));
  }
  if (options.family == "negative-binomial") {
    if (!options.size) return Glm<NegativeBinomial>(std::move(design), {}, std::move(priors));
    notes.push_back(fmt::format("known size {}", *options.size));
    return Glm<NegativeBinomialKnownSize>(std::move(design), {.size = *options.size}, std::move(priors));
  }
  if (options.family == "logistic") return Glm<Logistic>(std::move(design), {}, std::move(priors));
  if (options.family == "probit") return Glm<Probit>(std::move(design), {}, std::move(priors));
  if (options.family == "poisson") return Glm<Poisson>(std::move(design), {}, std::move(priors));
  return Glm<Gaussian>(std::move(design), {}, std::move(priors));
}

void add_scale_note(const FitOptions& options, std::vector<std::string>& notes) {
  if (options.scale == "sd")
    notes.emplace_back(
        "columns were divided by their standard deviations: coefficients and priors refer to the scaled "
        "columns");
  if (options.scale == "standard")
    notes.emplace_back(
        "columns were centred and divided by their standard deviations: coefficients and priors refer to the "
        "scaled columns");
}

MethodAccount account_of(const SampleOutcome& outcome, const std::vector<ChainRecord>& records) {
  MethodAccount account;
  account.name = outcome.method;
  account.promise = outcome.promise;
  double steps = 0, accepted = 0, rows = 0, noise = 0, finite = 0;
  std::vector<double> sample;
  for (const ChainRecord& record : records) {
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

// Thousands of shards may all have the same to say: the first of them speaks for the others.
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

void add_warnings(RunSummary& s) {
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
    s.warnings.push_back(
        fmt::format("R-hat is {:.3f} for \"{}\": the chains have not mixed; more --warmup and --draws, "
                    "or another --proposal, may help.",
                    worst, bad_rhat));
  if (!unknown.empty())
    s.warnings.push_back(fmt::format(
        "R-hat or the effective draws of \"{}\" are not defined: {} draws a chain are too few, or "
        "they are all alike; do not trust means and intervals, and take more --draws.",
        unknown, s.draws));
  if (fewest < 100 * static_cast<double>(s.chains))
    s.warnings.push_back(
        fmt::format("only {:.0f} effective draws for \"{}\": below 100 a chain, means and intervals are "
                    "rough; take more --draws, or --thin, or another --proposal.",
                    fewest, few));
  if (s.method.bound_violations > 0)
    s.warnings.push_back(fmt::format(
        "{} rows broke their bound: these draws are NOT exact. This is a defect of mlo; please report "
        "it, and use --method full.",
        s.method.bound_violations));
  if (s.method.name == "exact" && s.method.acceptance < 0.3)
    s.warnings.push_back(fmt::format(
        "only {:.0f} % of the proposals were accepted: the posterior is far from the Gaussian fit that "
        "they come from (few rows, or a response that the columns nearly separate). The draws are exact, "
        "but look at R-hat and the effective draws.",
        100 * s.method.acceptance));
  if (s.method.not_finite > 0)
    s.warnings.push_back(
        fmt::format("{} proposals had no finite density and were rejected.", s.method.not_finite));
}

void prepare(FitOptions& options, const FitWatcher& watcher) {
  check(options);
  if (options.threads == 0) options.threads = std::max(1U, std::thread::hardware_concurrency());
  if (!options.seed) {
    std::random_device device;
    options.seed = (static_cast<std::uint64_t>(device()) << 32U) | device();
    // Small enough to type again, and to survive every JSON reader's doubles.
    *options.seed %= std::uint64_t{1} << 31U;
    if (watcher.note) watcher.note(fmt::format("seed {}", *options.seed));
  }
}

struct Loaded {
  AnyModel model;
  DataFacts facts;
  std::vector<std::string> notes;
};

// Reads the table into a model, and settles the options that were waiting for the number of rows.
Loaded load(FitOptions& options, const Formula& formula, Table table) {
  DesignOptions design_options;
  design_options.scale = options.scale == "sd"         ? Scale::sd
                         : options.scale == "standard" ? Scale::standard
                                                       : Scale::none;
  design_options.missing = options.missing == "error" ? Missing::error : Missing::drop;
  Design design = build_design(formula, std::move(table), design_options);
  if (design.rows > std::numeric_limits<RowId>::max())
    throw DataError(options.data, fmt::format("{} rows are more than {}, the most that fit", design.rows,
                                              std::numeric_limits<RowId>::max()));
  DataFacts facts{design.response, design.rows_in_file, design.rows, design.dropped};
  std::vector<std::string> notes;
  add_scale_note(options, notes);
  AnyModel model = make_model(options, std::move(design), notes);
  if (!options.thin) options.thin = default_thin(options, facts.used);
  return {std::move(model), std::move(facts), std::move(notes)};
}

// `started` is when the fit began; `read_seconds` of it went into reading.
FitResult run(const FitOptions& options, Loaded loaded, const FitWatcher& watcher, Clock::time_point started,
              double read_seconds, const CheckpointOptions& checkpoint, std::vector<ChainRecord> records,
              std::function<void()> before_sampling) {
  SampleJob job;
  job.options = options;
  job.chain = {.seed = *options.seed,
               .chains = static_cast<std::size_t>(options.chains),
               .warmup = static_cast<std::size_t>(options.warmup),
               .draws = static_cast<std::size_t>(options.draws),
               .thin = static_cast<std::size_t>(options.thin.value())};
  job.threads = static_cast<std::size_t>(options.threads);
  job.watcher = &watcher;
  job.checkpoint = checkpoint;
  job.before_sampling = std::move(before_sampling);

  FitResult result;
  RunSummary& s = result.summary;
  const SampleOutcome outcome = std::visit(
      [&](const auto& model) {
        result.names = model.names();
        return sample(model, job, records);
      },
      loaded.model);
  result.chains = std::move(records);

  s.chains = result.chains.size();
  s.draws = static_cast<std::uint64_t>(options.draws);
  for (const ChainRecord& record : result.chains) {
    s.draws = std::min<std::uint64_t>(s.draws, record.size());
    s.interrupted = s.interrupted || record.iteration < job.chain.steps();
  }
  if (s.draws == 0)
    throw options.out.empty()
        ? Interrupted()
        : Interrupted(fmt::format("interrupted before every chain had a draw; continue with: mlo fit "
                                  "--resume --out {}",
                                  options.out));
  s.title = fmt::format("{} model of {}, {} rows, {} parameter{}", options.family, loaded.facts.response,
                        loaded.facts.used, result.names.size(), result.names.size() == 1 ? "" : "s");
  s.notes = std::move(loaded.notes);
  s.notes.insert(s.notes.end(), outcome.notes.begin(), outcome.notes.end());
  if (*options.thin > 1) s.notes.push_back(fmt::format("{} steps a draw (--thin)", *options.thin));
  s.notes.push_back(fmt::format("seed {}", *options.seed));
  if (loaded.facts.dropped > 0)
    s.notes.push_back(fmt::format("{} of {} rows had a missing cell and were dropped", loaded.facts.dropped,
                                  loaded.facts.rows));
  s.parameters = summarise(result.names, result.chains);
  s.method = account_of(outcome, result.chains);
  s.audit = outcome.audit;
  s.noise = noise_report(s.method.noise_sd, s.parameters, outcome.laplace_sd, outcome.noise);
  s.data = {loaded.facts.rows, loaded.facts.used, loaded.facts.dropped};
  s.passes = outcome.passes;
  s.warnings = said_once(outcome.warnings);
  add_warnings(s);
  s.seconds = {read_seconds, outcome.mode_seconds, outcome.sample_seconds, seconds_since(started)};
  return result;
}

}  // namespace

FitResult fit(const FitOptions& given, const FitWatcher& watcher) {
  const auto started = Clock::now();
  FitOptions options = given;
  std::optional<RunDirectory> directory;
  if (options.resume) {
    directory = RunDirectory::open(options.out);
    if (directory->status() == "finished")
      throw UsageError(fmt::format("--resume: the run in {} is finished; show it with: mlo summary {}",
                                   options.out, options.out));
    const FitOptions kept = directory->options();
    if (!options.seed) options.seed = kept.seed;
    if (!options.thin) options.thin = kept.thin;
    if (!options.data.empty() && options_to_json(options) != options_to_json(kept))
      throw UsageError(
          fmt::format("--resume: these are not the options of the run in {}; leave them out, as all is "
                      "taken from its run.json: mlo fit --resume --out {}",
                      options.out, options.out));
    options = kept;
    options.threads = given.threads;
    options.resume = true;
    const std::filesystem::path data = options.data;
    if (data.is_relative() && !std::filesystem::exists(data))
      throw DataError(
          options.data,
          fmt::format("no such file; the run in {} names it so, from the directory in which it was "
                      "started: resume it there",
                      options.out));
  }
  prepare(options, watcher);
  if (!options.out.empty() && !options.resume) directory = RunDirectory::create(options.out);

  const auto show = [&](double share) {
    if (watcher.interrupt != nullptr && watcher.interrupt->load()) throw Interrupted();
    if (watcher.phase) watcher.phase("reading " + options.data, share);
  };
  CsvReader reader(options.data);
  const Formula formula = parse_formula(options.formula, reader.header());
  const std::vector<std::string> wanted = formula.columns();
  Table table = reader.read(wanted, show);
  Loaded loaded = load(options, formula, std::move(table));
  const double read_seconds = seconds_since(started);

  CheckpointOptions checkpoint;
  std::vector<ChainRecord> records;
  if (directory) {
    if (options.resume && directory->fingerprint() != reader.fingerprint())
      throw DataError(
          options.data,
          fmt::format("has changed since the run in {} began; it cannot be continued", options.out));
    const std::uint64_t key = run_key(options, reader.fingerprint());
    if (options.resume) records = directory->read_checkpoints(static_cast<std::size_t>(options.chains), key);
    checkpoint = directory->checkpoints(key);
  }
  const auto before_sampling = [&] {
    if (directory) directory->begin(options, reader.fingerprint());
  };
  FitResult result = run(options, std::move(loaded), watcher, started, read_seconds, checkpoint,
                         std::move(records), before_sampling);
  if (directory) directory->finish(options, reader.fingerprint(), result);
  return result;
}

FitResult fit(const FitOptions& given, Table table, const FitWatcher& watcher) {
  const auto started = Clock::now();
  FitOptions options = given;
  prepare(options, watcher);
  std::vector<std::string> header;
  for (const Column& column : table.columns) header.push_back(column.name);
  const Formula formula = parse_formula(options.formula, header);
  Loaded loaded = load(options, formula, std::move(table));
  return run(options, std::move(loaded), watcher, started, seconds_since(started), {}, {}, {});
}

const char* version() { return MLO_VERSION; }

}  // namespace mlo
