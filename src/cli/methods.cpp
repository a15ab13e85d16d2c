// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/method/methods.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/command.hpp"
#include "mlo/model/family.hpp"
#include "mlo/report/run_summary.hpp"

namespace mlo::cli {

void add_methods(CLI::App& app) {
  CLI::App* c = app.add_subcommand("methods", "What each method promises and costs, and the families");
  c->footer("Example:\n  mlo methods");
  c->callback([] {
    std::string text = "Methods (mlo fit --method NAME)\n";
    for (const MethodSpec& m : methods())
      text += fmt::format(
          "\n{}\n  {}\n  promise     {}\n  rows/step   {}\n  needs       {}\n  intervals   {}\n  source      "
          "{}\n",
          m.name, m.summary, promise_name(m.promise), m.reads, needs_of(m), m.trust, m.source);
    text +=
        "\nexact: the draws come from the posterior. bounded error, approximate: they do not; the summary then "
        "shows the noise\n"
        "in the acceptance ratio, and the spread of the Laplace fit beside that of the draws.\n\n"
        "Families (mlo fit --family NAME)\n\n";
    for (const FamilySpec* f : families())
      text += fmt::format("  {:<20} response: {}\n  {:<20} parameters: {}\n", f->name, f->response, "",
                          f->parameters);
    print(on_command_line(text));
  });
}

}  // namespace mlo::cli
