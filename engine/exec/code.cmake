# Writes OUT with a hash of the code behind each choice of a plan, so that a record tells which code ran and a default
# cannot outlive the code that its verdict measured:
#   OP/VARIANT      kernels/OP/VARIANT.cpp (or .cu) and the kernel headers that it includes, directly or not; of a .cu file
#                   also what implements those headers: the .cu files beside them that are no variants
#   STEP/NAME       engine/model/steps/STEP_NAME.cpp
#   exec/threads    threads.cpp and threads.h of kernels/threads (earlier of engine/exec): how launches are partitioned
# Cosmetic changes leave a hash as it is: comments, white space, #include lines, the place of a header. Headers that
# compute nothing are left out: error.h, op.h and what registers, describes or checks variants.
# Changing this rule changes the hashes: engine/exec/champions_code.cpp must then be written anew from each record's
# revision.
cmake_minimum_required(VERSION 3.18)
set(no_arithmetic "/(registry|error|cases?|cpu|aligned|op|shapes?|utf8|text)[^/]*\\.h$")

# The text of a file without what is cosmetic; cached, since most headers serve many variants.
function(normal_hash path out)
    get_property(known GLOBAL PROPERTY "hash:${path}")
    if(NOT known)
        file(READ ${SOURCE}/${path} text)
        string(REGEX REPLACE "//[^\n]*" "" text "${text}")
        string(REGEX REPLACE "/\\*([^*]|\\*+[^*/])*\\*+/" " " text "${text}")
        string(REGEX REPLACE "#[ \t]*(include|pragma once)[^\n]*" "" text "${text}")
        string(REGEX REPLACE "[ \t\r\n]+" " " text "${text}")
        string(REGEX REPLACE " ?([^A-Za-z0-9_ ]) ?" "\\1" text "${text}")
        string(STRIP "${text}" text)
        string(SHA256 known "${text}")
        set_property(GLOBAL PROPERTY "hash:${path}" ${known})
    endif()
    set(${out} ${known} PARENT_SCOPE)
endfunction()

function(headers_of path out)
    get_property(known GLOBAL PROPERTY "headers:${path}" SET)
    if(NOT known)
        file(STRINGS ${SOURCE}/${path} lines REGEX "^[ \t]*#[ \t]*include[ \t]*\"kernels/")
        set(found)
        foreach(line IN LISTS lines)
            string(REGEX REPLACE "^[^\"]*\"([^\"]*)\".*" "\\1" header "${line}")
            if(NOT header MATCHES "${no_arithmetic}" AND EXISTS ${SOURCE}/${header})
                list(APPEND found ${header})
            endif()
        endforeach()
        set_property(GLOBAL PROPERTY "headers:${path}" "${found}")
    endif()
    get_property(found GLOBAL PROPERTY "headers:${path}")
    set(${out} "${found}" PARENT_SCOPE)
endfunction()

# What implements the headers of a folder for GPUs.
function(gpu_parts path out)
    get_filename_component(folder ${path} DIRECTORY)
    file(GLOB found RELATIVE ${SOURCE} ${SOURCE}/${folder}/*.cu)
    list(FILTER found EXCLUDE REGEX "/(cuda_[^/]*|runtime)\\.cu$")
    set(${out} "${found}" PARENT_SCOPE)
endfunction()

# The hash of these files and of all kernel headers below them, sorted by hash: names do not count.
function(code_hash out)
    set(open ${ARGN})
    set(seen)
    set(hashes)
    while(open)
        list(POP_FRONT open path)
        if(NOT path IN_LIST seen)
            list(APPEND seen ${path})
            normal_hash(${path} hash)
            list(APPEND hashes ${hash})
            if(path MATCHES "^kernels/")
                headers_of(${path} below)
                list(APPEND open ${below})
                if("${ARGN}" MATCHES "\\.cu$")
                    gpu_parts(${path} below)
                    list(APPEND open ${below})
                endif()
            endif()
        endif()
    endwhile()
    list(SORT hashes)
    string(SHA256 all "${hashes}")
    string(SUBSTRING ${all} 0 16 all)
    set(${out} ${all} PARENT_SCOPE)
endfunction()

set(rows)
file(GLOB files RELATIVE ${SOURCE} ${SOURCE}/kernels/*/*.cpp ${SOURCE}/kernels/*/cuda_*.cu)
list(FILTER files EXCLUDE REGEX "^kernels/(base|cases|cuda|formats|layouts|matrix|registry|runtime|simd|threads|tool)/")
list(FILTER files EXCLUDE REGEX "/op\\.cpp$")
list(SORT files)
foreach(file IN LISTS files)
    code_hash(hash ${file})
    string(REGEX REPLACE "^kernels/(.*)\\.[a-z]+$" "\\1" name ${file})
    string(APPEND rows "    {\"${name}\", \"${hash}\"},\n")
endforeach()
file(GLOB files RELATIVE ${SOURCE} ${SOURCE}/engine/model/steps/*_*.cpp)
list(SORT files)
foreach(file IN LISTS files)
    code_hash(hash ${file})
    string(REGEX REPLACE "^engine/model/steps/([a-z]+)_(.*)\\.cpp$" "\\1/\\2" name ${file})
    string(APPEND rows "    {\"${name}\", \"${hash}\"},\n")
endforeach()
file(GLOB files RELATIVE ${SOURCE} ${SOURCE}/*/*/threads.cpp ${SOURCE}/*/*/threads.h)
code_hash(hash ${files})
string(APPEND rows "    {\"exec/threads\", \"${hash}\"},\n")
set(text "// Written by engine/exec/code.cmake.\n#include \"engine/exec/code.h\"\n
namespace steady {
namespace {
constexpr CodeHash kCode[] = {\n${rows}};
}  // namespace
std::span<const CodeHash> code_hashes() { return kCode; }
}  // namespace steady\n")
file(CONFIGURE OUTPUT ${OUT} CONTENT "${text}" @ONLY)
