# The warnings every target of the project compiles with.
add_library(mlo_warnings INTERFACE)
target_compile_options(mlo_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual -Wundef
  # Of sources that are compiled together, one may have a local name that is a function's in another.
  $<$<NOT:$<BOOL:${MLO_UNITY}>>:-Wshadow>
  # g++ 12 warns of an overlap in "x" + std::to_string(...) that cannot happen (GCC bug 105651).
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<BOOL:${MLO_WERROR}>:-Werror>)

# Six sources at a time: what they all include and instantiate (Eigen, fmt, CLI11) is compiled once for the six. A build
# takes two thirds of the time; the presets for work on the code compile each source alone.
function(mlo_unity target)
  if(MLO_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  endif()
endfunction()
# Sources that are compiled alone all the same: those that include themselves once per instruction set, and those that
# use the same names for the same things, a family or a table each.
function(mlo_alone)
  foreach(pattern ${ARGN})
    file(GLOB sources CONFIGURE_DEPENDS ${pattern})
    set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
endfunction()

# Doubles mean the same on every machine: no contraction into fused multiply-adds behind our back.
add_library(mlo_flags INTERFACE)
target_compile_options(mlo_flags INTERFACE -ffp-contract=off)
# Loops with SIMD are compiled once per instruction set. SSSE3 alone is what processors of 2006 have.
add_library(mlo_targets INTERFACE)
target_compile_definitions(mlo_targets INTERFACE HWY_DISABLED_TARGETS=HWY_SSSE3)
target_link_libraries(mlo_flags INTERFACE mlo_targets)

set(mlo_common_headers ${PROJECT_SOURCE_DIR}/src/base/fmt_once.hpp <algorithm> <functional> <map> <memory> <optional> <span> <string> <variant> <vector>)

# The files of a report as a source. uPlot, which draws in the page, is used where ./setup has put it; without it the page
# has pictures that do not move.
function(mlo_web_files out)
  set(places $ENV{XDG_DATA_HOME}/mlo $ENV{HOME}/.local/share/mlo /usr/local/share/mlo /usr/share/mlo)
  find_file(MLO_UPLOT uPlot.iife.min.js PATHS ${places} PATH_SUFFIXES uplot NO_DEFAULT_PATH
    DOC "uPlot's script; its style sheet and licence must be beside it")
  set(uplot_files none none none)
  if(MLO_UPLOT)
    get_filename_component(place ${MLO_UPLOT} DIRECTORY)
    set(uplot_files ${place}/uPlot.min.css ${MLO_UPLOT} ${place}/LICENSE)
  else()
    message(STATUS "uPlot was not found: reports will have static pictures; ./setup --report gets it")
  endif()
  set(web ${PROJECT_SOURCE_DIR}/src/report/web)
  set(files ${web}/report.html ${web}/report.css ${web}/report.js ${uplot_files})
  set(names report_page report_style report_script uplot_style uplot_script uplot_licence)
  set(depends ${files})
  list(REMOVE_ITEM depends none)
  list(JOIN files "," files)
  list(JOIN names "," names)
  set(source ${PROJECT_BINARY_DIR}/generated/web_files.cpp)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DOUT=${source} -DNAMES=${names} -DFILES=${files} -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${depends} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
  set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(${out} ${source} PARENT_SCOPE)
endfunction()

# mlo_layer(NAME DEPENDS a b): a static library of src/NAME/*.cpp with its public headers in include/mlo/NAME.
function(mlo_layer name)
  cmake_parse_arguments(arg "" "" "DEPENDS" ${ARGN})
  list(TRANSFORM arg_DEPENDS PREPEND mlo_ OUTPUT_VARIABLE depends)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  set(target mlo_${name})
  if(NOT sources)
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${depends})
    return()
  endif()
  if(name STREQUAL report)
    mlo_web_files(web_sources)
    list(APPEND sources ${web_sources})
  endif()
  add_library(${target} STATIC ${sources})
  add_library(mlo::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  mlo_alone(src/base/special.cpp src/base/json.cpp src/base/eigen_once.cpp src/data/bind.cpp src/model/linear.cpp src/model/suprema.cpp
    src/model/whitening.cpp src/model/family_*.cpp src/subsample/white_rows.cpp src/subsample/cubic_sums.cpp
    src/subsample/class_*.cpp src/kernel/level_lanes*.cpp
    src/diagnose/quantile.cpp src/diagnose/posterior_draws.cpp)
  mlo_unity(${target})
  target_link_libraries(${target}
    PUBLIC ${depends}
    PRIVATE $<BUILD_INTERFACE:mlo_warnings> $<BUILD_INTERFACE:mlo_flags> fmt::fmt)
  if(name STREQUAL base)
    target_include_directories(${target} SYSTEM PUBLIC $<BUILD_INTERFACE:${RANDOM123_INCLUDE_DIR}>)
    target_link_libraries(${target} PUBLIC Eigen3::Eigen Boost::headers Threads::Threads
      PRIVATE PkgConfig::hwy $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>)
  elseif(name STREQUAL data)
    target_link_libraries(${target} PRIVATE PkgConfig::isal PkgConfig::zstd ${CMAKE_DL_LIBS})  # dl: DuckDB is loaded at run time
  elseif(name MATCHES "^(model|subsample|kernel|chain|diagnose|method)$")  # not all need it, but they share precompiled headers
    target_link_libraries(${target} PRIVATE PkgConfig::hwy)
  elseif(name STREQUAL report)
    target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS})  # netCDF and librsvg are loaded at run time
  elseif(name STREQUAL fit)
    target_compile_definitions(${target} PRIVATE MLO_VERSION="${PROJECT_VERSION}")
  endif()
  # Headers that nearly every source includes take a second or two to parse: once for all layers that use Eigen, once for
  # the others.
  if(name STREQUAL data)
    target_precompile_headers(${target} PRIVATE ${mlo_common_headers})
  elseif(name STREQUAL model)
    target_precompile_headers(${target} PRIVATE ${mlo_common_headers} ${PROJECT_SOURCE_DIR}/src/base/eigen_once.hpp)
  elseif(name MATCHES "^(subsample|kernel|chain|diagnose|method)$")
    target_precompile_headers(${target} REUSE_FROM mlo_model)
  elseif(name MATCHES "^(report|fit)$")
    target_precompile_headers(${target} REUSE_FROM mlo_data)
  endif()
endfunction()
