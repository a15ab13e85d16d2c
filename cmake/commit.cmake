# Writes OUT, a source with the commit of SOURCE; only if it has changed, so that nothing is compiled for nothing.
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=10 --exclude=*
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
if(NOT status EQUAL 0 OR NOT commit MATCHES "^[0-9a-f]+(-dirty)?$")
  set(commit "")
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT
  "// Made by cmake/commit.cmake.\nnamespace mlo::cli {\nconst char* commit();\nconst char* commit() { return \"${commit}\"; }\n}  // namespace mlo::cli\n")
