// Copyright (c) the mlo authors. BSD-3-Clause.
// Tables and paragraphs for a terminal.
#pragma once

#include <string>
#include <vector>

namespace mlo {

// Rows of cells, the first column flush left, the others flush right, two spaces apart.
[[nodiscard]] std::string text_table(const std::vector<std::vector<std::string>>& rows);

// Long sentences for a terminal: the first line begins at column `start`, the others at `indent`.
[[nodiscard]] std::string wrapped(const std::string& text, std::size_t start, std::size_t indent);

// A cell of a CSV file, quoted where it must be; or always.
[[nodiscard]] std::string csv_cell(const std::string& text);
[[nodiscard]] std::string csv_quoted(const std::string& text);

}  // namespace mlo
