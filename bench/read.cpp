// Copyright (c) the mlo authors. BSD-3-Clause.
// bench_read FILE [THREADS]: reads all columns, or those named after them, and prints the seconds, the
// seconds of all threads together, and the rows. bench/read compares it with other readers.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <string>
#include <vector>

#include "mlo/base/timer.hpp"
#include "mlo/data/reader.hpp"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  try {
    const mlo::Timer timer;
    const auto reader =
        mlo::open_reader({argv[1]}, {.threads = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 0});
    std::vector<std::string> wanted(argv + std::min(argc, 3), argv + argc);
    if (wanted.empty()) wanted = reader->header();
    const mlo::Table table = reader->read(wanted);
    const double seconds = timer.seconds();
    fmt::print("{:.4f} {:.4f} {}\n", seconds, static_cast<double>(std::clock()) / CLOCKS_PER_SEC, table.rows);
  } catch (const std::exception& e) {
    fmt::print(stderr, "bench_read: {}\n", e.what());
    return 3;
  }
}
