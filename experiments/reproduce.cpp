// Copyright (c) the mlo authors. BSD-3-Clause.
#include "experiments/reproduce.hpp"

#include <array>

#include "experiments/store.hpp"
#include "mlo/base/files.hpp"

namespace mlo::experiments {

std::span<const Target> targets() {
  static constexpr std::array<Target, 7> all{{{"table1", table1},
                                              {"table2", table2},
                                              {"table3", table3},
                                              {"figure1", figure1},
                                              {"figure2", figure2},
                                              {"table4", table4},
                                              {"table5", table5}}};
  return all;
}

void write(const Result& result, const Settings& settings) {
  make_directory(settings.directory());
  const std::string stem = settings.directory() + "/" + result.name;
  if (!result.tables.empty()) write_file(stem + "-table.csv", as_csv(result));
  write_file(stem + ".json", as_json(result));
  for (const Picture& picture : result.pictures)
    write_file(settings.directory() + "/" + picture.name + ".svg", picture.svg);
}

}  // namespace mlo::experiments
