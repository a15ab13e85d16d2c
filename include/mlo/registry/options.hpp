// Copyright (c) the mlo authors. BSD-3-Clause.
// Everything a fit can be told. Fields are as the user gave them; an empty optional means "choose for me".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mlo/kernel/kernel.hpp"

namespace mlo {

struct FitOptions {
  std::string data;
  std::string formula;
  std::string family = "logistic";
  std::string method = "auto";

  std::optional<std::string> prior;  // of all coefficients
  std::optional<std::string> prior_intercept;
  std::vector<std::pair<std::string, std::string>> prior_for;  // name, prior
  std::optional<double> known_sigma;                           // gaussian-mean; student (empty: estimated)
  std::optional<double> known_mean;                            // gaussian-precision
  std::optional<double> freedom;                               // student; empty: 4
  std::optional<double> size;                                  // negative-binomial; empty: estimated
  std::string scale = "none";
  std::string missing = "drop";

  std::optional<std::int64_t> subsample_size;
  std::optional<std::int64_t> max_subsample_size;
  std::optional<double> delta;
  std::optional<std::string> weights;
  std::optional<std::string> weights_at;
  std::optional<double> uniform_share;
  std::optional<std::string> replacement;
  std::optional<std::string> estimator;
  std::optional<double> noise_sd;           // difference, penalty: aimed at
  std::optional<std::string> bound;         // confidence
  std::optional<std::int64_t> blocks;       // block
  std::optional<std::int64_t> shards;       // consensus, weierstrass
  std::optional<double> bandwidth;          // weierstrass
  std::optional<std::string> thinning;      // exact
  std::optional<std::int64_t> order;        // exact
  bool audit = false;                       // exact
  std::optional<std::int64_t> audit_every;  // steps

  std::optional<std::string> proposal;
  std::optional<double> proposal_scale;
  std::optional<std::string> proposal_shape;
  std::string start = "laplace";

  std::int64_t chains = 4;
  std::int64_t warmup = 1000;
  std::int64_t draws = 1000;
  std::optional<std::int64_t> thin;  // empty: default_thin
  std::optional<std::uint64_t> seed;
  std::int64_t threads = 0;  // 0: as many as the machine has

  std::string out;  // run directory; empty: nothing is written
  bool resume = false;
};

struct FamilyEntry {
  std::string_view name, response, parameters;
};
struct MethodEntry {
  std::string_view name;
  Promise promise;
  std::string_view summary;  // one line
  std::string_view reads;    // rows a step
  std::string_view needs;
  std::string_view trust;  // what its intervals are worth
  std::string_view source;
};
[[nodiscard]] std::span<const FamilyEntry> families();
[[nodiscard]] std::span<const MethodEntry> methods();

// The values an option takes, for messages and help: "none, sd, standard".
[[nodiscard]] std::string family_names();
[[nodiscard]] std::string method_names();

// Throws UsageError for whatever is wrong no matter what the data are, and for an option that has no meaning
// with the chosen method, family or proposal.
void check(const FitOptions& options);

// Steps per draw where nobody says: 1, but up to 10 for the methods that leave the posterior as it is, where
// the rows are so few that more steps cost nothing that anybody notices. The same on every machine.
[[nodiscard]] std::int64_t default_thin(const FitOptions& options, std::size_t rows);

// Throws UsageError unless there is such a method.
void check_method_name(const std::string& method);

// Sets the option of that name (as on the command line, without dashes). Throws UsageError: no such option,
// or no value of it.
void set_option(FitOptions& options, const std::string& name, const std::string& value);

// JSON of the options that decide the draws (not threads, out or resume), and back.
[[nodiscard]] std::string options_to_json(const FitOptions& options);
[[nodiscard]] FitOptions options_from_json(const std::string& json, const std::string& file);

}  // namespace mlo
