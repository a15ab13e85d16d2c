// Copyright (c) the mlo authors. BSD-3-Clause.
// What this program is and what it finds on the machine: the first thing to look at, and to put into a report
// of a defect.
#include <fmt/format.h>
#include <sched.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <thread>

#include "cli/command.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/base/special.hpp"
#include "mlo/data/duckdb.hpp"
#include "mlo/fit/fit.hpp"
#include "mlo/report/html.hpp"
#include "mlo/report/netcdf.hpp"

namespace mlo::cli {
namespace {

std::string compiler_words() {
#if defined(__clang__)
  const std::string name =
      fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  const std::string name = fmt::format("g++ {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
#ifdef NDEBUG
  return name;
#else
  return fmt::format("{}, with asserts", name);
#endif
}

std::string thread_words() {
  const unsigned all = std::thread::hardware_concurrency();
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return fmt::format("{}", all);
  const auto usable = static_cast<unsigned>(CPU_COUNT(&allowed));
  return usable == all ? fmt::format("{}", all)
                       : fmt::format("{}, of which this program may use {}", all, usable);
}

// What Python's first line says; empty if there is no such Python, or the module is not there. The working
// directory is left out of the search: a folder called mlo in it is not the module.
std::string python_module() {
  constexpr const char* command =
      "python3 -c \"import sys; sys.path = [p for p in sys.path if p]; import mlo; "
      "print(mlo.__version__, 'in', mlo.__file__)\" 2>/dev/null";
  std::FILE* const pipe = ::popen(command, "r");
  if (pipe == nullptr) return {};
  std::string out;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) out += static_cast<char>(c);
  const bool good = ::pclose(pipe) == 0;
  return good ? out.substr(0, out.find('\n')) : std::string();
}

// What is found, or in the words of the error why it is not, and how to get it.
template <class Find>
std::string found_or_why(const Find& find) {
  try {
    return find();
  } catch (const DataError& e) {
    return fmt::format("not found. {}", e.what());
  }
}

void run_doctor() {
  std::string text;
  const auto line = [&](const char* what, const std::string& found) {
    text += fmt::format("{:<10} {}\n", what, found);
  };
  const std::string from = commit();
  line("mlo", from.empty() ? std::string(version()) : fmt::format("{}, commit {}", version(), from));
  line("compiler", compiler_words());
  line("SIMD", simd_target());
  line("threads", thread_words());
  line("DuckDB",
       found_or_why([] { return fmt::format("{}: reads Parquet, JSON and SQL", duckdb_library()); }));
  line("netCDF", found_or_why([] { return fmt::format("{}: writes draws.nc", netcdf_library()); }));
  const std::string module = python_module();
  line("Python", module.empty() ? "module mlo not found by python3" : fmt::format("module mlo {}", module));
  line("report", report_is_interactive()
                     ? "plots can be zoomed"
                     : "plots are fixed: the plotting library was absent when mlo was built");
  print(text);
}

}  // namespace

void add_doctor(CLI::App& app) {
  CLI::App* c = app.add_subcommand("doctor", "What this program is, and what it finds on the machine");
  c->footer("Example:\n  mlo doctor");
  c->callback([] { run_doctor(); });
}

}  // namespace mlo::cli
