// Copyright (c) the mlo authors. BSD-3-Clause.
// The paper's tables and figures, one function each.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "experiments/result.hpp"
#include "experiments/settings.hpp"

namespace mlo::experiments {

[[nodiscard]] Result table1(const Settings& settings, const Watcher& watcher);
[[nodiscard]] Result table2(const Settings& settings, const Watcher& watcher);
[[nodiscard]] Result table3(const Settings& settings, const Watcher& watcher);
[[nodiscard]] Result table4(const Settings& settings, const Watcher& watcher);
[[nodiscard]] Result table5(const Settings& settings, const Watcher& watcher);  // DataError without data
[[nodiscard]] Result figure1(const Settings& settings, const Watcher& watcher);
[[nodiscard]] Result figure2(const Settings& settings, const Watcher& watcher);

struct Target {
  std::string_view name;
  Result (*run)(const Settings&, const Watcher&);
};
// In the order in which `all` makes them: the long ones last.
[[nodiscard]] std::span<const Target> targets();

// Where to get Covertype, and how to turn it into the file that Table 5 reads.
[[nodiscard]] std::string covertype_source();

// Writes OUT/NAME-table.csv, OUT/NAME.json and the pictures. Throws DataError.
void write(const Result& result, const Settings& settings);

}  // namespace mlo::experiments
