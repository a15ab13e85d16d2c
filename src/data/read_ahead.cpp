// Copyright (c) the mlo authors. BSD-3-Clause.
#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "data/unpacking.hpp"

namespace mlo {
namespace {

// A ring of blocks between the thread and the reader. Whoever fills or empties a block owns it and does so
// without the lock, which guards only `filled_`, `done_`, `stop_` and `error_`.
class ReadAhead final : public ByteSource {
 public:
  ReadAhead(std::unique_ptr<ByteSource> source, std::size_t block_bytes)
      : source_(std::move(source)), block_bytes_(block_bytes) {
    for (Block& block : ring_) block.text = std::make_unique_for_overwrite<char[]>(block_bytes);
    thread_ = std::thread([this] { produce(); });
  }

  ~ReadAhead() override {
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
    double share = 0.0;  // of the file's bytes, up to the end of this block
  };

  void produce() noexcept {
    std::exception_ptr error;
    try {
      for (std::size_t head = 0; wait_for_room(); ++head) {
        Block& block = ring_[head % ring_.size()];
        block.size = source_->read({block.text.get(), block_bytes_});
        block.share = source_->share();
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

  // False at the end. An error of the thread is thrown here, once the blocks before it have been read.
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

  std::unique_ptr<ByteSource> source_;  // used only by the thread once it runs
  std::size_t block_bytes_;
  std::array<Block, 4> ring_;
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

std::unique_ptr<ByteSource> read_ahead(std::unique_ptr<ByteSource> source, std::size_t block_bytes) {
  return std::make_unique<ReadAhead>(std::move(source), block_bytes);
}

}  // namespace mlo
