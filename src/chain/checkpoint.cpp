// Copyright (c) the mlo authors. BSD-3-Clause.
// The checkpoint's format: a magic word, the run's key, the fields in order, a hash of everything before it.
// Native byte order: a checkpoint is only for the machine that wrote it.
#include <bit>
#include <cstring>
#include <type_traits>

#include "mlo/base/errors.hpp"
#include "mlo/base/files.hpp"
#include "mlo/base/hash.hpp"
#include "mlo/chain/record.hpp"

namespace mlo {
namespace {

constexpr std::string_view magic = "mlo-checkpoint-6";

class Writer {
 public:
  template <class T>
  void operator()(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T, class Allocator>
  void operator()(const std::vector<T, Allocator>& values) {
    (*this)(static_cast<std::uint64_t>(values.size()));
    out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  void operator()(const Eigen::VectorXd& v) { (*this)(std::vector<double>(v.data(), v.data() + v.size())); }
  std::string out;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}
  template <class T>
  void operator()(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::memcpy(&value, take(sizeof value), sizeof value);
  }
  template <class T, class Allocator>
  void operator()(std::vector<T, Allocator>& values) {
    std::uint64_t size = 0;
    (*this)(size);
    if (size > left_.size() / sizeof(T)) throw std::length_error("truncated");
    values.resize(size);
    if (size > 0) std::memcpy(values.data(), take(size * sizeof(T)), size * sizeof(T));
  }
  void operator()(Eigen::VectorXd& v) {
    std::vector<double> values;
    (*this)(values);
    v = Eigen::Map<const Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
  }

  [[nodiscard]] bool at_end() const noexcept { return left_.empty(); }

 private:
  const char* take(std::size_t size) {
    if (size > left_.size()) throw std::length_error("truncated");
    const char* at = left_.data();
    left_.remove_prefix(size);
    return at;
  }
  std::string_view left_;
};

// The fields, in the same order for reading and writing.
template <class Archive, class Record>
void transfer(Archive& archive, Record& record) {
  archive(record.iteration);
  archive(record.state.theta);
  archive(record.state.log_likelihood);
  archive(record.kernel);
  archive(record.dim);
  archive(record.draws);
  archive(record.effects);
  archive(record.log_posteriors);
  archive(record.statistics);
  archive(record.warmup_seconds);
  archive(record.sample_seconds);
  auto& account = record.account;
  archive(account.counted);
  archive(account.steps);
  archive(account.accepted);
  archive(account.not_finite);
  archive(account.rows_read);
  archive(account.noise_sd_sum);
  archive(account.bound_violations);
  archive(account.audited);
  archive(account.audit_error);
  archive(account.at_draw);
  archive(account.rows_sample);
  archive(account.rows_stride);
}

// What the code that goes on from a record relies on. The hash shows accidents; this is for a file that was
// made.
bool consistent(const ChainRecord& record) {
  const std::size_t draws = record.log_posteriors.size();
  const bool rectangular =
      draws == 0 ? record.draws.empty()
                 : record.draws.size() % draws == 0 && record.draws.size() / draws == record.dim;
  const bool effects = draws == 0 ? record.effects.empty() : record.effects.size() % draws == 0;
  return rectangular && effects && record.dim <= static_cast<std::size_t>(record.state.theta.size()) &&
         record.statistics.size() == draws && std::has_single_bit(record.account.rows_stride);
}

}  // namespace

void write_checkpoint(const std::string& file, const ChainRecord& record, std::uint64_t key) {
  Writer write;
  write.out = magic;
  write(key);
  transfer(write, record);
  write(fingerprint_of(write.out));
  write_file(file, write.out);
}

ChainRecord read_checkpoint(const std::string& file, std::uint64_t key) {
  const std::string bytes = read_file(file);
  const std::string_view all = bytes;
  std::uint64_t sum = 0;
  if (all.size() < magic.size() + 2 * sizeof sum || all.substr(0, magic.size()) != magic)
    throw DataError(file, "not a checkpoint of this version of mlo");
  std::memcpy(&sum, all.data() + all.size() - sizeof sum, sizeof sum);
  if (sum != fingerprint_of(all.substr(0, all.size() - sizeof sum)))
    throw DataError(file, "damaged checkpoint");
  ChainRecord record;
  try {
    Reader read(all.substr(magic.size(), all.size() - magic.size() - sizeof sum));
    std::uint64_t its_key = 0;
    read(its_key);
    if (its_key != key) throw DataError(file, "checkpoint of another run: its data or options differ");
    transfer(read, record);
    if (!read.at_end() || !consistent(record)) throw std::length_error("damaged");
  } catch (const std::length_error&) {
    throw DataError(file, "damaged checkpoint");
  }
  return record;
}

}  // namespace mlo
