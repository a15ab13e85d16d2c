// Copyright (c) the mlo authors. BSD-3-Clause.
// A run as one HTML file: the verdict, the figures and the pictures. It needs no network.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mlo/chain/draws.hpp"
#include "mlo/report/facts.hpp"
#include "mlo/report/run_summary.hpp"

namespace mlo {

struct ReportInput {
  RunSummary summary{};                    // its words as the front end writes them
  std::span<const ChainDraws> chains{};    // must outlive the call
  RunFacts facts{};                        // parts that are empty are left out of the page
  std::span<const GroupEffect> effects{};  // must outlive the call; may be empty
  std::string command{};  // what makes the same draws again; for the command line or for Python
  // How to make more of the run: "mlo predict run1 new.csv". May be empty.
  std::string predict_command{};
  std::vector<std::pair<std::string, std::string>>
      record{};           // label and text: seed, version, fingerprint, ...
  std::string version{};  // of mlo
};

// Draws that are shown one by one are thinned if they would make the page larger than about 3 MB, and the
// page says so; figures, densities and ranks are of all draws. Throws nothing of its own.
[[nodiscard]] std::string html_report(const ReportInput& input);

// The first lines of the page, also for front ends that show them elsewhere.
struct ReportVerdict {
  enum class Level { good, care, bad };
  Level level = Level::bad;
  std::string headline{};
  std::vector<std::string> sentences{};  // what the run is, whether it is exact, whether it converged
  std::vector<std::string> next{};       // what to do
};
[[nodiscard]] ReportVerdict report_verdict(const ReportInput& input);

// Whether the library that draws in the page is part of this build.
[[nodiscard]] bool report_is_interactive() noexcept;

}  // namespace mlo
