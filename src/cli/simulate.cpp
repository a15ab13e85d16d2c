// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/fit/simulate.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "cli/checks.hpp"
#include "cli/command.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/fit/fit.hpp"
#include "mlo/model/family.hpp"

namespace mlo::cli {
namespace {

namespace fs = std::filesystem;

struct SimulateCommand {
  SimulateOptions options;
  std::string out;
};

// The file that a symbolic link leads to, whether it exists or not.
std::string behind_links(fs::path path) {
  std::error_code error;
  while (fs::is_symlink(path, error)) path = path.parent_path() / fs::read_symlink(path);
  return path;
}

// Writes FILE.part, which replaces FILE once it is complete; until then FILE is unchanged. If FILE exists and
// is not a regular file, such as a pipe, it is written to directly.
class OutFile {
 public:
  explicit OutFile(const std::string& name) : name_(name) {
    std::error_code error;
    const fs::file_status there = fs::status(name, error);
    if (there.type() == fs::file_type::none) fail(error.value());
    if (!fs::exists(there) || fs::is_regular_file(there)) {
      target_ = behind_links(name);
      part_ = target_ + ".part";
    }
    file_ = std::fopen((part_.empty() ? name : part_).c_str(), "wb");
    if (file_ == nullptr) fail(errno);
    if (fs::is_regular_file(there)) fs::permissions(part_, there.permissions(), error);
    if (!part_.empty()) catch_interrupts();  // otherwise there is nothing to clean up
  }
  ~OutFile() {
    if (file_ != nullptr) std::fclose(file_);
    if (!part_.empty()) std::remove(part_.c_str());
  }
  OutFile(const OutFile&) = delete;
  OutFile& operator=(const OutFile&) = delete;

  void write(std::string_view text) {
    if (interrupt_flag()) throw Interrupted(fmt::format("interrupted: {} is not written", name_));
    if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) fail(errno);
  }
  void finish() {
    if (std::fclose(std::exchange(file_, nullptr)) != 0) fail(errno);
    if (part_.empty()) return;
    if (std::rename(part_.c_str(), target_.c_str()) != 0) fail(errno);
    part_.clear();
  }

 private:
  [[noreturn]] void fail(int error) const {
    throw DataError(name_, "cannot be written: " + std::generic_category().message(error));
  }

  std::string name_, target_, part_;
  std::FILE* file_ = nullptr;
};

// Refuses the options of columns for families that have one parameter and no columns: they would be ignored.
void check_given(const CLI::App& c, const FamilySpec& family) {
  for (const char* option : {"--intercept", "--correlation"})
    if (!family.simulation.columns && c.count(option) > 0)
      throw UsageError(fmt::format("{} has no meaning with the family {}", option, family.name));
}

// Adds options for the numbers of all families; a number that several families share is one option.
void add_numbers(CLI::App& c, SimulateOptions& o) {
  std::map<std::string, std::string> help;
  for (const FamilySpec* family : families())
    for (const FamilyNumber& n : family->simulation.numbers) {
      std::string& text = help[std::string(n.name)];
      text += fmt::format("{}{}: {} (default {})", text.empty() ? "" : "; ", family->name, n.help, *n.usual);
    }
  for (const auto& [name, text] : help)
    c.add_option_function<double>(
        "--" + name, [&o, its_name = name](double value) { o.numbers[its_name] = value; }, text);
}

void run(const CLI::App& c, SimulateCommand& command) {
  SimulateOptions& o = command.options;
  const FamilySpec* const family = find_family(o.family);
  if (family != nullptr) check_given(c, *family);
  if (o.coefficients.empty())
    o.coefficients = family != nullptr && !family->simulation.columns ? std::vector<double>{1}
                                                                      : SimulateOptions{}.coefficients;
  if (command.out.empty()) return simulate_csv(o, [](std::string_view text) { print(text); });
  OutFile file(command.out);
  simulate_csv(o, [&](std::string_view text) { file.write(text); });
  file.finish();
}

}  // namespace

void add_simulate(CLI::App& app) {
  auto command = std::make_shared<SimulateCommand>();
  SimulateOptions& o = command->options;
  o.coefficients.clear();
  CLI::App* c = app.add_subcommand("simulate", "Write data with known parameters, as CSV");
  c->add_option("FAMILY", o.family, fmt::format("One of {}", family_names()))->required();
  c->add_option("--rows", o.rows, "Rows")->check(integer())->capture_default_str();
  c->add_option("--coefficients", o.coefficients,
                "Coefficients of the standard normal columns x1, x2, ...; mu for gaussian-mean, tau for "
                "gaussian-precision. Default: 1,0.5; mu and tau 1")
      ->delimiter(',')
      ->check(not_empty());
  c->add_option("--intercept", o.intercept, "Intercept")->check(not_empty())->capture_default_str();
  c->add_option("--correlation", o.correlation, "Correlation of neighbouring columns (AR(1))")
      ->check(not_empty())
      ->capture_default_str();
  add_numbers(*c, o);
  c->add_option("--seed", o.seed, "Seed: same seed, same data")->check(whole_number())->capture_default_str();
  c->add_option(
       "-o,--out", command->out,
       "File to write; an existing file is replaced when the new one is complete. Default: standard output")
      ->check(not_empty())
      ->type_name("FILE");
  c->footer("Example:\n  mlo simulate logistic --rows 100000 --coefficients 1,0.5 --seed 7 --out data.csv");
  c->callback([command, c] { run(*c, *command); });
}

}  // namespace mlo::cli
