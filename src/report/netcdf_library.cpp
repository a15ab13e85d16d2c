// Copyright (c) the mlo authors. BSD-3-Clause.
#include "report/netcdf_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <mutex>
#include <optional>
#include <type_traits>

#include "mlo/base/errors.hpp"

namespace mlo::netcdf {
namespace {

struct OpenLibrary {
  void* handle;
  std::string file;
};

OpenLibrary open_library() {
  const auto open = [](const std::string& file) { return ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL); };
  if (const char* const named = std::getenv("MLO_NETCDF"); named != nullptr && *named != '\0') {
    if (void* const handle = open(named)) return {handle, named};
    const char* const words = ::dlerror();
    throw DataError(fmt::format(
        "netCDF files are written by a library, but the one that MLO_NETCDF names cannot be loaded: {}",
        words == nullptr ? "unknown reason" : words));
  }
  // The numbers are those of the interface; what is used here has been the same since 4.6.2 (2018).
  for (const char* file : {"libnetcdf.so.19", "libnetcdf.so.22", "libnetcdf.so"})
    if (void* const handle = open(file)) return {handle, file};
  throw DataError(
      "netCDF files are written by a library, libnetcdf.so, that is not on this machine. Get it with Debian's "
      "package libnetcdf19, or set MLO_NETCDF to the path of one you have");
}

Library load() {
  const OpenLibrary found = open_library();
  Library out;
  out.file = found.file;
  const auto find = [&](auto*& function, const char* name) {
    void* const address = ::dlsym(found.handle, name);
    if (address == nullptr)
      throw DataError(
          fmt::format("{} has no function {}: it is not netCDF, or older than 4.6.2; set MLO_NETCDF "
                      "to the path of another",
                      found.file, name));
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
  };
  find(out.inq_libvers, "nc_inq_libvers");
  find(out.strerror, "nc_strerror");
  find(out.create_mem, "nc_create_mem");
  find(out.close_memio, "nc_close_memio");
  find(out.abort, "nc_abort");
  find(out.def_grp, "nc_def_grp");
  find(out.def_dim, "nc_def_dim");
  find(out.def_var, "nc_def_var");
  find(out.def_var_deflate, "nc_def_var_deflate");
  find(out.put_att_text, "nc_put_att_text");
  find(out.put_att_ulonglong, "nc_put_att_ulonglong");
  find(out.put_var_double, "nc_put_var_double");
  find(out.put_var_float, "nc_put_var_float");
  find(out.put_var_longlong, "nc_put_var_longlong");
  find(out.put_var_string, "nc_put_var_string");
  find(out.put_vara_float, "nc_put_vara_float");
  return out;
}

}  // namespace

const Library& library() {
  static std::mutex mutex;
  static std::optional<Library> loaded;
  const std::lock_guard lock(mutex);
  if (!loaded) loaded = load();
  return *loaded;
}

}  // namespace mlo::netcdf
