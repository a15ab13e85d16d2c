// Copyright (c) the mlo authors. BSD-3-Clause.
#include "experiments/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>

#include "experiments/command_line.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/base/files.hpp"
#include "mlo/fit/fit.hpp"

namespace mlo::experiments {
namespace {

constexpr std::string_view columns =
    "replication,data_seed,cell,fit_seed,parameter,mean,sd,rows_per_step,median_rows_per_step,acceptance\n";

std::vector<std::string_view> split(std::string_view line, char separator) {
  std::vector<std::string_view> out;
  while (true) {
    const std::size_t at = line.find(separator);
    out.push_back(line.substr(0, at));
    if (at == std::string_view::npos) return out;
    line.remove_prefix(at + 1);
  }
}

template <class T>
bool parse(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::string header_of(const Experiment& experiment, std::uint64_t seed) {
  std::string out = fmt::format("# mlo {} reproduce {}, --seed {}\n# data: {}\n", version(), experiment.name,
                                seed, command_line(experiment.data, "DATA_SEED"));
  for (const Cell& cell : experiment.cells)
    out += fmt::format("# {}: {} --seed FIT_SEED\n", cell.name, command_line(cell.fit));
  return out;
}

}  // namespace

void make_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw DataError(path, "`out`: cannot be made: " + error.message());
}

Store::Store(const Experiment& experiment, const Settings& settings)
    : experiment_(experiment),
      file_(fmt::format("{}/{}.csv", settings.directory(), experiment.name)),
      header_(header_of(experiment, settings.seed)) {
  make_directory(settings.directory());
  if (std::filesystem::exists(file_)) read(read_file(file_));
  write_file(file_, text());
}

void Store::read(const std::string& contents) {
  const std::vector<std::string_view> theirs = split(contents, '\n'), ours = split(header_, '\n');
  const std::size_t comments = ours.size() - 1;  // the last piece follows the last line end
  for (std::size_t k = 0; k < comments; ++k) {
    const std::string_view found = k < theirs.size() ? theirs[k] : std::string_view();
    if (found != ours[k])
      throw UsageError(
          fmt::format("`out`: {} was made with other settings; choose another directory or remove the file.\n"
                      "  there: {}\n  here:  {}",
                      file_, found, ours[k]));
  }
  const std::size_t parameters = experiment_.parameters.size();
  // After the last line end there is nothing, or a line cut off within a number.
  for (std::size_t k = comments + 1; k + 1 < theirs.size(); ++k) {
    const auto cells = split(theirs[k], ',');
    std::size_t replication = 0;
    StoredFit fit;
    double mean = 0, sd = 0;
    const bool good = cells.size() == 10 && parse(cells[0], replication) && parse(cells[1], fit.data_seed) &&
                      parse(cells[3], fit.fit_seed) && parse(cells[5], mean) && parse(cells[6], sd) &&
                      parse(cells[7], fit.fitted.rows_per_step) &&
                      parse(cells[8], fit.fitted.median_rows_per_step) &&
                      parse(cells[9], fit.fitted.acceptance);
    if (!good || replication == 0) continue;
    StoredFit& kept = kept_[replication - 1].try_emplace(std::string(cells[2]), fit).first->second;
    // Parameters come in order; a line out of order makes its fit incomplete, and so it counts as torn.
    if (kept.fitted.mean.size() < parameters && cells[4] == experiment_.parameters[kept.fitted.mean.size()]) {
      kept.fitted.mean.push_back(mean);
      kept.fitted.sd.push_back(sd);
    }
  }
  std::erase_if(kept_, [&](const auto& entry) {
    const auto whole = [&](const Cell& cell) {
      const auto found = entry.second.find(cell.name);
      return found != entry.second.end() && found->second.fitted.mean.size() == parameters;
    };
    return !std::all_of(experiment_.cells.begin(), experiment_.cells.end(), whole);
  });
}

std::string Store::lines(std::size_t replication) const {
  std::string out;
  for (const Cell& cell : experiment_.cells) {
    const StoredFit& fit = kept_.at(replication).at(cell.name);
    for (std::size_t j = 0; j < experiment_.parameters.size(); ++j)
      fmt::format_to(std::back_inserter(out), "{},{},{},{},{},{},{},{},{},{}\n", replication + 1,
                     fit.data_seed, cell.name, fit.fit_seed, experiment_.parameters[j], fit.fitted.mean[j],
                     fit.fitted.sd[j], fit.fitted.rows_per_step, fit.fitted.median_rows_per_step,
                     fit.fitted.acceptance);
  }
  return out;
}

std::string Store::text() const {
  std::string out = header_;
  out += columns;
  for (const auto& entry : kept_) out += lines(entry.first);
  return out;
}

void Store::add(std::size_t replication, std::map<std::string, StoredFit> fits) {
  kept_[replication] = std::move(fits);
  const std::string block = lines(replication);
  std::FILE* out = std::fopen(file_.c_str(), "ab");
  bool good = out != nullptr && std::fwrite(block.data(), 1, block.size(), out) == block.size();
  if (out != nullptr) good = std::fclose(out) == 0 && good;
  if (!good) throw DataError(file_, "cannot be written: " + std::generic_category().message(errno));
}

void Store::finish() const { write_file(file_, text()); }

}  // namespace mlo::experiments
