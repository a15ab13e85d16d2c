// Copyright (c) the mlo authors. BSD-3-Clause.
// The files of a run directory: run.json, with all that `mlo summary` and `mlo predict` make of it, the
// draws, and checkpoints. The first byte says which of them the input is.
#include "mlo/fit/runs.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>

#include "fit/run_directory.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/base/hash.hpp"
#include "mlo/chain/record.hpp"
#include "mlo/fit/predict.hpp"
#include "mlo/report/run_summary.hpp"
#include "mlo/report/stan_csv.hpp"
#include "support.hpp"
#include "table.hpp"

namespace {

using namespace mlo;

class Directory {
 public:
  Directory() {
    std::string pattern = std::filesystem::temp_directory_path() / "mlo-fuzz-XXXXXX";
    fuzz::check(::mkdtemp(pattern.data()) != nullptr, "a temporary directory can be made");
    path_ = pattern;
  }
  ~Directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  void write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path_ + "/" + name, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

 private:
  std::string path_;
};

// Draws that fit any number of parameters: the input is run.json alone.
std::string some_draws(std::size_t dim) {
  ChainDraws draws;
  draws.dim = dim;
  for (std::size_t k = 0; k < 4; ++k) {
    for (std::size_t j = 0; j < dim; ++j) draws.draws.push_back(0.1 * static_cast<double>(k + j % 7));
    draws.log_posteriors.push_back(-1);
  }
  StanCsvHeader header;
  header.names.assign(dim, "x");
  return stan_csv(header, draws);
}

template <class Read>
void allow_errors(const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    fuzz::check(*error.what() != '\0', "an error has a message");
    static const bool shown = std::getenv("MLO_FUZZ_SHOW") != nullptr;  // to see how far an input gets
    if (shown) std::fprintf(stderr, "%s\n", error.what());
  }
}

void read_run_json(std::string_view text) {
  static const Directory directory;
  static const Table table = fuzz::make_table();
  directory.write("run.json", text);
  const RunDirectory run = RunDirectory::open(directory.path());
  allow_errors([&] { static_cast<void>(run.status()); });
  allow_errors([&] { static_cast<void>(run.fingerprint()); });
  allow_errors([&] {
    const RunSummary summary = read_summary(directory.path());
    static_cast<void>(as_table(summary));
    static_cast<void>(as_csv(summary.parameters));
    static_cast<void>(as_json(summary));
    directory.write("draws-1.csv", some_draws(summary.parameters.size()));
  });
  for (const char* const type : {"response", "link", "draw"}) {
    allow_errors([&] {
      PredictOptions options;
      options.run = directory.path();
      options.type = type;
      options.new_levels = "missing";
      options.threads = 1;
      predict(options, table, [](const PredictedRows&) {});
    });
  }
}

void read_draws(std::string_view text) {
  allow_errors([&] {
    const ChainDraws draws = draws_of_stan_csv(std::string(text), "draws-1.csv", 2);
    fuzz::check(draws.draws.size() == 2 * draws.size() && draws.size() > 0, "each draw has its parameters");
  });
}

void read_record(std::string_view bytes) {
  static const fuzz::MemoryFile file;
  file.write(bytes);
  allow_errors([&] {
    ChainRecord record = read_checkpoint(file.path(), 0);
    for (std::size_t j = 0; j < record.dim; ++j) static_cast<void>(record.parameter(j));
    fuzz::check(record.draws.size() == record.dim * record.size(), "each draw has its parameters");
    record.account.count({});
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  switch (bytes.front()) {
    case 'c': {  // what a checkpoint has between its key and its hash, which no change would get past
      std::string whole("mlo-checkpoint-4\0\0\0\0\0\0\0\0", 24);
      whole += bytes.substr(1);
      const std::uint64_t hash = fingerprint_of(whole);
      whole.append(reinterpret_cast<const char*>(&hash), sizeof hash);
      read_record(whole);
      break;
    }
    case 'm':
      read_record(bytes);
      break;
    case '#':
    case 'l':
      read_draws(bytes);
      break;
    default:
      read_run_json(bytes);
  }
  return 0;
}
