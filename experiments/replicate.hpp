// Copyright (c) the mlo authors. BSD-3-Clause.
// B replications of an experiment: data are simulated, and several fits are made to the same data. Every
// replication is saved as it finishes, so that an interrupted experiment can be continued.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/settings.hpp"
#include "mlo/fit/simulate.hpp"
#include "mlo/method/options.hpp"

namespace mlo::experiments {

struct Cell {
  std::string name;  // without commas: it is a cell of a CSV file
  FitOptions fit;    // chains 1; replicate() sets seed and threads
};

struct Experiment {
  std::string name;                     // of the file, OUT/NAME.csv
  SimulateOptions data;                 // replicate() sets the seed
  std::vector<std::string> parameters;  // as the fits name them
  std::vector<double> truth;            // one per parameter
  std::vector<Cell> cells;
};

// What is kept from a fit.
struct Fitted {
  std::vector<double> mean, sd;  // of the draws, one per parameter
  double rows_per_step = 0, median_rows_per_step = 0, acceptance = 0;
};

class Replications {
 public:
  Replications(const Experiment& experiment, std::vector<std::map<std::string, Fitted>> fits)
      : experiment_(experiment), fits_(std::move(fits)) {}

  [[nodiscard]] std::size_t size() const { return fits_.size(); }
  // A cell's posterior means of a parameter, one per replication.
  [[nodiscard]] std::vector<double> estimates(const std::string& cell, std::size_t parameter = 0) const;
  // How much wider this cell's draws are than another's: the ratio of their mean sds over the replications.
  [[nodiscard]] double spread(const std::string& cell, const std::string& reference,
                              std::size_t parameter = 0) const;
  // The mean over the replications of a member of Fitted.
  [[nodiscard]] double average(const std::string& cell, double Fitted::*member) const;
  [[nodiscard]] const Experiment& experiment() const { return experiment_; }

 private:
  Experiment experiment_;
  std::vector<std::map<std::string, Fitted>> fits_;
};

// Seeds depend only on these names and numbers, not on threads, other cells or B. They are below 2^53, so
// that every reader of JSON and CSV keeps them exactly.
[[nodiscard]] std::uint64_t seed_of(std::uint64_t seed, std::string_view experiment, std::size_t replication,
                                    std::string_view use);

// Makes the replications that OUT/NAME.csv does not have yet. Throws UsageError if that file was made with
// other settings, Interrupted (finished replications are kept), and whatever a fit throws.
[[nodiscard]] Replications replicate(const Experiment& experiment, const Settings& settings,
                                     const Watcher& watcher);

// The commands that make the data and the first cell of each method, for readers who want to repeat them.
[[nodiscard]] std::vector<std::string> commands(const Experiment& experiment, const Settings& settings);

}  // namespace mlo::experiments
