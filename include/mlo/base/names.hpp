// Copyright (c) the mlo authors. BSD-3-Clause.
// Names that a user may have meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mlo {

// The one of `names` that is nearest to `name`, the first of equals, or "" if none is near: "Elevaton" may
// mean "Elevation", but "x1" does not mean "x2". Case does not count.
[[nodiscard]] std::string nearest_name(std::string_view name, std::span<const std::string> names);

// "; did you mean NEAREST?", the end of a message, or "".
[[nodiscard]] std::string did_you_mean(std::string_view name, std::span<const std::string> names);

// "did you mean NEAREST?", or else "there are A, B, C", of many names the first twenty and how many there
// are.
[[nodiscard]] std::string names_instead(std::string_view name, std::span<const std::string> names);

}  // namespace mlo
