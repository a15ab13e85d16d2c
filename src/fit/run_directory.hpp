// Copyright (c) the mlo authors. BSD-3-Clause.
// The directory a run is kept in: run.json, summary.csv, draws-K.csv, statistics.csv, draws.nc if it is asked
// for, and checkpoint-K while it runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mlo/base/files.hpp"
#include "mlo/base/json.hpp"
#include "mlo/chain/run.hpp"
#include "mlo/fit/fit.hpp"
#include "mlo/method/options.hpp"

namespace mlo {

class RunDirectory {
 public:
  // For the option `out` of a fit, which runs and may be resumed, or to save a fit that is complete.
  enum class Purpose { fit, save };
  // Makes the directory, which must not exist or be empty. Throws DataError. If nothing is written to it, it
  // is removed with the last copy of the object.
  [[nodiscard]] static RunDirectory create(const std::string& path, Purpose purpose = Purpose::fit);
  // Opens a directory that create() made. Throws DataError.
  [[nodiscard]] static RunDirectory open(const std::string& path);

  [[nodiscard]] FitOptions options() const;  // of the run, from run.json
  [[nodiscard]] std::string status() const;  // "running", "interrupted" or "finished"
  [[nodiscard]] std::string summary_json() const;
  [[nodiscard]] std::uint64_t fingerprint() const;
  [[nodiscard]] std::string version() const;  // of mlo, that the run was made by
  [[nodiscard]] std::string simd() const;
  [[nodiscard]] RunFacts facts(std::size_t parameters) const;
  [[nodiscard]] std::string report_file() const { return file("report.html"); }
  [[nodiscard]] std::vector<UsedColumn> columns() const;
  [[nodiscard]] Recipe recipe() const;

  // Before sampling: the options in force, so that the run can be resumed whatever happens.
  void begin(const FitOptions& options, std::uint64_t fingerprint) const;
  [[nodiscard]] CheckpointOptions checkpoints(std::uint64_t key) const;
  [[nodiscard]] std::vector<ChainRecord> read_checkpoints(std::size_t chains, std::uint64_t key) const;
  // After sampling: draws, then the summary, then run.json; the checkpoints are removed if all draws were
  // made.
  void finish(const FitOptions& options, std::uint64_t fingerprint, const FitResult& result) const;

 private:
  explicit RunDirectory(std::string path) : path_(std::move(path)) {}
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] std::string checkpoint_file(std::size_t chain) const;
  void write_run_json(const FitOptions& options, std::uint64_t fingerprint, const std::string& status,
                      const FitResult* result) const;
  // run.json, read when it is first needed: with a million groups it has 20 MB.
  [[nodiscard]] const Json& run_json() const;
  [[nodiscard]] const Json& member(const char* name) const;  // throws DataError
  template <class T>
  [[nodiscard]] T field(const char* name) const;
  std::string path_;
  std::shared_ptr<const ResultDirectory> place_;  // made by create()
  mutable std::shared_ptr<const Json> json_;
};

// Identifies a run's draws: the options that decide them, the data, the version and the instruction set.
[[nodiscard]] std::uint64_t run_key(const FitOptions& options, std::uint64_t fingerprint);

}  // namespace mlo
