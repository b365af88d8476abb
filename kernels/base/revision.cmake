# Writes OUT with VERSION, BUILD and the revision of SOURCE: REVISION, else git's word for it, else VERSION. Never fails a
# build, and leaves the file alone when nothing changed.
set(revision "${REVISION}")
find_package(Git QUIET)
if(revision STREQUAL "" AND GIT_FOUND AND EXISTS ${SOURCE}/.git)
    execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} describe --always --dirty --abbrev=10
        OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT revision MATCHES "^[A-Za-z0-9._-]+$")
    set(revision ${VERSION})
endif()
set(text "// Written by kernels/base/revision.cmake.\n#include \"kernels/base/revision.h\"\n
namespace steady {
const char* steady_revision() { return \"${revision}\"; }
const char* steady_version() { return \"${VERSION}\"; }
const char* steady_build() { return \"${BUILD}\"; }
}  // namespace steady\n")
file(CONFIGURE OUTPUT ${OUT} CONTENT "${text}" @ONLY)
message("${revision}")
