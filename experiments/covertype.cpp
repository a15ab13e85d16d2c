// Copyright (c) the mlo authors. BSD-3-Clause.
// Table 5: the Covertype data. Three fits of one file, each in its own run directory, from which an
// interrupted fit is continued.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <mutex>
#include <optional>
#include <thread>

#include "experiments/command_line.hpp"
#include "experiments/fits.hpp"
#include "experiments/kept_run.hpp"
#include "experiments/reproduce.hpp"
#include "experiments/store.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/base/poller.hpp"
#include "mlo/base/thread_pool.hpp"
#include "mlo/fit/fit.hpp"

namespace mlo::experiments {
namespace {

struct Printed {
  double mean, sd, low, high;  // low, high: 95 % HPD interval
};
// theta_0 .. theta_10: the intercept, and the columns in the file's order.
constexpr std::array<Printed, 11> paper_mlo{{{-2.277, 1.020, -4.354, -0.477},
                                             {-0.525, 0.020, -0.564, -0.487},
                                             {-0.069, 0.022, -0.113, -0.027},
                                             {0.104, 0.041, 0.026, 0.181},
                                             {0.262, 0.024, 0.216, 0.309},
                                             {-0.051, 0.022, -0.097, -0.007},
                                             {0.126, 0.019, 0.089, 0.161},
                                             {0.572, 0.160, 0.304, 0.920},
                                             {0.018, 0.094, -0.192, 0.181},
                                             {0.547, 0.186, 0.232, 0.952},
                                             {0.285, 0.019, 0.246, 0.323}}};
constexpr std::array<Printed, 11> paper_uniform{{{-3.43, 1.129, -6.161, -1.478},
                                                 {-0.525, 0.025, -0.576, -0.476},
                                                 {-0.067, 0.030, -0.129, -0.011},
                                                 {0.144, 0.046, 0.056, 0.249},
                                                 {0.256, 0.027, 0.205, 0.309},
                                                 {-0.044, 0.026, -0.095, 0.004},
                                                 {0.124, 0.017, 0.091, 0.156},
                                                 {0.769, 0.157, 0.471, 1.136},
                                                 {-0.101, 0.090, -0.310, 0.079},
                                                 {0.779, 0.183, 0.472, 1.242},
                                                 {0.290, 0.023, 0.245, 0.336}}};

constexpr std::string_view quantitative =
    "Elevation + Aspect + Slope + Horizontal_Distance_To_Hydrology + Vertical_Distance_To_Hydrology + "
    "Horizontal_Distance_To_Roadways + Hillshade_9am + Hillshade_Noon + Hillshade_3pm + "
    "Horizontal_Distance_To_Fire_Points";

struct Fits {
  FitOptions exact, adaptive, uniform;
};

Fits fits_of(const Settings& settings) {
  const Iterations iterations = settings.quick ? Iterations{.all = 12'000, .burn_in = 4000, .thin = 20}
                                               : Iterations{.all = 500'000, .burn_in = 100'000, .thin = 20};
  // The paper does not state the prior; we take that of its logistic example.
  FitOptions base = base_fit("logistic", fmt::format("I(Cover_Type == 2) ~ {}", quantitative),
                             "normal(0, 3.1622776601683795)", iterations);
  base.prior_intercept = base.prior;
  base.data = {settings.data};
  base.scale = "sd";
  base.seed = settings.seed;
  Fits out{base, base, base};
  out.exact.method = "exact";
  out.exact.chains = 4;
  out.exact.warmup = 1000;
  out.exact.draws = 5000;
  out.exact.thin = 1;
  for (FitOptions* walk : {&out.adaptive, &out.uniform}) {
    walk->proposal = "random-walk";  // shaped like the Laplace fit: no one sd suits all eleven coefficients
    walk->proposal_scale = settings.proposal_scale_covertype;
    walk->start = settings.start;
  }
  out.adaptive.method = "mlo-adaptive";
  out.adaptive.subsample_size = 1000;
  out.adaptive.max_subsample_size = 20'000;
  out.adaptive.delta = settings.delta_covertype;
  out.uniform.method = "uniform";
  out.uniform.subsample_size = 15'000;
  out.exact.out = settings.directory() + "/table5-exact";
  out.adaptive.out = settings.directory() + "/table5-adaptive";
  out.uniform.out = settings.directory() + "/table5-uniform";
  return out;
}

// Progress is the steps of both chains together.
class Steps {
 public:
  Steps(double all, const Watcher& watcher) : all_(all), watcher_(watcher) {
    if (!watcher.progress) return;
    show();
    poller_.emplace(std::chrono::milliseconds(100), [this] { show(); });
  }
  ~Steps() {
    if (!poller_) return;
    poller_.reset();
    show();
  }
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  void finished(double steps) {
    const std::lock_guard lock(mutex_);
    done_ += steps;
  }
  // Of one chain. A resumed chain counts steps from where it resumes.
  [[nodiscard]] FitWatcher watch(const RunControl*& control, double steps) {
    FitWatcher w;
    w.interrupt = watcher_.interrupt;
    w.sampling = [this, &control](const RunControl& running, const ChainOptions&) {
      const std::lock_guard lock(mutex_);
      control = &running;
      running_.push_back(&running);
    };
    w.sampled = [this, &control, steps] {
      const std::lock_guard lock(mutex_);
      std::erase(running_, control);
      done_ += steps;
    };
    return w;
  }

 private:
  void show() {
    const std::lock_guard lock(mutex_);
    double now = done_;
    for (const RunControl* control : running_) now += static_cast<double>(control->chains[0].steps.load());
    watcher_.progress("table5", now, all_);
  }

  double all_, done_ = 0;
  const Watcher& watcher_;
  std::mutex mutex_;
  std::vector<const RunControl*> running_;
  std::optional<Poller> poller_;  // the last member: it uses the others
};

NumberTable table_of(const std::string& title, const RunSummary& found, const RunSummary& truth,
                     const std::array<Printed, 11>* printed) {
  NumberTable table{title, {"mean", "sd", "HPD low", "HPD high"}, {}};
  if (printed != nullptr) table.columns.insert(table.columns.end(), {"true sd", "sd / true sd"});
  for (std::size_t j = 0; j < found.parameters.size(); ++j) {
    const ParameterSummary& p = found.parameters[j];
    NumberRow row{fmt::format("theta_{} {}", j, p.name), {}};
    const auto add = [&](double ours, double Printed::*member) {
      Number number(ours);
      if (printed != nullptr) number.paper = (*printed)[j].*member;
      row.cells.emplace_back(number);
    };
    add(p.mean, &Printed::mean);
    row.cells.back()->se = p.mcse_mean;
    add(p.sd, &Printed::sd);
    add(p.hpd_low, &Printed::low);
    add(p.hpd_high, &Printed::high);
    if (printed != nullptr) {
      const double true_sd = truth.parameters[j].sd;
      row.cells.emplace_back(Number(true_sd));
      Number ratio(p.sd / true_sd);
      ratio.paper = (*printed)[j].sd / true_sd;
      row.cells.emplace_back(ratio);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

// "uniform has the larger sds": the parameter with the weakest evidence for this. The standard error of the
// log of an sd is 1 / sqrt(2 ESS) for draws that are about normal.
Claim smaller_sds(const RunSummary& mlo, const RunSummary& uniform) {
  double least = std::numeric_limits<double>::infinity();
  std::string name;
  for (std::size_t j = 0; j < mlo.parameters.size(); ++j) {
    const ParameterSummary &a = mlo.parameters[j], &b = uniform.parameters[j];
    const double z = std::log(b.sd / a.sd) / std::sqrt(0.5 / a.ess_bulk + 0.5 / b.ess_bulk);
    if (z < least) {
      least = z;
      name = a.name;
    }
  }
  return below(fmt::format("sd of adaptive MLO below uniform's for every parameter (least so: {})", name),
               least);
}

std::string range_of_ratios(const RunSummary& found, const RunSummary& truth) {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (std::size_t j = 0; j < found.parameters.size(); ++j) {
    const double ratio = found.parameters[j].sd / truth.parameters[j].sd;
    low = std::min(low, ratio);
    high = std::max(high, ratio);
  }
  return fmt::format("{:.1f} to {:.1f}", low, high);
}

}  // namespace

std::string covertype_source() {
  return "Covertype is data set 31 of the UCI repository, https://archive.ics.uci.edu/dataset/31/covertype: "
         "its "
         "file covtype.data.gz\nhas 581,012 rows and no header. Give it one, and then `data "
         "covertype.csv.gz`:\n"
         "  (echo \"Elevation,Aspect,Slope,Horizontal_Distance_To_Hydrology,Vertical_Distance_To_Hydrology,"
         "Horizontal_Distance_To_Roadways,Hillshade_9am,Hillshade_Noon,Hillshade_3pm,"
         "Horizontal_Distance_To_Fire_Points,$(printf 'b%d,' $(seq 44))Cover_Type\"; zcat covtype.data.gz) "
         "| gzip > covertype.csv.gz\n"
         "The response is class 2 (Cover_Type == 2); the ten quantitative columns are divided by their "
         "standard "
         "deviations,\nnot centred; there is an intercept.";
}

Result table5(const Settings& settings, const Watcher& watcher) {
  if (settings.data.empty()) throw DataError("table5 needs `data covertype.csv.gz`.\n" + covertype_source());
  make_directory(settings.directory());
  Fits fits = fits_of(settings);
  const std::int64_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::int64_t threads = settings.threads > 0 ? settings.threads : cores;
  fits.exact.threads = threads;
  fits.adaptive.threads = fits.uniform.threads = 1;

  FitWatcher quiet;
  quiet.interrupt = watcher.interrupt;
  const RunSummary exact = fit_or_continue(fits.exact, quiet);
  const std::array<const FitOptions*, 2> walks{&fits.adaptive, &fits.uniform};
  std::array<RunSummary, 2> found;
  {
    const auto steps = static_cast<double>(fits.adaptive.warmup.value_or(0) +
                                           fits.adaptive.draws * fits.adaptive.thin.value_or(1));
    Steps progress(2 * steps, watcher);
    std::array<const RunControl*, 2> controls{};
    ThreadPool pool(static_cast<std::size_t>(std::min<std::int64_t>(2, threads)));
    pool.run(2, [&](std::size_t k) {
      if (is_finished(*walks[k])) progress.finished(steps);
      found[k] = fit_or_continue(*walks[k], progress.watch(controls[k], steps));
    });
  }
  const auto& [adaptive, uniform] = found;

  Result result{.name = "table5", .title = "Covertype", .settings = {}};
  result.settings.push_back(fmt::format("--seed {}", settings.seed));
  for (const FitOptions* fit : {&fits.adaptive, &fits.uniform, &fits.exact})
    result.settings.push_back(command_line(*fit));
  const auto rows = [](const RunSummary& s) {
    return fmt::format("{:.0f} rows per step, acceptance {:.2f}, noise sd {:.0f}", s.method.rows_per_step,
                       s.method.acceptance, s.method.noise_sd);
  };
  result.tables.push_back(table_of("adaptive MLO: " + rows(adaptive), adaptive, exact, &paper_mlo));
  result.tables.push_back(table_of("uniform: " + rows(uniform), uniform, exact, &paper_uniform));
  result.tables.push_back(table_of("exact: the posterior", exact, exact, nullptr));
  result.claims.push_back(smaller_sds(adaptive, uniform));
  result.notes.push_back(fmt::format(
      "The draws of adaptive MLO are {} times as wide as the posterior, those of uniform {} times: means "
      "usable, intervals not.",
      range_of_ratios(adaptive, exact), range_of_ratios(uniform, exact)));
  if (settings.quick) result.notes.emplace_back("Chains this short show that the program runs, and no more.");
  return result;
}

}  // namespace mlo::experiments
