// Copyright (c) the mlo authors. BSD-3-Clause.
// The files of src/report/web and of uPlot, embedded by cmake/embed.cmake.
#pragma once

#include <string_view>

namespace mlo::html {

struct WebFile {
  std::string_view text;    // empty: it was not there when mlo was built
  std::string_view sha256;  // of the text, as hexadecimal digits
};

extern const WebFile report_page, report_style, report_script;
extern const WebFile uplot_style, uplot_script, uplot_licence;

}  // namespace mlo::html
