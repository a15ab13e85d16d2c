// Copyright (c) the mlo authors. BSD-3-Clause.
#include "fit/group_files.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string_view>

#include "mlo/base/errors.hpp"
#include "mlo/base/files.hpp"
#include "mlo/base/text.hpp"
#include "mlo/report/text_table.hpp"

namespace mlo {
namespace {

constexpr std::string_view header = "group,level,effect,mean,sd,q5,q95,rhat\n";

std::string groups_file(const std::string& directory) { return directory + "/groups.csv"; }
std::string effects_file(const std::string& directory, std::size_t chain) {
  return fmt::format("{}/effects-{}.npy", directory, chain + 1);
}

// The next cell of a record that write_groups wrote.
std::string take_cell(std::string_view& left) {
  std::string cell;
  if (!left.empty() && left[0] == '"') {
    std::size_t i = 1;
    for (; i < left.size(); ++i) {
      if (left[i] == '"') {
        if (i + 1 >= left.size() || left[i + 1] != '"') break;
        ++i;
      }
      cell += left[i];
    }
    left.remove_prefix(std::min(left.size(), i + 1));
  } else {
    const std::size_t end = std::min(left.find_first_of(",\n"), left.size());
    cell = left.substr(0, end);
    left.remove_prefix(end);
  }
  if (!left.empty()) left.remove_prefix(1);  // the comma, or the end of the line
  return cell;
}

// Version 1.0 of NumPy's format: a dictionary, filled up with blanks to a multiple of 64 bytes.
std::string npy_header(std::size_t rows, std::size_t columns) {
  std::string dictionary =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, columns);
  dictionary.append(63 - (10 + dictionary.size()) % 64, ' ');
  dictionary += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(dictionary.size() & 0xffU);
  out += static_cast<char>(dictionary.size() >> 8U);
  return out + dictionary;
}

}  // namespace

void write_groups(const std::string& directory, std::span<const GroupEffect> effects,
                  std::span<const ChainDraws> chains) {
  if (effects.empty()) return;
  std::string text(header);
  for (const GroupEffect& e : effects)
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{}\n", csv_cell(e.group),
                   csv_cell(e.level), csv_cell(e.effect), e.mean, e.sd, e.q5, e.q95, e.rhat);
  write_file(groups_file(directory), text);
  for (std::size_t chain = 0; chain < chains.size(); ++chain) {
    const HugeVector<float>& draws = chains[chain].effects;
    if (draws.empty()) continue;
    std::string bytes = npy_header(draws.size() / effects.size(), effects.size());
    bytes.append(reinterpret_cast<const char*>(draws.data()), draws.size() * sizeof(float));
    write_file(effects_file(directory, chain), bytes);
  }
}

std::vector<GroupEffect> read_groups(const std::string& directory) {
  const std::string file = groups_file(directory);
  if (!std::filesystem::exists(file)) return {};
  const std::string text = read_file(file);
  std::string_view left = text;
  const auto damaged = [&] { return DataError(file, "damaged: not the effects of groups that mlo wrote"); };
  if (!left.starts_with(header)) throw damaged();
  left.remove_prefix(header.size());
  std::vector<GroupEffect> out;
  while (!left.empty()) {
    GroupEffect e;
    e.group = take_cell(left);
    e.level = take_cell(left);
    e.effect = take_cell(left);
    for (double* const number : {&e.mean, &e.sd, &e.q5, &e.q95, &e.rhat}) {
      const std::string cell = take_cell(left);
      const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), *number);
      if (error != std::errc() || end != cell.data() + cell.size()) throw damaged();
    }
    out.push_back(std::move(e));
  }
  return out;
}

void read_effects(const std::string& directory, std::size_t effects, std::span<ChainDraws> chains) {
  for (std::size_t chain = 0; chain < chains.size(); ++chain) {
    const std::string file = effects_file(directory, chain);
    if (effects == 0 || !std::filesystem::exists(file)) continue;
    const std::string bytes = read_file(file);
    const std::size_t count = chains[chain].size() * effects;
    const std::string expected = npy_header(chains[chain].size(), effects);
    if (bytes.size() != expected.size() + count * sizeof(float) || !bytes.starts_with(expected))
      throw DataError(file,
                      fmt::format("damaged: not {} draws of {} effects", chains[chain].size(), effects));
    chains[chain].effects.resize(count);
    std::memcpy(chains[chain].effects.data(), bytes.data() + expected.size(), count * sizeof(float));
  }
}

}  // namespace mlo
