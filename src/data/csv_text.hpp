// Copyright (c) the mlo authors. BSD-3-Clause.
// Cells as text: in the file, in the header and in messages.
#pragma once

#include <string>
#include <string_view>

namespace mlo::csv {

// A cell or name in quotes, ready for a message: shortened to 40 bytes, with control characters, quotes and
// invalid UTF-8 escaped.
[[nodiscard]] std::string quoted(std::string_view text);

// The contents of a quoted cell: each doubled quote becomes one.
[[nodiscard]] std::string undouble_quotes(std::string_view inside);

[[nodiscard]] std::string_view trim(std::string_view text) noexcept;  // of spaces and tabs

[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

}  // namespace mlo::csv
