// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/registry/simulate.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <utility>

#include "cli/checks.hpp"
#include "cli/command.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/registry/fit.hpp"
#include "mlo/registry/options.hpp"

namespace mlo::cli {
namespace {

namespace fs = std::filesystem;

struct SimulateCommand {
  SimulateOptions options;
  std::string out;
};

// The file that a symbolic link stands for: the one to be written, whether it is there or not.
std::string behind_links(fs::path path) {
  std::error_code error;
  while (fs::is_symlink(path, error)) path = path.parent_path() / fs::read_symlink(path);
  return path;
}

// Writes FILE.part, which takes FILE's place when it is whole; before that, FILE is what it was. What is
// there and is no regular file, such as a pipe, is written to as it is.
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

// An option that the family does not have would be ignored: refuse.
void check_given(const CLI::App& c, const std::string& family) {
  const bool columns = family != "gaussian-mean" && family != "gaussian-precision";
  const std::array<std::pair<const char*, bool>, 5> meaningful{
      {{"--intercept", columns},
       {"--correlation", columns},
       {"--sigma", family == "gaussian" || family == "gaussian-mean" || family == "student"},
       {"--freedom", family == "student"},
       {"--size", family == "negative-binomial"}}};
  for (const auto& [option, meant] : meaningful)
    if (!meant && c.count(option) > 0)
      throw UsageError(fmt::format("{} has no meaning with the family {}", option, family));
}

void run(const CLI::App& c, SimulateCommand& command) {
  SimulateOptions& o = command.options;
  if (o.coefficients.empty())
    o.coefficients = o.family == "gaussian-mean" || o.family == "gaussian-precision"
                         ? std::vector<double>{1}
                         : SimulateOptions{}.coefficients;
  const auto known = families();
  if (std::any_of(known.begin(), known.end(), [&](const FamilyEntry& f) { return f.name == o.family; }))
    check_given(c, o.family);
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
      ->delimiter(',');
  c->add_option("--intercept", o.intercept, "Intercept")->capture_default_str();
  c->add_option("--correlation", o.correlation, "Correlation of neighbouring columns (AR(1))")
      ->capture_default_str();
  c->add_option("--sigma", o.sigma, "Standard deviation of gaussian responses, scale of student ones")
      ->capture_default_str();
  c->add_option("--freedom", o.freedom, "Degrees of freedom of student responses")->capture_default_str();
  c->add_option("--size", o.size, "Size of negative-binomial responses: variance mu + mu^2 / size")
      ->capture_default_str();
  c->add_option("--seed", o.seed, "Seed: same seed, same data")->check(whole_number())->capture_default_str();
  c->add_option(
       "-o,--out", command->out,
       "File to write; one that exists is replaced when the new one is whole. Default: standard output")
      ->check(not_empty())
      ->type_name("FILE");
  c->footer("Example:\n  mlo simulate logistic --rows 100000 --coefficients 1,0.5 --seed 7 --out data.csv");
  c->callback([command, c] { run(*c, *command); });
}

}  // namespace mlo::cli
