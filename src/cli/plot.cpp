// Copyright (c) the mlo authors. BSD-3-Clause.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <memory>
#include <numeric>
#include <span>

#include "cli/checks.hpp"
#include "cli/command.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/base/files.hpp"
#include "mlo/base/names.hpp"
#include "mlo/fit/runs.hpp"
#include "mlo/report/plots.hpp"
#include "mlo/report/png.hpp"

namespace mlo::cli {
namespace {

struct PlotCommand {
  std::string run, out;
  std::string kind = "forest";
  std::string parameters;
  bool quiet = false;
};

// "a,b,poly(x, 2)1": commas inside brackets or backquotes belong to a name.
std::vector<std::string> names_in(const std::string& list) {
  std::vector<std::string> out(1);
  int depth = 0;
  bool quoted = false;
  for (const char c : list) {
    if (c == '`') quoted = !quoted;
    if (!quoted && (c == '(' || c == '[')) ++depth;
    if (!quoted && (c == ')' || c == ']')) --depth;
    if (c == ',' && depth <= 0 && !quoted) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  for (std::string& name : out) {
    while (!name.empty() && name.front() == ' ') name.erase(name.begin());
    while (!name.empty() && name.back() == ' ') name.pop_back();
  }
  return out;
}

// How many are drawn if none are named: a sheet that can still be read.
std::size_t usual_count(PlotKind kind) {
  switch (kind) {
    case PlotKind::forest:
      return 60;
    case PlotKind::density:
    case PlotKind::rank:
      return 12;
    case PlotKind::trace:
      return 8;
    case PlotKind::pairs:
      break;
  }
  return 4000;
}

std::vector<std::size_t> chosen_parameters(const PlotCommand& command, PlotKind kind, const KeptRun& run) {
  std::vector<std::size_t> out;
  if (command.parameters.empty()) {
    out.resize(std::min(usual_count(kind), run.names.size()));
    std::iota(out.begin(), out.end(), std::size_t{0});
    if (out.size() < run.names.size() && !command.quiet)
      fmt::print(stderr, "mlo plot: the first {} of {} parameters; name others with --parameters\n",
                 out.size(), run.names.size());
    return out;
  }
  for (const std::string& name : names_in(command.parameters)) {
    const auto at = std::find(run.names.begin(), run.names.end(), name);
    if (at == run.names.end()) {
      const std::string near = nearest_name(name, run.names);
      const std::span<const std::string> first(run.names.data(), std::min<std::size_t>(20, run.names.size()));
      throw UsageError(fmt::format("`parameters`: the run has no parameter \"{}\"; {}", name,
                                   near.empty() ? fmt::format("it has {}{}", fmt::join(first, ", "),
                                                              run.names.size() > 20 ? ", ..." : "")
                                                : fmt::format("did you mean {}?", near)));
    }
    out.push_back(static_cast<std::size_t>(at - run.names.begin()));
  }
  return out;
}

bool ends_with(std::string text, std::string_view ending) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char ch) { return std::tolower(ch); });
  return text.ends_with(ending);
}

void draw(const PlotCommand& command) {
  const std::optional<PlotKind> kind = plot_kind(command.kind);
  if (!kind)
    throw UsageError(fmt::format("`kind` must be one of {} (got \"{}\")", plot_kind_names, command.kind));
  const bool png = ends_with(command.out, ".png");
  if (!png && !ends_with(command.out, ".svg"))
    throw UsageError(fmt::format("`out`: the name must end with .svg or .png (got \"{}\")", command.out));
  if (const std::string why = png ? why_no_png() : ""; !why.empty()) throw DataError(command.out, why);
  const KeptRun run = read_run(command.run);
  const std::vector<std::size_t> parameters = chosen_parameters(command, *kind, run);
  if (*kind == PlotKind::pairs && parameters.size() < 2)
    throw UsageError("`kind pairs` needs two parameters at least");
  const PosteriorView view{.parameters = run.summary.parameters,
                           .chains = run.chains,
                           .facts = &run.facts,
                           .laplace_sd = run.summary.noise.laplace_sd};
  const std::string svg = as_svg(plot_sheet(*kind, view, parameters, file_palette()));
  write_file(command.out, png ? png_of_svg(svg) : svg);
}

}  // namespace

void add_plot(CLI::App& app) {
  auto command = std::make_shared<PlotCommand>();
  CLI::App* c =
      app.add_subcommand("plot", "Draw a run: forest, density, trace, rank or pairs, as SVG or PNG");
  c->add_option("RUN", command->run, "Run directory, as given to mlo fit --out")->required();
  c->add_option(
       "--kind", command->kind,
       "forest: means and intervals; density: with prior and Laplace fit; trace: draws in order; rank: do "
       "the chains agree; pairs: the most correlated")
      ->capture_default_str();
  c->add_option("--parameters", command->parameters,
                "Names, separated by commas, as in the summary. Default: all, or the first")
      ->check(not_empty())
      ->type_name("NAMES");
  c->add_option("-o,--out", command->out, "File to write, .svg or .png; an existing file is replaced")
      ->required()
      ->check(not_empty())
      ->type_name("FILE");
  c->add_flag("-q,--quiet", command->quiet, "No notes on stderr");
  c->footer(
      "Example:\n"
      "  mlo fit data.csv \"y ~ x1 + x2\" --seed 1 --out run1\n"
      "  mlo plot run1 --kind density --parameters x1,x2 --out densities.svg");
  c->callback([command] { draw(*command); });
}

}  // namespace mlo::cli
