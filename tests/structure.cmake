# The project as others see it: its layers, its headers, the installed package, the examples.

add_test(NAME structure/layers COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/layers_test.py ${PROJECT_SOURCE_DIR})

# Every public header compiles alone. One with a body is the first include of that body (layers_test.py checks); for the
# others there is a source that includes nothing else.
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/include/mlo/*.hpp)
set(header_sources)
foreach(header ${headers})
  string(REGEX REPLACE "^mlo/(.*)\\.hpp$" "\\1.cpp" body ${header})
  if(EXISTS ${PROJECT_SOURCE_DIR}/src/${body})
    continue()
  endif()
  string(REPLACE "/" "_" name ${header})
  set(source ${CMAKE_CURRENT_BINARY_DIR}/headers/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n#include \"${header}\"  // and twice\n")
  list(APPEND header_sources ${source})
endforeach()
add_library(test_headers OBJECT ${header_sources})
target_link_libraries(test_headers PRIVATE mlo mlo_warnings)
target_compile_options(test_headers PRIVATE -O0)
set_target_properties(test_headers PROPERTIES CXX_CLANG_TIDY "")  # sees the headers where they are used

# Projects of their own that find the installed package: a consumer's, and the examples. Each program says by its exit
# code whether its results are right.
function(mlo_project_test test source program)
  add_test(NAME ${test} COMMAND ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR} -DSOURCE=${source} -DPROGRAM=${program}
    -DWORK=${CMAKE_CURRENT_BINARY_DIR}/projects/${program} -DCOMPILER=${CMAKE_CXX_COMPILER} "-DFLAGS=${CMAKE_CXX_FLAGS}"
    -P ${CMAKE_CURRENT_SOURCE_DIR}/consumer/run.cmake)
  set_tests_properties(${test} PROPERTIES TIMEOUT ${MLO_TEST_TIMEOUT})
endfunction()
mlo_project_test(structure/consumer ${CMAKE_CURRENT_SOURCE_DIR}/consumer consumer)
mlo_project_test(examples/custom_model ${PROJECT_SOURCE_DIR}/examples/custom_model custom_model)
