// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/report/stan_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <set>
#include <string_view>

#include "mlo/base/errors.hpp"

namespace mlo {
namespace {

// A comment must stay on one line, and must not look like one that readers search for anywhere in the file.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  for (const std::string_view searched : {"Elapsed Time", "Adaptation terminated"})
    for (std::size_t at = 0; (at = text.find(searched, at)) != std::string::npos;)
      text[text.find(' ', at)] = '_';
  return text;
}

// Stan's names have no hyphens.
std::string identifier(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// What brms makes of a character of a coefficient's name; it leaves others, which R allows but CSV files of
// Stan do not: they become underscores. A dot would begin an index.
std::string legal(char c) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_') return {c};
  switch (c) {
    case ' ':
    case '(':
    case ')':
    case '[':
    case ']':
    case ',':
    case '"':
    case '\'':
    case '?':
    case '`':
      return {};
    case '+':
      return "P";
    case '-':
      return "M";
    case '*':
      return "MU";
    case '/':
      return "D";
    case '^':
      return "E";
    case '=':
      return "EQ";
    case '$':
      return "USD";
    case '<':
      return "LT";
    case '>':
      return "GT";
    case '!':
      return "N";
    case '&':
      return "AND";
    case '|':
      return "OR";
    default:
      return "_";
  }
}

// The statistics before the parameters.
constexpr std::string_view statistics_header = "lp__,accept_stat__,treedepth__,divergent__,energy__";
constexpr std::string_view old_statistics_header = "lp__,accept_stat__";

// The cells of a line, as numbers.
void read_numbers(std::string_view line, const std::string& place, std::vector<double>& out) {
  out.clear();
  for (std::size_t at = 0;;) {
    const std::size_t end = std::min(line.find(',', at), line.size());
    const std::string_view cell = line.substr(at, end - at);
    double value = 0;
    const auto [rest, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error != std::errc() || rest != cell.data() + cell.size() || cell.empty())
      throw DataError(place, fmt::format("not a number (\"{}\"): the file of draws is damaged", cell));
    out.push_back(value);
    if (end == line.size()) return;
    at = end + 1;
  }
}

// The lines of a text, with their places.
class CsvLines {
 public:
  CsvLines(const std::string& text, const std::string& file) : text_(text), file_(file) {}
  // False at the end. Throws DataError if the last line is not complete.
  bool next(std::string_view& line) {
    if (at_ == text_.size()) return false;
    const std::size_t end = text_.find('\n', at_);
    ++number_;
    if (end == std::string::npos)
      throw DataError(place(), "the last line is not complete: the file of draws is damaged");
    line = std::string_view(text_).substr(at_, end - at_);
    at_ = end + 1;
    return true;
  }
  [[nodiscard]] std::string place() const { return fmt::format("{}:{}", file_, number_); }

 private:
  const std::string& text_;
  const std::string& file_;
  std::size_t at_ = 0, number_ = 0;
};

// How many of the columns come before the parameters; 0: this is not the header of a file of draws.
std::size_t statistics_in(std::string_view header, std::size_t dim) {
  const auto columns = static_cast<std::size_t>(std::count(header.begin(), header.end(), ',')) + 1;
  for (const std::string_view statistics : {statistics_header, old_statistics_header}) {
    const auto count = static_cast<std::size_t>(std::count(statistics.begin(), statistics.end(), ',')) + 1;
    if (header.starts_with(statistics) && header.substr(statistics.size()).starts_with(',') &&
        columns == count + dim)
      return header.ends_with("__") || header.find("__,", statistics.size()) != header.npos ? 0 : count;
  }
  return 0;
}

}  // namespace

std::vector<std::string> stan_names(const std::vector<std::string>& names, std::size_t coefficients) {
  std::vector<std::string> out;
  std::set<std::string> taken;
  for (std::size_t j = 0; j < names.size(); ++j) {
    std::string name = j < coefficients ? "b_" : "";
    for (const char c : names[j]) name += legal(c);
    // A name begins with a letter; and two underscores at the end are the mark of a statistic.
    if (j >= coefficients && (name.empty() || name[0] == '_' || (name[0] >= '0' && name[0] <= '9')))
      name.insert(0, "p_");
    while (name.ends_with("__")) name.pop_back();
    std::string unique = name;
    for (int k = 2; !taken.insert(unique).second; ++k) unique = fmt::format("{}_{}", name, k);
    out.push_back(std::move(unique));
  }
  return out;
}

ChainDraws draws_of_stan_csv(const std::string& text, const std::string& file, std::size_t dim) {
  ChainDraws chain;
  chain.dim = dim;
  std::size_t statistics = 0;
  std::vector<double> cells;
  CsvLines lines(text, file);
  for (std::string_view line; lines.next(line);) {
    if (line.starts_with('#')) continue;
    if (statistics == 0) {
      statistics = statistics_in(line, dim);
      if (statistics == 0)
        throw DataError(lines.place(), fmt::format("the columns are not those of {} parameters, which are "
                                                   "\"{}\" and their names",
                                                   dim, statistics_header));
      continue;
    }
    read_numbers(line, lines.place(), cells);
    if (cells.size() != dim + statistics)
      throw DataError(lines.place(),
                      fmt::format("{} cells, but the header has {}", cells.size(), dim + statistics));
    for (std::size_t j = 0; j < dim; ++j) {
      const double value = cells[j + statistics];
      if (!std::isfinite(value))
        throw DataError(lines.place(),
                        fmt::format("parameter {} is {}: the file of draws is damaged", j + 1, value));
      chain.draws.push_back(value);
    }
    chain.log_posteriors.push_back(cells[0]);
    chain.statistics.push_back({.acceptance = static_cast<float>(cells[1])});
  }
  if (chain.size() == 0) throw DataError(file, "no draws");
  return chain;
}

std::string stan_csv(const StanCsvHeader& h, const ChainDraws& record) {
  std::string out;
  const auto to = std::back_inserter(out);
  // The keys that readers look for, spelt as in CmdStan.
  fmt::format_to(to,
                 "# stan_version_major = 2\n# stan_version_minor = 32\n# stan_version_patch = 0\n"
                 "# model = mlo_{}_model\n# method = sample (Default)\n#   sample\n"
                 "#     num_samples = {}\n#     num_warmup = {}\n#     save_warmup = 0\n#     thin = {}\n"
                 "#     adapt\n#       engaged = 0\n#     algorithm = fixed_param\n#     num_chains = 1\n"
                 "# id = {}\n# data\n#   file = {}\n# init = 2\n# random\n#   seed = {}\n# output\n#   file "
                 "= draws-{}.csv\n"
                 "# mlo_version = {}\n# mlo_method = {}\n# mlo_promise = {}\n# mlo_family = {}\n"
                 "# mlo_formula = {}\n# mlo_lp__ = the log posterior {}, up to a constant\n",
                 identifier(h.family), record.size() * h.thin, h.warmup, h.thin, h.chain, one_line(h.data),
                 h.seed, h.chain, h.version, h.method, h.promise, h.family, one_line(h.formula),
                 h.log_posterior);
  const std::vector<std::string> columns = stan_names(h.names, h.coefficients);
  for (std::size_t j = 0; j < columns.size(); ++j)
    fmt::format_to(to, "# mlo_name {} = {}\n", columns[j], one_line(h.names[j]));
  out += statistics_header;
  for (const std::string& column : columns) fmt::format_to(to, ",{}", column);
  out += '\n';
  for (std::size_t k = 0; k < record.size(); ++k) {
    // The shortest text that reads back as the same double.
    const double lp = record.log_posteriors[k];
    const float accepted = record.statistics.empty() ? 0 : record.statistics[k].acceptance;
    if (std::isnan(lp)) {
      fmt::format_to(to, "nan,{},0,0,nan", accepted);
    } else {
      fmt::format_to(to, "{},{},0,0,{}", lp, accepted, -lp);
    }
    for (std::size_t j = 0; j < record.dim; ++j) fmt::format_to(to, ",{}", record.draws[k * record.dim + j]);
    out += '\n';
  }
  fmt::format_to(to,
                 "# \n#  Elapsed Time: {:.6f} seconds (Warm-up)\n#                {:.6f} seconds (Sampling)\n"
                 "#                {:.6f} seconds (Total)\n# \n",
                 record.warmup_seconds, record.sample_seconds, record.warmup_seconds + record.sample_seconds);
  return out;
}

namespace {
constexpr std::string_view kept_statistics = "chain,draw,rows_read,noise_sd";
}  // namespace

std::string statistics_csv(const std::vector<ChainDraws>& chains) {
  std::string out = fmt::format("{}\n", kept_statistics);
  for (std::size_t c = 0; c < chains.size(); ++c)
    for (std::size_t k = 0; k < chains[c].statistics.size(); ++k)
      fmt::format_to(std::back_inserter(out), "{},{},{},{}\n", c + 1, k + 1,
                     chains[c].statistics[k].rows_read, chains[c].statistics[k].noise_sd);
  return out;
}

void add_statistics(const std::string& text, const std::string& file, std::vector<ChainDraws>& chains) {
  CsvLines lines(text, file);
  std::string_view line;
  if (!lines.next(line) || line != kept_statistics)
    throw DataError(file, fmt::format("the first line is not \"{}\": the file is damaged", kept_statistics));
  std::vector<double> cells;
  for (std::size_t c = 0; c < chains.size(); ++c) {
    chains[c].statistics.resize(chains[c].size());
    for (std::size_t k = 0; k < chains[c].size(); ++k) {
      if (!lines.next(line))
        throw DataError(
            file, fmt::format("chain {} has {} draws, but only {} lines here: the file is damaged", c + 1,
                              chains[c].size(), k));
      read_numbers(line, lines.place(), cells);
      if (cells.size() != 4 || cells[0] != static_cast<double>(c + 1) ||
          cells[1] != static_cast<double>(k + 1))
        throw DataError(
            lines.place(),
            fmt::format("not the statistics of draw {} of chain {}: the file is damaged", k + 1, c + 1));
      chains[c].statistics[k].rows_read = static_cast<float>(cells[2]);
      chains[c].statistics[k].noise_sd = static_cast<float>(cells[3]);
    }
  }
  if (lines.next(line)) throw DataError(lines.place(), "more lines than draws: the file is damaged");
}

}  // namespace mlo
