// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/base/random.hpp"

#include <algorithm>
#include <bit>
#include <boost/random/exponential_distribution.hpp>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/poisson_distribution.hpp>
#include <cassert>
#include <cmath>

namespace mlo {
namespace {

__extension__ using Uint128 = unsigned __int128;

// Philox4x64-10, in separate variables: with Random123's arrays gcc goes through memory, at 4.1 ns per word
// instead of 3.2. The latter is the limit of the multiplier (20 products per block). Blocks do not depend on
// each other, so the processor overlaps them; interleaving them in the source adds nothing.
struct Block {
  std::uint64_t w0, w1, w2, w3;
  // One word at a time: whoever reads them next reads them so, and a processor that must join the words of
  // several stores, or take one apart, waits.
  void store(std::uint64_t* words) const noexcept {
    words[0] = w0;
    words[1] = w1;
    words[2] = w2;
    words[3] = w3;
  }
};
Block philox(const r123::Philox4x64::ctr_type& counter, std::uint64_t further,
             const r123::Philox4x64::key_type& key) noexcept {
  std::uint64_t w0 = counter[0] + further, w1 = counter[1], w2 = counter[2], w3 = counter[3];
  std::uint64_t key0 = key[0], key1 = key[1];
  for (int round = 0; round < 10; ++round) {
    const Uint128 p0 = static_cast<Uint128>(PHILOX_M4x64_0) * w0;
    const Uint128 p1 = static_cast<Uint128>(PHILOX_M4x64_1) * w2;
    w0 = static_cast<std::uint64_t>(p1 >> 64) ^ w1 ^ key0;
    w1 = static_cast<std::uint64_t>(p1);
    w2 = static_cast<std::uint64_t>(p0 >> 64) ^ w3 ^ key1;
    w3 = static_cast<std::uint64_t>(p0);
    key0 += PHILOX_W64_0;
    key1 += PHILOX_W64_1;
  }
  return {w0, w1, w2, w3};
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
  [[nodiscard]] const std::uint64_t* next() const noexcept { return next_; }

 private:
  const std::uint64_t* next_;
  const std::uint64_t* end_;
  Stream* stream_;
};

}  // namespace

void Stream::refill() noexcept {
  philox(counter_, 0, key_).store(block_.data());
  ++counter_[0];
  next_ = 0;
}

void Stream::fill(std::span<std::uint64_t> words) noexcept {
  std::size_t i = 0;
  for (; next_ < 4 && i < words.size(); ++i) words[i] = block_[next_++];
  const std::size_t blocks = (words.size() - i) / 4;
  for (std::size_t b = 0; b < blocks; ++b, i += 4) philox(counter_, b, key_).store(words.data() + i);
  counter_[0] += blocks;
  if (i == words.size()) return;
  refill();
  for (; i < words.size(); ++i) words[i] = block_[next_++];
}

void Stream::fill_blocks(std::uint64_t* words, std::size_t count) noexcept {
  if (next_ != 4) return fill({words, count});
  const std::size_t blocks = (count + 3) / 4;
  for (std::size_t b = 0; b < blocks; ++b, words += 4) {
    const Block block = philox(counter_, b, key_);
    block.store(words);
    if (b + 1 == blocks) block.store(block_.data());
  }
  counter_[0] += blocks;
  next_ = (count + 3) % 4 + 1;  // of the last block
}

// Boost's ziggurats. Its distributions are constructed in each call: they keep no state, so a draw depends
// only on the position in the stream. The compiler optimises lambda = 1, mean 0 and sd 1 away.
//
// Nearly always a draw is one word: 8 bits choose a layer, the others a place in it that is inside the curve.
// That case is written out here, with Boost's tables and to the last bit what Boost computes, in a fifth of
// its instructions; Boost has all other cases. (It clears one bit too few: bit 11 alone.)
namespace {

struct LayerPlace {
  std::size_t layer;
  double place;  // in [0, 1)
};
LayerPlace layer_place(std::uint64_t word) noexcept {
  constexpr std::uint64_t cleared = std::uint64_t{1} << 11U;
  // Below 2^56, so that it is the same as a signed number, which processors convert faster.
  return {word & 255U, static_cast<double>(static_cast<std::int64_t>((word & ~cleared) >> 8U)) * 0x1p-56};
}

// Whether the word alone makes a draw, and which.
bool quick_normal(std::uint64_t word, double& out) noexcept {
  const double* const edges = boost::random::detail::normal_table<double>::table_x;
  const auto [layer, place] = layer_place(word);
  const double x = place * edges[layer / 2];
  // The sign by its bit, not by a branch: it is a coin toss. + 0.0 turns -0.0 into 0.0, as adding the mean
  // does.
  const std::uint64_t sign = (~word & 1U) << 63U;
  out = std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) ^ sign) + 0.0;
  return x < edges[layer / 2 + 1];
}
bool quick_exponential(std::uint64_t word, double& out) noexcept {
  const double* const edges = boost::random::detail::exponential_table<double>::table_x;
  const auto [layer, place] = layer_place(word);
  out = place * edges[layer];
  return out < edges[layer + 1];
}

// Apart from their callers, which would otherwise save registers for them at every call.
template <class Source>
[[gnu::noinline]] double any_normal(Source& source) noexcept {
  return boost::random::normal_distribution<double>()(source);
}
[[gnu::noinline]] double any_exponential(Stream& stream) noexcept {
  return boost::random::exponential_distribution<double>()(stream);
}

}  // namespace

double normal(Stream& stream) noexcept {
  double x = 0;
  if (quick_normal(stream.peek(), x)) [[likely]] {
    stream.skip(1);
    return x;
  }
  return any_normal(stream);
}

void normals(Stream& stream, std::span<double> out) noexcept {
  // A draw nearly always takes one word, so many words are made at once: the blocks of a counter-based
  // generator do not wait for each other. The few draws that need more get the words after these.
  constexpr std::size_t chunk = 32;
  std::array<std::uint64_t, chunk> words;
  for (std::size_t first = 0; first < out.size(); first += chunk) {
    const std::size_t count = std::min(chunk, out.size() - first);
    stream.fill_blocks(words.data(), count);
    const std::uint64_t *next = words.data(), *const end = next + count;
    for (std::size_t k = 0; k < count; ++k) {
      if (next != end && quick_normal(*next, out[first + k])) [[likely]] {
        ++next;
        continue;
      }
      WordsThenStream source(next, end, stream);
      out[first + k] = any_normal(source);
      next = source.next();
    }
  }
}

double exponential(Stream& stream) noexcept {
  double x = 0;
  if (quick_exponential(stream.peek(), x)) [[likely]] {
    stream.skip(1);
    return x;
  }
  return any_exponential(stream);
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
