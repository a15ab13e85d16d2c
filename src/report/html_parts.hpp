// Copyright (c) the mlo authors. BSD-3-Clause.
// The parts of a report, each as HTML; empty if there is nothing to show.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mlo/report/html.hpp"
#include "mlo/report/plots.hpp"

namespace mlo::html {

struct Section {
  std::string id, link, title, body;  // link: the title in one or two words
};

[[nodiscard]] PosteriorView view_of(const ReportInput& input);

// A picture in the page, with its caption.
[[nodiscard]] std::string figure(const Sheet& sheet, const std::string& caption);
// A number with about four significant digits; an en dash if it is not defined.
[[nodiscard]] std::string shown(double value);

[[nodiscard]] Section coefficient_table(const ReportInput& input);
[[nodiscard]] Section forest(const ReportInput& input);
[[nodiscard]] Section parameters(const ReportInput& input);
[[nodiscard]] Section pairs(const ReportInput& input);
[[nodiscard]] Section predictive(const ReportInput& input);
[[nodiscard]] Section holdout(const ReportInput& input);
[[nodiscard]] Section factors(const ReportInput& input);
[[nodiscard]] Section groups(const ReportInput& input);
[[nodiscard]] Section cost(const ReportInput& input);
[[nodiscard]] Section record(const ReportInput& input);

// What report.js draws, as JSON that is safe inside a script element.
[[nodiscard]] std::string script_data(const ReportInput& input);

// Every `stride`-th draw is in script_data().
[[nodiscard]] std::size_t draw_stride(const ReportInput& input);

[[nodiscard]] std::string base64(std::span<const unsigned char> bytes);

}  // namespace mlo::html
