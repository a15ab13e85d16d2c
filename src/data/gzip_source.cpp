// Copyright (c) the mlo authors. BSD-3-Clause.
#include "data/gzip_source.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

namespace mlo {
namespace {

// Inflates the members of a gzip file one after the other.
class Inflater {
 public:
  Inflater(std::unique_ptr<RawFile> raw, std::span<const char> first)
      : raw_(std::move(raw)), input_(input_bytes) {
    std::copy(first.begin(), first.end(), input_.begin());
    taken_ = first.size();
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(first.size());
    constexpr int gzip_only = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, gzip_only) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Fills `to` unless the data end first; returns the number of bytes. Throws DataError.
  std::size_t read(std::span<char> to) {
    stream_.next_out = reinterpret_cast<Bytef*>(to.data());
    stream_.avail_out = static_cast<uInt>(to.size());
    while (stream_.avail_out > 0 && step()) {
    }
    return to.size() - stream_.avail_out;
  }

  // The share of the compressed bytes that has been inflated.
  [[nodiscard]] double share() const noexcept { return raw_->share(taken_ - stream_.avail_in); }

 private:
  static constexpr std::size_t input_bytes = std::size_t{1} << 17;

  // One call of inflate; false at the end of the file.
  bool step() {
    if (stream_.avail_in == 0 && !refill()) {
      if (!between_members_) {
        throw DataError(raw_->name(), "the gzip data end too early; the file is truncated");
      }
      return false;
    }
    if (between_members_) {  // some writers pad the file with zeros
      while (stream_.avail_in > 0 && *stream_.next_in == 0) {
        ++stream_.next_in;
        --stream_.avail_in;
      }
      if (stream_.avail_in == 0) return true;
      between_members_ = false;
    }
    switch (inflate(&stream_, Z_NO_FLUSH)) {
      case Z_OK:
      case Z_BUF_ERROR:  // it wants more input or more room, and gets it at the next call
        return true;
      case Z_STREAM_END:
        between_members_ = true;
        inflateReset(&stream_);
        return true;
      case Z_MEM_ERROR:
        throw std::bad_alloc();
      default:
        throw DataError(raw_->name(), fmt::format("the gzip data are corrupt ({})",
                                                  stream_.msg != nullptr ? stream_.msg : "unknown error"));
    }
  }

  bool refill() {
    const std::size_t got = raw_->read(input_);
    taken_ += got;
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(got);
    return got > 0;
  }

  std::unique_ptr<RawFile> raw_;
  std::vector<char> input_;
  z_stream stream_{};
  std::uint64_t taken_ = 0;  // compressed bytes read from the file
  bool between_members_ = false;
};

// A ring of blocks between the inflating thread and the reader. The thread that fills or empties a block owns
// it and does so without the lock, which guards only `filled_`, `done_`, `stop_` and `error_`.
class GzipSource final : public ByteSource {
 public:
  GzipSource(std::unique_ptr<RawFile> raw, std::span<const char> first, std::size_t block_bytes)
      : inflater_(std::move(raw), first), block_bytes_(block_bytes) {
    for (Block& block : ring_) block.text = std::make_unique_for_overwrite<char[]>(block_bytes);
    thread_ = std::thread([this] { produce(); });
  }

  ~GzipSource() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  std::size_t read(std::span<char> to) override {
    std::size_t have = 0;
    while (have < to.size() && wait_for_text()) {
      const Block& block = ring_[tail_ % ring_.size()];
      const std::size_t n = std::min(to.size() - have, block.size - used_);
      std::memcpy(to.data() + have, block.text.get() + used_, n);
      have += n;
      used_ += n;
      share_ = block.share;
      if (used_ == block.size) give_back();
    }
    return have;
  }

  double share() const noexcept override { return share_; }

 private:
  struct Block {
    std::unique_ptr<char[]> text;
    std::size_t size = 0;
    double share = 0.0;  // of the compressed bytes, up to the end of this block
  };

  void produce() noexcept {
    std::exception_ptr error;
    try {
      for (std::size_t head = 0; wait_for_room(); ++head) {
        Block& block = ring_[head % ring_.size()];
        block.size = inflater_.read({block.text.get(), block_bytes_});
        block.share = inflater_.share();
        if (block.size == 0) break;
        {
          const std::lock_guard lock(mutex_);
          ++filled_;
        }
        changed_.notify_all();
      }
    } catch (...) {
      error = std::current_exception();
    }
    {
      const std::lock_guard lock(mutex_);
      error_ = std::move(error);
      done_ = true;
    }
    changed_.notify_all();
  }

  bool wait_for_room() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stop_ || filled_ < ring_.size(); });
    return !stop_;
  }

  // False at the end. An error of the inflating thread is thrown here, once the blocks before it have been
  // read.
  bool wait_for_text() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return filled_ > 0 || done_; });
    if (filled_ > 0) return true;
    if (error_) std::rethrow_exception(error_);
    return false;
  }

  void give_back() {
    {
      const std::lock_guard lock(mutex_);
      --filled_;
    }
    changed_.notify_all();
    ++tail_;
    used_ = 0;
  }

  Inflater inflater_;  // used only by the thread once it runs
  std::size_t block_bytes_;
  std::array<Block, 3> ring_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t filled_ = 0;
  bool done_ = false;
  bool stop_ = false;
  std::exception_ptr error_;

  std::size_t tail_ = 0;  // used only by the reader
  std::size_t used_ = 0;
  double share_ = 0.0;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<ByteSource> open_gzip(std::unique_ptr<RawFile> raw, std::span<const char> first,
                                      std::size_t block_bytes) {
  return std::make_unique<GzipSource>(std::move(raw), first, block_bytes);
}

}  // namespace mlo
