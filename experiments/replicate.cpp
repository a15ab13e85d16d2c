// Copyright (c) the mlo authors. BSD-3-Clause.
#include "experiments/replicate.hpp"

#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "experiments/command_line.hpp"
#include "experiments/store.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/base/hash.hpp"
#include "mlo/base/thread_pool.hpp"
#include "mlo/fit/fit.hpp"

namespace mlo::experiments {
namespace {

std::uint64_t mixed_with(std::uint64_t h, std::string_view text) {
  for (const char c : text) h = mixed(h + 0x9e3779b97f4a7c15 + static_cast<unsigned char>(c));
  return h;
}

// Empty if the watcher's interrupt came first.
std::optional<std::map<std::string, StoredFit>> one_replication(const Experiment& experiment,
                                                                std::uint64_t seed, std::size_t b,
                                                                const Watcher& watcher) {
  SimulateOptions data = experiment.data;
  data.seed = seed_of(seed, experiment.name, b, "data");
  const Table table = simulate(data);
  FitWatcher fit_watcher;
  fit_watcher.interrupt = watcher.interrupt;
  std::map<std::string, StoredFit> fits;
  for (const Cell& cell : experiment.cells) {
    FitOptions options = cell.fit;
    options.seed = seed_of(seed, experiment.name, b, cell.name);
    options.threads = 1;
    std::optional<FitResult> result;
    try {
      result = fit(options, table, fit_watcher);
    } catch (const Interrupted&) {
      return {};
    }
    const RunSummary& s = result->summary;
    if (s.interrupted) return {};
    StoredFit& kept = fits[cell.name];
    kept.data_seed = data.seed;
    kept.fit_seed = *options.seed;
    for (const ParameterSummary& p : s.parameters) {
      kept.fitted.mean.push_back(p.mean);
      kept.fitted.sd.push_back(p.sd);
    }
    kept.fitted.rows_per_step = s.method.rows_per_step;
    kept.fitted.median_rows_per_step = s.method.median_rows_per_step;
    kept.fitted.acceptance = s.method.acceptance;
  }
  return fits;
}

}  // namespace

std::uint64_t seed_of(std::uint64_t seed, std::string_view experiment, std::size_t replication,
                      std::string_view use) {
  return mixed_with(mixed(mixed_with(mixed(seed), experiment) + replication + 1), use) >> 11U;
}

std::vector<double> Replications::estimates(const std::string& cell, std::size_t parameter) const {
  std::vector<double> out;
  out.reserve(fits_.size());
  for (const auto& fits : fits_) out.push_back(fits.at(cell).mean[parameter]);
  return out;
}

double Replications::spread(const std::string& cell, const std::string& reference,
                            std::size_t parameter) const {
  double above = 0, below = 0;
  for (const auto& fits : fits_) {
    above += fits.at(cell).sd[parameter];
    below += fits.at(reference).sd[parameter];
  }
  return above / below;
}

double Replications::average(const std::string& cell, double Fitted::*member) const {
  double sum = 0;
  for (const auto& fits : fits_) sum += fits.at(cell).*member;
  return sum / static_cast<double>(fits_.size());
}

Replications replicate(const Experiment& experiment, const Settings& settings, const Watcher& watcher) {
  const std::size_t reps = settings.replications();
  Store store(experiment, settings);
  std::vector<std::size_t> missing;
  for (std::size_t b = 0; b < reps; ++b)
    if (!store.has(b)) missing.push_back(b);
  std::size_t done = reps - missing.size();
  const auto show = [&] {
    if (watcher.progress)
      watcher.progress(experiment.name, static_cast<double>(done), static_cast<double>(reps));
  };
  show();

  const std::size_t threads = settings.threads > 0
                                  ? static_cast<std::size_t>(settings.threads)
                                  : std::max<std::size_t>(1, std::thread::hardware_concurrency());
  ThreadPool pool(std::min(threads, std::max<std::size_t>(1, missing.size())));
  std::mutex mutex;  // guards the store, the count and the watcher
  std::atomic<bool> failed{false};
  pool.run(missing.size(), [&](std::size_t task) {
    if (failed || watcher.interrupted()) return;
    try {
      auto fits = one_replication(experiment, settings.seed, missing[task], watcher);
      if (!fits) return;
      const std::lock_guard lock(mutex);
      store.add(missing[task], std::move(*fits));
      ++done;
      show();
    } catch (...) {  // e.g. a full disk: the others need not continue
      failed = true;
      throw;
    }
  });
  if (done < reps)
    throw Interrupted(
        fmt::format("interrupted; {} of {} replications of {} are kept in {}, and the same command goes on "
                    "from there",
                    done, reps, experiment.name, store.file()));
  store.finish();
  std::vector<std::map<std::string, Fitted>> fits(reps);
  for (std::size_t b = 0; b < reps; ++b)
    for (const auto& [cell, kept] : store.at(b)) fits[b].emplace(cell, kept.fitted);
  return {experiment, std::move(fits)};
}

std::vector<std::string> commands(const Experiment& experiment, const Settings& settings) {
  std::vector<std::string> out{command_line(experiment.data, "DATA_SEED")};
  std::set<std::string> methods;
  for (const Cell& cell : experiment.cells)
    if (methods.insert(cell.fit.method).second)
      out.push_back(fmt::format("{} --seed FIT_SEED   ({})", command_line(cell.fit), cell.name));
  out.push_back(fmt::format("{}/{}.csv has the command of every cell and the seeds of every fit",
                            settings.directory(), experiment.name));
  return out;
}

}  // namespace mlo::experiments
