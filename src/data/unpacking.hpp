// Copyright (c) the mlo authors. BSD-3-Clause.
// Internals of byte_source: compressed files, and a thread that reads ahead.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "byte_source.hpp"

namespace mlo {

inline constexpr std::size_t magic_bytes = 4;  // enough to tell the formats apart

[[nodiscard]] bool is_gzip(std::string_view first_bytes) noexcept;
[[nodiscard]] bool is_zstd(std::string_view first_bytes) noexcept;

// `first`: the bytes already taken from the file.
[[nodiscard]] std::unique_ptr<ByteSource> open_gzip(std::shared_ptr<RawFile> file,
                                                    std::span<const char> first);
[[nodiscard]] std::unique_ptr<ByteSource> open_zstd(std::shared_ptr<RawFile> file,
                                                    std::span<const char> first);

// Reads the source on a thread of its own, a few blocks ahead.
[[nodiscard]] std::unique_ptr<ByteSource> read_ahead(std::unique_ptr<ByteSource> source,
                                                     std::size_t block_bytes);

}  // namespace mlo
