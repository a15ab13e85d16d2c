// Copyright (c) the mlo authors. BSD-3-Clause.
#include "fit/group_rows.hpp"

namespace mlo {

static_assert(NewRows::new_group == GroupDraws::new_level);

std::vector<GroupLaw> laws_of(const Formula& formula, const Recipe& recipe) {
  std::vector<GroupLaw> out;
  for (std::size_t k = 0; k < recipe.groups.size(); ++k) {
    const GroupRecipe& group = recipe.groups[k];
    const GroupTerm& term = formula.groups.at(k);
    const std::size_t parts = group.levels.size(), dim = group.effects.size();
    out.push_back({.levels = parts == 1 ? group.levels[0].size() : group.cells.size() / parts,
                   .dim = dim,
                   .intercept = term.effects[0].factors.empty(),
                   .correlated = term.correlated && dim > 1});
  }
  return out;
}

std::vector<RowGroups> row_groups(const NewRows& rows, std::size_t count) {
  std::vector<RowGroups> out(rows.groups());
  for (std::size_t k = 0; k < out.size(); ++k) {
    out[k].codes.resize(count);
    out[k].keys.resize(count);
    out[k].z.resize(count * rows.multipliers(k));
  }
  return out;
}

std::vector<NewRows::GroupBlock> group_blocks(const NewRows& rows, std::vector<RowGroups>& groups,
                                              std::size_t first, std::size_t count) {
  std::vector<NewRows::GroupBlock> out;
  for (std::size_t k = 0; k < groups.size(); ++k) {
    const std::size_t width = rows.multipliers(k);
    out.push_back({.codes = std::span(groups[k].codes).subspan(first, count),
                   .z = std::span(groups[k].z).subspan(first * width, count * width),
                   .keys = std::span(groups[k].keys).subspan(first, count)});
  }
  return out;
}

}  // namespace mlo
