// Copyright (c) the mlo authors. BSD-3-Clause.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <set>

#include "cli/command.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/fit/runs.hpp"
#include "mlo/report/run_summary.hpp"
#include "mlo/report/text_table.hpp"

namespace mlo::cli {
namespace {

struct Command {
  std::string run;
  bool json = false, csv = false, all = false;
  std::vector<std::string> groups;  // names; of all groups, if there is none
};

// Effects of one kind, largest first: the top and the bottom of them, unless all are wanted.
std::string effects_table(std::vector<GroupEffect> effects, bool all) {
  constexpr std::size_t shown = 10;
  std::sort(effects.begin(), effects.end(),
            [](const GroupEffect& a, const GroupEffect& b) { return a.mean > b.mean; });
  std::vector<std::vector<std::string>> rows{{"level", "mean", "sd", "q5", "q95", "rhat"}};
  for (std::size_t i = 0; i < effects.size(); ++i) {
    if (!all && effects.size() > 2 * shown && i == shown) {
      rows.push_back({fmt::format("... {} more", effects.size() - 2 * shown), "", "", "", "", ""});
      i = effects.size() - shown;
    }
    const GroupEffect& e = effects[i];
    rows.push_back({e.level, fmt::format("{:.4f}", e.mean), fmt::format("{:.3g}", e.sd),
                    fmt::format("{:.4f}", e.q5), fmt::format("{:.4f}", e.q95),
                    fmt::format("{:.3f}", e.rhat)});
  }
  return text_table(rows);
}

void print_groups(const Command& command) {
  const std::vector<GroupEffect> effects = read_group_effects(command.run);
  if (effects.empty())
    throw UsageError(fmt::format(
        "{}: this run has no group effects, or they were not kept (--save-groups no)", command.run));
  std::vector<std::string> names;
  for (const GroupEffect& e : effects)
    if (names.empty() || names.back() != e.group) names.push_back(e.group);
  for (const std::string& wanted : command.groups)
    if (std::find(names.begin(), names.end(), wanted) == names.end())
      throw UsageError(fmt::format("--groups: there is no grouping \"{}\"; there are {}", wanted,
                                   fmt::join(std::set<std::string>(names.begin(), names.end()), ", ")));
  std::string csv = "group,level,effect,mean,sd,q5,q95,rhat\n";
  std::vector<std::pair<std::string, std::string>> kinds;
  for (const GroupEffect& e : effects) {
    const std::pair<std::string, std::string> kind{e.group, e.effect};
    const bool wanted = command.groups.empty() || std::find(command.groups.begin(), command.groups.end(),
                                                            e.group) != command.groups.end();
    if (!wanted) continue;
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
    if (command.csv)
      csv += fmt::format("{},{},{},{},{},{},{},{}\n", csv_cell(e.group), csv_cell(e.level),
                         csv_cell(e.effect), e.mean, e.sd, e.q5, e.q95, e.rhat);
  }
  if (command.csv) {
    print(csv);
    return;
  }
  std::string out;
  for (const auto& [group, effect] : kinds) {
    std::vector<GroupEffect> some;
    for (const GroupEffect& e : effects)
      if (e.group == group && e.effect == effect) some.push_back(e);
    out += fmt::format("{}{}, {}: {} levels, largest first\n\n", out.empty() ? "" : "\n", group, effect,
                       some.size());
    out += effects_table(std::move(some), command.all);
  }
  print(out);
}

}  // namespace

void add_summary(CLI::App& app) {
  auto command = std::make_shared<Command>();
  CLI::App* c = app.add_subcommand("summary", "Show the summary of a run again");
  c->add_option("RUN", command->run, "Run directory, as given to mlo fit --out")->required();
  CLI::Option* json = c->add_flag("--json", command->json, "As JSON");
  c->add_flag("--csv", command->csv, "As CSV")->excludes(json);
  CLI::Option* groups =
      c->add_option("--groups", command->groups,
                    "Show the effects of the levels of these groupings, largest first; of all groupings if "
                    "none is named")
          ->expected(0, 100)
          ->excludes(json);
  c->add_flag("--all", command->all, "With --groups: all levels, not the first and last ten")->needs(groups);
  c->footer("Example:\n  mlo summary run1\n  mlo summary run1 --groups origin");
  c->callback([command, groups] {
    if (groups->count() > 0) {
      std::erase(command->groups, "");  // --groups without a name
      print_groups(*command);
      return;
    }
    const RunSummary summary = on_command_line(read_summary(command->run));
    print(command->json ? as_json(summary) : command->csv ? as_csv(summary.parameters) : as_table(summary));
  });
}

}  // namespace mlo::cli
