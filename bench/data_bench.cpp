// Copyright (c) the mlo authors. BSD-3-Clause.
// The speed of the CSV reader in bytes of text per second, against a plain pass over the file's bytes. The
// files are written once to the system's directory for temporary files, and removed at the end.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "mlo/data/csv.hpp"

namespace {

constexpr std::size_t rows = 581012;

// 11 columns of normal draws, as the shortest decimals that read back as the same double (16 or 17 digits).
std::string doubles_text() {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::string text = "x0,x1,x2,x3,x4,x5,x6,x7,x8,x9,y\n";
  for (std::size_t i = 0; i < rows; ++i) {
    for (int j = 0; j < 11; ++j)
      fmt::format_to(std::back_inserter(text), "{}{}", normal(random), j < 10 ? ',' : '\n');
  }
  return text;
}

// The shape of Covertype: 10 measurements, 44 columns of 0 and 1, a class.
std::string integers_text() {
  std::mt19937_64 random(2);
  std::string text;
  for (int j = 0; j < 55; ++j)
    text += fmt::format("{}{}", j < 10 ? "x" : j < 54 ? "b" : "y", j) + (j < 54 ? "," : "\n");
  constexpr std::size_t ranges[] = {2000, 360, 60, 1400, 700, 7000, 255, 255, 255, 7000};
  for (std::size_t i = 0; i < rows; ++i) {
    for (const std::size_t range : ranges) fmt::format_to(std::back_inserter(text), "{},", random() % range);
    const std::size_t one = random() % 44;
    for (std::size_t j = 0; j < 44; ++j) text += j == one ? "1," : "0,";
    fmt::format_to(std::back_inserter(text), "{}\n", 1 + random() % 7);
  }
  return text;
}

class File {
 public:
  File(const std::string& text, bool compressed) : text_bytes_(text.size()) {
    std::string pattern = std::filesystem::temp_directory_path() / "mlo-bench-XXXXXX";
    const int descriptor = ::mkstemp(pattern.data());
    if (descriptor < 0) throw std::runtime_error("cannot make a temporary file");
    path_ = pattern;
    // In the transparent mode "T" zlib writes the text uncompressed.
    const gzFile out = gzdopen(descriptor, compressed ? "wb6" : "wbT");
    gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
    gzclose(out);
  }
  ~File() { std::remove(path_.c_str()); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::size_t text_bytes() const { return text_bytes_; }

 private:
  std::string path_;
  std::size_t text_bytes_;
};

const File& file_of(bool doubles, bool compressed) {
  static std::map<std::pair<bool, bool>, File> files;
  const auto key = std::pair(doubles, compressed);
  if (!files.contains(key)) files.try_emplace(key, doubles ? doubles_text() : integers_text(), compressed);
  return files.at(key);
}

void read_csv(benchmark::State& state, bool doubles, bool compressed) {
  const File& file = file_of(doubles, compressed);
  for ([[maybe_unused]] const auto _ : state) {
    mlo::CsvReader reader(file.path());
    std::vector<std::string> wanted;
    for (const std::string& name : reader.header()) {
      if (!name.starts_with('b')) wanted.push_back(name);
    }
    const mlo::Table table = reader.read(wanted);
    if (table.rows != rows) state.SkipWithError("rows are missing");
    benchmark::DoNotOptimize(table.columns.data());
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * file.text_bytes()));
}

// Reading the bytes alone: what the reader is compared with.
void read_bytes(benchmark::State& state, bool doubles) {
  const File& file = file_of(doubles, false);
  std::vector<char> buffer(std::size_t{1} << 20);
  for ([[maybe_unused]] const auto _ : state) {
    const int descriptor = ::open(file.path().c_str(), O_RDONLY);
    while (::read(descriptor, buffer.data(), buffer.size()) > 0) benchmark::ClobberMemory();
    ::close(descriptor);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * file.text_bytes()));
}

const bool registered = [] {
  const std::string doubles = "csv/doubles/rows:581012/columns:11/wanted:11";
  const std::string integers = "csv/integers/rows:581012/columns:55/wanted:11";
  using benchmark::RegisterBenchmark;
  constexpr auto unit = benchmark::kMillisecond;
  RegisterBenchmark("bytes/doubles/rows:581012/columns:11", read_bytes, true)->Unit(unit);
  RegisterBenchmark((doubles + "/plain").c_str(), read_csv, true, false)->Unit(unit);
  RegisterBenchmark((integers + "/plain").c_str(), read_csv, false, false)->Unit(unit);
  // A second thread inflates, so wall-clock time is what counts.
  RegisterBenchmark((doubles + "/gzip").c_str(), read_csv, true, true)->Unit(unit)->UseRealTime();
  RegisterBenchmark((integers + "/gzip").c_str(), read_csv, false, true)->Unit(unit)->UseRealTime();
  return true;
}();

}  // namespace
