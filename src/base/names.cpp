// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/base/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace mlo {
namespace {

char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Damerau-Levenshtein distance (adjacent transpositions), ignoring case.
std::size_t slips_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  const auto same = [&](std::size_t i, std::size_t j) { return lower_case(a[i]) == lower_case(b[j]); };
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same(i - 1, j - 1) ? 0 : 1)});
      if (i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view name, std::span<const std::string> names) {
  const std::string* nearest = nullptr;
  std::size_t least = name.size() / 3 + 1;  // one typing error per three characters
  for (const std::string& candidate : names) {
    // The distance is at least the difference in length: often that is enough, and no table has to be filled.
    const std::size_t longer =
        std::max(name.size(), candidate.size()) - std::min(name.size(), candidate.size());
    if (longer >= least) continue;
    const std::size_t d = slips_between(name, candidate);
    if (d < least) {
      least = d;
      nearest = &candidate;
    }
  }
  return nearest == nullptr ? std::string() : *nearest;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> names) {
  const std::string near = nearest_name(name, names);
  return near.empty() ? std::string() : fmt::format("; did you mean {}?", near);
}

std::string names_instead(std::string_view name, std::span<const std::string> names) {
  if (const std::string near = nearest_name(name, names); !near.empty())
    return fmt::format("did you mean {}?", near);
  constexpr std::size_t shown = 20;
  const std::string list =
      fmt::format("there are {}", fmt::join(names.first(std::min(shown, names.size())), ", "));
  return names.size() > shown ? fmt::format("{}, ... ({} in all)", list, names.size()) : list;
}

}  // namespace mlo
