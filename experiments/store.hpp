// Copyright (c) the mlo authors. BSD-3-Clause.
// An experiment's replications on disk, OUT/NAME.csv: comment lines with the commands of all cells, then one
// line per replication, cell and parameter.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "experiments/replicate.hpp"

namespace mlo::experiments {

struct StoredFit {
  std::uint64_t data_seed = 0, fit_seed = 0;
  Fitted fitted;
};

class Store {
 public:
  // Makes the directory and the file, or reads the replications that are complete; one that a crash cut short
  // is left out. Throws UsageError if the file was made with other settings, DataError if it cannot be read
  // or written.
  Store(const Experiment& experiment, const Settings& settings);

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] bool has(std::size_t replication) const { return kept_.contains(replication); }
  [[nodiscard]] const std::map<std::string, StoredFit>& at(std::size_t replication) const {
    return kept_.at(replication);
  }

  // Appends to the file at once.
  void add(std::size_t replication, std::map<std::string, StoredFit> fits);
  // Rewrites the file in order, so that its bytes do not depend on threads or interruptions.
  void finish() const;

 private:
  [[nodiscard]] std::string lines(std::size_t replication) const;
  [[nodiscard]] std::string text() const;
  void read(const std::string& contents);

  Experiment experiment_;
  std::string file_, header_;
  std::map<std::size_t, std::map<std::string, StoredFit>> kept_;
};

// Makes OUT. Throws DataError.
void make_directory(const std::string& path);

}  // namespace mlo::experiments
