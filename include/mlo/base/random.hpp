// Copyright (c) the mlo authors. BSD-3-Clause.
// Counter-based random numbers: a draw is a function of (seed, chain, purpose, iteration, index) and nothing
// else, so a run gives the same draws for any number of threads and after any resume. Philox4x64-10 of Salmon
// et al. 2011 (Random123); 4x64 because one call yields four doubles' worth of bits.
#pragma once

#include <Random123/philox.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace mlo {

// What a stream is for. The numbers are part of the reproducibility promise: never renumber.
enum class Purpose : std::uint64_t {
  proposal = 1,
  decision = 2,
  rows = 3,
  start = 4,
  mode = 5,
  simulate = 6,
  shards = 7,
  blocks = 8,
  audit = 9,
  slices = 10,
  modes = 11,
  levels = 12,
  covariances = 13,
  predict = 20,
  holdout = 21,
};

struct StreamId {
  std::uint64_t seed = 0;
  std::uint64_t chain = 0;
  Purpose purpose = Purpose::proposal;
  std::uint64_t iteration = 0;
};

// A UniformRandomBitGenerator over the 64-bit words of one stream, in index order. Cheap to make (no state
// beyond the counter and one block), so a kernel makes a new one in each step.
class Stream {
 public:
  using result_type = std::uint64_t;
  explicit Stream(StreamId id) noexcept
      : counter_{{0, id.iteration, static_cast<std::uint64_t>(id.purpose), id.chain}}, key_{{id.seed, 0}} {}

  static constexpr result_type min() noexcept { return 0; }
  static constexpr result_type max() noexcept { return std::numeric_limits<result_type>::max(); }

  result_type operator()() noexcept {
    if (next_ == 4) refill();
    return block_[next_++];
  }

  // The next word, which stays the next until skip() is called with 1; with 0 nothing happens. For a word
  // that may turn out not to be needed: without a branch that depends on whether it is.
  [[nodiscard]] result_type peek() noexcept {
    if (next_ == 4) refill();
    return block_[next_];
  }
  void skip(std::size_t words) noexcept { next_ += words; }

  // The next words.size() words: the same words, in the same order, as that many calls of operator().
  void fill(std::span<std::uint64_t> words) noexcept;
  // The same, where there is room for whole blocks: `words` has `count` words, rounded up to a multiple of 4.
  void fill_blocks(std::uint64_t* words, std::size_t count) noexcept;

 private:
  void refill() noexcept;

  r123::Philox4x64::ctr_type counter_;
  r123::Philox4x64::key_type key_;
  std::array<std::uint64_t, 4> block_{};
  std::size_t next_ = 4;
};

// Uniform on the open interval (0, 1): 52 random bits, centred, so that log(u) is always finite.
[[nodiscard]] inline double uniform_of(std::uint64_t word) noexcept {
  return (static_cast<double>(word >> 12) + 0.5) * 0x1p-52;
}
[[nodiscard]] inline double uniform(Stream& stream) noexcept { return uniform_of(stream()); }

// Standard normal and standard exponential (Boost.Random's ziggurats).
[[nodiscard]] double normal(Stream& stream) noexcept;
void normals(Stream& stream, std::span<double> out) noexcept;
[[nodiscard]] double exponential(Stream& stream) noexcept;

// Gamma with the given shape > 0 and scale 1 (Marsaglia & Tsang 2000). May be 0 for shapes below 0.01, whose
// variates are often smaller than any double.
[[nodiscard]] double gamma(Stream& stream, double shape) noexcept;

// Poisson with the given mean >= 0 (0 for mean 0); tested up to a mean of 1e9.
[[nodiscard]] std::uint64_t poisson(Stream& stream, double mean);

// Uniform on {0, ..., bound-1}, exactly (Lemire 2019). bound >= 1.
[[nodiscard]] std::uint64_t bounded(Stream& stream, std::uint64_t bound) noexcept;

}  // namespace mlo
