// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/base/random.hpp"

#include <algorithm>
#include <boost/random/exponential_distribution.hpp>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/poisson_distribution.hpp>
#include <cassert>
#include <cmath>

namespace mlo {
namespace {

__extension__ using Uint128 = unsigned __int128;

// Philox4x64-10 on `count` consecutive counters, in separate variables: with Random123's arrays gcc goes
// through memory, at 4.1 ns per word instead of 3.2. The latter is the limit of the multiplier (20 products
// per block, one every two cycles). The blocks do not depend on each other, so the processor overlaps them;
// interleaving them in the source adds nothing.
void philox_blocks(const r123::Philox4x64::ctr_type& first, const r123::Philox4x64::key_type& key,
                   std::size_t count, std::uint64_t* words) noexcept {
  const std::uint64_t c0 = first[0], c1 = first[1], c2 = first[2], c3 = first[3], k0 = key[0], k1 = key[1];
  for (std::size_t b = 0; b < count; ++b, words += 4) {
    std::uint64_t w0 = c0 + b, w1 = c1, w2 = c2, w3 = c3, round_key0 = k0, round_key1 = k1;
    for (int round = 0; round < 10; ++round) {
      const Uint128 p0 = static_cast<Uint128>(PHILOX_M4x64_0) * w0;
      const Uint128 p1 = static_cast<Uint128>(PHILOX_M4x64_1) * w2;
      w0 = static_cast<std::uint64_t>(p1 >> 64) ^ w1 ^ round_key0;
      w1 = static_cast<std::uint64_t>(p1);
      w2 = static_cast<std::uint64_t>(p0 >> 64) ^ w3 ^ round_key1;
      w3 = static_cast<std::uint64_t>(p0);
      round_key0 += PHILOX_W64_0;
      round_key1 += PHILOX_W64_1;
    }
    words[0] = w0;
    words[1] = w1;
    words[2] = w2;
    words[3] = w3;
  }
}

// First gives words made beforehand, then words of the stream they came from.
class WordsThenStream {
 public:
  using result_type = std::uint64_t;
  WordsThenStream(const std::uint64_t* next, const std::uint64_t* end, Stream& stream)
      : next_(next), end_(end), stream_(&stream) {}
  static constexpr result_type min() noexcept { return Stream::min(); }
  static constexpr result_type max() noexcept { return Stream::max(); }
  result_type operator()() noexcept { return next_ != end_ ? *next_++ : (*stream_)(); }

 private:
  const std::uint64_t* next_;
  const std::uint64_t* end_;
  Stream* stream_;
};

}  // namespace

void Stream::fill(std::span<std::uint64_t> words) noexcept {
  std::size_t i = 0;
  for (; next_ < 4 && i < words.size(); ++i) words[i] = block_[next_++];
  const std::size_t blocks = (words.size() - i) / 4;
  philox_blocks(counter_, key_, blocks, words.data() + i);
  counter_[0] += blocks;
  i += 4 * blocks;
  if (i < words.size()) {
    philox_blocks(counter_, key_, 1, block_.data());
    ++counter_[0];
    next_ = 0;
    for (; i < words.size(); ++i) words[i] = block_[next_++];
  }
}

// Boost's distributions are constructed in each call: their ziggurats keep no state, so a draw depends only
// on the position in the stream. The compiler optimises lambda = 1, mean 0 and sd 1 away.
double normal(Stream& stream) noexcept { return boost::random::normal_distribution<double>()(stream); }

void normals(Stream& stream, std::span<double> out) noexcept {
  // A draw nearly always takes one word, so many words are made at once: the blocks of a counter-based
  // generator do not wait for each other. The few draws that need more get the words after these.
  constexpr std::size_t chunk = 32;
  std::array<std::uint64_t, chunk> words;
  for (std::size_t first = 0; first < out.size(); first += chunk) {
    const std::size_t count = std::min(chunk, out.size() - first);
    stream.fill({words.data(), count});
    WordsThenStream source(words.data(), words.data() + count, stream);
    for (std::size_t k = 0; k < count; ++k)
      out[first + k] = boost::random::normal_distribution<double>()(source);
  }
}

double exponential(Stream& stream) noexcept {
  return boost::random::exponential_distribution<double>()(stream);
}

double gamma(Stream& stream, double shape) noexcept {
  assert(shape > 0);
  if (shape < 1) {
    // If G has shape a + 1 and U is uniform, G U^(1/a) has shape a.
    const double larger = gamma(stream, shape + 1);
    return larger * std::exp(-exponential(stream) / shape);
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal(stream), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(uniform(stream)) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

std::uint64_t poisson(Stream& stream, double mean) {
  assert(mean >= 0);
  if (mean == 0) return 0;
  return static_cast<std::uint64_t>(boost::random::poisson_distribution<std::int64_t, double>(mean)(stream));
}

std::uint64_t bounded(Stream& stream, std::uint64_t bound) noexcept {
  assert(bound >= 1);
  Uint128 product = static_cast<Uint128>(stream()) * bound;
  if (static_cast<std::uint64_t>(product) < bound) {
    // Every result has floor(2^64 / bound) words whose low half is at least 2^64 mod bound; the others are
    // rejected.
    const std::uint64_t threshold = -bound % bound;
    while (static_cast<std::uint64_t>(product) < threshold) product = static_cast<Uint128>(stream()) * bound;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

}  // namespace mlo
