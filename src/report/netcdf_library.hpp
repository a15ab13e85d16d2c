// Copyright (c) the mlo authors. BSD-3-Clause.
// netCDF's C functions, found in libnetcdf.so at run time. Linked to it, the command would load 43 more
// libraries whenever it starts. Declared here by hand, as far as they are used; netCDF keeps them as they
// are.
#pragma once

#include <cstddef>
#include <string>

namespace mlo::netcdf {

// netCDF's own numbers.
inline constexpr int global = -1;
inline constexpr int format_4 = 0x1000;  // HDF5
inline constexpr int float32 = 5, float64 = 6, int64 = 10, uint64 = 11, string = 12;
inline constexpr std::size_t longest_name = 256;  // bytes

// A file in memory, allocated by malloc.
struct Memory {
  std::size_t size;
  void* bytes;
  int flags;
};

struct Library {
  std::string file;  // as found

  const char* (*inq_libvers)() = nullptr;
  const char* (*strerror)(int status) = nullptr;
  int (*create_mem)(const char* name, int mode, std::size_t size_at_first, int* file) = nullptr;
  int (*close_memio)(int file, Memory* contents) = nullptr;  // the memory is ours to free
  int (*abort)(int file) = nullptr;
  int (*def_grp)(int file, const char* name, int* group) = nullptr;
  int (*def_dim)(int group, const char* name, std::size_t length, int* dimension) = nullptr;
  int (*def_var)(int group, const char* name, int type, int dimensions, const int* which,
                 int* variable) = nullptr;
  int (*def_var_deflate)(int group, int variable, int shuffle, int deflate, int level) = nullptr;
  int (*put_att_text)(int group, int variable, const char* name, std::size_t length,
                      const char* text) = nullptr;
  int (*put_att_ulonglong)(int group, int variable, const char* name, int type, std::size_t count,
                           const unsigned long long* values) = nullptr;
  int (*put_var_double)(int group, int variable, const double* values) = nullptr;
  int (*put_var_float)(int group, int variable, const float* values) = nullptr;
  int (*put_var_longlong)(int group, int variable, const long long* values) = nullptr;
  int (*put_var_string)(int group, int variable, const char** texts) = nullptr;
  int (*put_vara_float)(int group, int variable, const std::size_t* first, const std::size_t* counts,
                        const float* values) = nullptr;
};

// The library: from MLO_NETCDF, or from where the system looks for libraries. Loaded at the first call and
// kept. Throws DataError: there is none, with how to get it; it cannot be loaded; it lacks a function.
[[nodiscard]] const Library& library();

}  // namespace mlo::netcdf
