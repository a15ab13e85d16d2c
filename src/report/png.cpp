// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/report/png.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>

#include "mlo/base/errors.hpp"

namespace mlo {
namespace {

// What is used of the interfaces of librsvg 2.46 or later, cairo and GLib; all three are stable.
struct RsvgRectangle {
  double x, y, width, height;
};
using Handle = void;   // RsvgHandle
using Surface = void;  // cairo_surface_t
using Cairo = void;    // cairo_t
struct GlibError {
  unsigned domain;
  int code;
  char* message;
};
constexpr int cairo_format_argb32 = 0, cairo_status_success = 0, cairo_status_write_error = 11;

class Rsvg {
 public:
  Rsvg() {
    library_ = dlopen("librsvg-2.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) {
      const char* const why = dlerror();
      problem = fmt::format(
          "PNG files are drawn by librsvg, which is not here; install it (Debian's package librsvg2-2), or write "
          ".svg ({})",
          why == nullptr ? "no reason given" : why);
      return;
    }
    // cairo and GLib are among the libraries that librsvg brings; their symbols are found through it.
    find(new_from_data, "rsvg_handle_new_from_data");
    find(get_size, "rsvg_handle_get_intrinsic_size_in_pixels");
    find(render, "rsvg_handle_render_document");
    find(unref, "g_object_unref");
    find(error_free, "g_error_free");
    find(surface_create, "cairo_image_surface_create");
    find(surface_destroy, "cairo_surface_destroy");
    find(create, "cairo_create");
    find(scale, "cairo_scale");
    find(destroy, "cairo_destroy");
    find(status, "cairo_status");
    find(write_png, "cairo_surface_write_to_png_stream");
  }

  std::string problem;
  Handle* (*new_from_data)(const unsigned char* data, std::size_t size, GlibError** error) = nullptr;
  int (*get_size)(Handle*, double* width, double* height) = nullptr;
  int (*render)(Handle*, Cairo*, const RsvgRectangle* viewport, GlibError** error) = nullptr;
  void (*unref)(void*) = nullptr;
  void (*error_free)(GlibError*) = nullptr;
  Surface* (*surface_create)(int format, int width, int height) = nullptr;
  void (*surface_destroy)(Surface*) = nullptr;
  Cairo* (*create)(Surface*) = nullptr;
  void (*scale)(Cairo*, double x, double y) = nullptr;
  void (*destroy)(Cairo*) = nullptr;
  int (*status)(Cairo*) = nullptr;
  int (*write_png)(Surface*, int (*write)(void* closure, const unsigned char* data, unsigned length),
                   void* closure) = nullptr;

 private:
  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    if (function == nullptr && problem.empty())
      problem =
          fmt::format("the librsvg that is installed has no {}; PNG files need version 2.46 or later", name);
  }
  void* library_ = nullptr;  // never closed: its threads and types outlive a call
};

const Rsvg& rsvg() {
  static const Rsvg library;
  return library;
}

int append_png(void* closure, const unsigned char* data, unsigned length) {
  try {
    static_cast<std::string*>(closure)->append(reinterpret_cast<const char*>(data), length);
  } catch (...) {  // C code above
    return cairo_status_write_error;
  }
  return cairo_status_success;
}

}  // namespace

std::string why_no_png() { return rsvg().problem; }

std::string png_of_svg(const std::string& svg, double scale) {
  const Rsvg& r = rsvg();
  if (!r.problem.empty()) throw DataError(r.problem);
  const auto fail = [&](GlibError* error) {
    const std::string why = error == nullptr ? "no reason given" : error->message;
    if (error != nullptr) r.error_free(error);
    throw DataError(fmt::format("librsvg cannot draw the plot: {}", why));
  };
  GlibError* error = nullptr;
  const std::unique_ptr<Handle, void (*)(void*)> handle(
      r.new_from_data(reinterpret_cast<const unsigned char*>(svg.data()), svg.size(), &error), r.unref);
  if (handle == nullptr) fail(error);
  double width = 0, height = 0;
  if (r.get_size(handle.get(), &width, &height) == 0) fail(nullptr);
  // cairo's pictures have at most 32,767 pixels on a side.
  const double most = 32'000 / std::max(width, height);
  const double factor = std::min(scale, most);
  const std::unique_ptr<Surface, void (*)(void*)> surface(
      r.surface_create(cairo_format_argb32, static_cast<int>(std::ceil(width * factor)),
                       static_cast<int>(std::ceil(height * factor))),
      r.surface_destroy);
  const std::unique_ptr<Cairo, void (*)(void*)> cairo(r.create(surface.get()), r.destroy);
  r.scale(cairo.get(), factor, factor);
  const RsvgRectangle viewport{0, 0, width, height};
  if (r.render(handle.get(), cairo.get(), &viewport, &error) == 0) fail(error);
  if (r.status(cairo.get()) != cairo_status_success) fail(nullptr);
  std::string png;
  if (r.write_png(surface.get(), append_png, &png) != cairo_status_success) fail(nullptr);
  return png;
}

}  // namespace mlo
