// Copyright (c) the mlo authors. BSD-3-Clause.
// SVG as PNG, by librsvg, which is loaded when it is needed: it brings some forty libraries with it, and most
// runs draw nothing.
#pragma once

#include <string>

namespace mlo {

// `scale` pixels per unit of the drawing. Throws DataError: librsvg is not installed, or cannot draw it.
[[nodiscard]] std::string png_of_svg(const std::string& svg, double scale = 2);

// Why PNG files cannot be made here; empty if they can.
[[nodiscard]] std::string why_no_png();

}  // namespace mlo
