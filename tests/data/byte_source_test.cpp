// Copyright (c) the mlo authors. BSD-3-Clause.
#include "../../src/data/byte_source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "data/csv_files.hpp"

namespace mlo::testing {
namespace {

std::string some_text(std::size_t lines) {
  std::string text;
  for (std::size_t i = 0; i < lines; ++i) text += std::to_string(i * 2654435761U % 1000003U) + "\n";
  return text;
}

// Reads in pieces of `piece` bytes; an error becomes the end of the text.
std::string read_all(const std::string& bytes, std::size_t block, std::size_t piece) {
  const TemporaryFile file(bytes);
  std::string all;
  try {
    const auto source = open_bytes(file.path(), block);
    std::string part(piece, '\0');
    double share = source->share();
    for (;;) {
      const std::size_t got = source->read(part);
      all.append(part, 0, got);
      EXPECT_GE(source->share(), share);
      EXPECT_LE(source->share(), 1.0);
      share = source->share();
      if (got < piece) break;
    }
    if (!all.empty()) {
      EXPECT_EQ(share, 1.0);
    }
    EXPECT_EQ(source->read(part), 0U);  // reading past the end again gives nothing
  } catch (const DataError& error) {
    return std::string(error.what()).substr(file.path().size());
  }
  return all;
}

TEST(ByteSource, ReadsPlainFilesOfEveryLength) {
  for (const std::size_t length : {0U, 1U, 2U, 3U, 10000U}) {
    const std::string text = some_text(3000).substr(0, length);
    for (const std::size_t piece : {1U, 2U, 7U, 4096U, 100000U}) EXPECT_EQ(read_all(text, 64, piece), text);
  }
}

TEST(ByteSource, InflatesGzipWhateverTheBlockSize) {
  const std::string text = some_text(5000);
  for (const std::size_t block : {1U, 13U, 4096U, 1U << 20}) {
    for (const std::size_t piece : {17U, 4096U, 100000U}) EXPECT_EQ(read_all(gzip(text), block, piece), text);
  }
}

TEST(ByteSource, InflatesEveryMemberAndIgnoresZerosAfterTheLast) {
  const std::string a = some_text(1000);
  const std::string b = some_text(2000);
  EXPECT_EQ(read_all(gzip(a) + gzip("") + gzip(b), 4096, 1000), a + b);
  EXPECT_EQ(read_all(gzip(a) + gzip(b) + std::string(600, '\0'), 4096, 1000), a + b);
}

TEST(ByteSource, TellsAFileThatOnlyLooksLikeGzip) {
  EXPECT_EQ(read_all("\x1f", 64, 10), "\x1f");
  EXPECT_EQ(read_all("\x1f\x8b", 64, 10), ": the gzip data end too early; the file is truncated");
  EXPECT_EQ(read_all("\x1f\x8b\x07xxxxxxxxxxxx", 64, 10),
            ": the gzip data are corrupt (unknown compression method)");
}

TEST(ByteSource, TellsTruncatedGzipWhereverItIsCut) {
  const std::string whole = gzip(some_text(1000)) + gzip(some_text(10));
  const std::size_t first = gzip(some_text(1000)).size();
  for (std::size_t length = 2; length<whole.size(); length += length + 40> whole.size() ? 1 : 37) {
    if (length == first) continue;  // a complete first member is a complete file
    EXPECT_EQ(read_all(whole.substr(0, length), 4096, 1000),
              ": the gzip data end too early; the file is truncated")
        << length;
  }
}

TEST(ByteSource, TellsCorruptGzip) {
  const std::string good = gzip(some_text(1000));
  std::string bad = good;
  bad[bad.size() - 8] ^= 1;  // the checksum
  EXPECT_EQ(read_all(bad, 4096, 1000), ": the gzip data are corrupt (incorrect checksum or length)");
  bad = good;
  bad[bad.size() - 4] ^= 1;  // the length
  EXPECT_EQ(read_all(bad, 4096, 1000), ": the gzip data are corrupt (incorrect checksum or length)");
  EXPECT_EQ(read_all(good + "more", 4096, 1000), ": the gzip data are corrupt (incorrect header)");
}

TEST(ByteSource, UnpacksZstdWhateverTheBlockSize) {
  const std::string text = some_text(5000);
  for (const std::size_t block : {1U, 13U, 4096U, 1U << 20}) {
    for (const std::size_t piece : {17U, 4096U, 100000U}) EXPECT_EQ(read_all(zstd(text), block, piece), text);
  }
  const std::string skipped(
      "\x50\x2A\x4D\x18\x03\x00\x00\x00"
      "abc",
      11);  // a frame for other programs
  EXPECT_EQ(read_all(zstd(text) + skipped + zstd("") + zstd(text), 4096, 1000), text + text);
  EXPECT_EQ(read_all(skipped + zstd(text), 4096, 1000), text);
}

TEST(ByteSource, ReadsAFileAgainWhereverItStopped) {
  const std::string text = some_text(20000);
  for (const std::string& bytes : {text, gzip(text), zstd(text)}) {
    const TemporaryFile file(bytes);
    const auto raw = std::make_shared<RawFile>(file.path());
    std::remove(file.path().c_str());  // the name does not matter any more
    for (const std::size_t size : {std::size_t{10}, text.size(), std::size_t{5000}}) {
      ASSERT_EQ(raw->rewind(), 0);
      const auto source = open_bytes(raw, 1000);
      std::string part(size, '\0');
      EXPECT_EQ(source->read(part), size);
      EXPECT_EQ(part, text.substr(0, size));
    }
  }
}

TEST(ByteSource, StopsItsThreadWhenItIsLeftEarly) {
  const TemporaryFile file(gzip(some_text(100000)));
  for (int i = 0; i < 50; ++i) {
    const auto source = open_bytes(file.path(), 100);
    std::string part(static_cast<std::size_t>(i), '\0');
    EXPECT_EQ(source->read(part), part.size());
  }
}

}  // namespace
}  // namespace mlo::testing
