# The GPU's part, where a CUDA toolkit is found: every .cu file, for one older architecture and for
# Hopper, warnings as errors. Without a toolkit nothing here is built and runtime/none.cpp says so to
# whoever asks for a GPU. nvcc is called directly: as a language of CMake it would want a toolkit, and
# a say in how every program is linked, also where there is none.
option(STEADY_CUDA "build the GPU variants if a CUDA toolkit is found" ON)
# Fewer build faster: -DSTEADY_CUDA_ARCHITECTURES=90a
set(STEADY_CUDA_ARCHITECTURES 80 90a CACHE STRING "GPU architectures to compile for")
if(STEADY_CUDA)
    find_program(STEADY_NVCC nvcc HINTS /usr/local/cuda/bin ENV CUDA_HOME PATH_SUFFIXES bin)
endif()
set(STEADY_GPU_OBJECTS)
if(NOT STEADY_CUDA OR NOT STEADY_NVCC)
    set(why "no nvcc on the PATH or in /usr/local/cuda/bin")
    if(NOT STEADY_CUDA)
        set(why "STEADY_CUDA is off")
    endif()
    message(STATUS "GPU variants are left out: ${why}")
    return()
endif()
cmake_path(GET STEADY_NVCC PARENT_PATH toolkit)
cmake_path(GET toolkit PARENT_PATH toolkit)
set(STEADY_CUDA_FOLDER ${toolkit})
find_library(STEADY_CUDART cudart_static HINTS ${toolkit}/lib64 ${toolkit}/lib REQUIRED)
message(STATUS "GPU variants are built by ${STEADY_NVCC}")

set(flags -std=c++20 -O3 -lineinfo --no-compress --extended-lambda -I${CMAKE_SOURCE_DIR} --Werror all-warnings
    # What nvcc makes of our headers for the host's compiler has parentheses of its own.
    -Xcompiler -Wall,-Wextra,-Werror,-Wno-parentheses,-Wno-missing-field-initializers,-march=x86-64-v2)
# For Hopper alone, besides variants that say so: an older card would find kernels that do nothing, or
# kernels that only such variants launch.
set(hopper "^(block_decode|mla_batch|persistent)/|/(cuda_cluster|kernel_deep|kernel_ways)\\.cu$")
# Compiles a file with flags of its own: gpu_object(NAME FILE FLAGS…), NAME beneath the build's gpu folder.
function(gpu_object name file)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/gpu/${name}.o)
    cmake_path(GET object PARENT_PATH folder)
    file(MAKE_DIRECTORY ${folder})
    # A variant's path, given here or in a joined file, is its name, as elsewhere by __builtin_FILE().
    add_custom_command(OUTPUT ${object} DEPENDS ${file} DEPFILE ${object}.d
        COMMAND ${STEADY_HUGE_PAGES} ${STEADY_NVCC} ${flags} ${ARGN}
            -MD -MF ${object}.d -c ${file} -o ${object} VERBATIM)
    set(STEADY_GPU_OBJECTS ${STEADY_GPU_OBJECTS} ${object} PARENT_SCOPE)
endfunction()
set(groups)
file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*/*.cu)
foreach(file IN LISTS files)
    file(RELATIVE_PATH name ${CMAKE_CURRENT_SOURCE_DIR} ${file})
    # A variant that only says which of a kernel's ways to go has no code for a GPU: as C++ it takes one
    # second, not six. Asked again when the file changes.
    set(codes -x c++)
    set(kind host)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(STRINGS ${file} device REGEX "__(global|device)__|<<<|launch_body<|_kernel<" LIMIT_COUNT 1)
    if(device)
        set(codes)
        set(kind device)
        file(STRINGS ${file} hopper_variant REGEX "compute = 90" LIMIT_COUNT 1)
        foreach(each IN LISTS STEADY_CUDA_ARCHITECTURES)
            if(each STREQUAL "90a" OR NOT (hopper_variant OR name MATCHES "${hopper}"))
                list(APPEND codes -gencode arch=compute_${each},code=sm_${each})
                string(APPEND kind _${each})
            endif()
        endforeach()
    endif()
    # Five of a file's seven seconds go into headers, CUDA's above all: a folder's files of one kind
    # together. Each variant is a namespace of its own.
    if(STEADY_JOIN)
        cmake_path(GET name PARENT_PATH op)
        set(group ${op}/joined_${kind})
        list(APPEND groups ${group})
        set(codes_${group} ${codes})
        string(APPEND text_${group} "#include \"kernels/${name}\"\n")
    else()
        gpu_object(${name} ${file} ${codes})
    endif()
endforeach()
list(REMOVE_DUPLICATES groups)
foreach(group IN LISTS groups)
    set(file ${CMAKE_CURRENT_BINARY_DIR}/gpu/${group}.cu)
    file(CONFIGURE OUTPUT ${file} CONTENT "${text_${group}}" @ONLY)  # untouched if it says this
    gpu_object(${group}.cu ${file} ${codes_${group}})
endforeach()
# Kernels that another compiler generated, as bytes named steady_<op>_<stem> with a zero behind them.
file(GLOB generated CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*/*.ptx)
foreach(file IN LISTS generated)
    file(RELATIVE_PATH name ${CMAKE_CURRENT_SOURCE_DIR} ${file})
    string(REGEX REPLACE "(.*)/(.*)\\.ptx" "steady_\\1_\\2" symbol ${name})
    set(source ${CMAKE_CURRENT_BINARY_DIR}/gpu/${name}.cpp)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/gpu/${name}.o)
    file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [[
asm(".section .rodata\n.global @symbol@\n@symbol@:\n"
    ".incbin \"@file@\"\n.byte 0\n.previous\n"
    ".section .note.GNU-stack,\"\",@progbits\n");
]])
    add_custom_command(OUTPUT ${object} DEPENDS ${source} ${file}
        COMMAND ${CMAKE_CXX_COMPILER} -c ${source} -o ${object} VERBATIM)
    list(APPEND STEADY_GPU_OBJECTS ${object})
endforeach()
add_custom_target(gpu_objects DEPENDS ${STEADY_GPU_OBJECTS})
set(STEADY_GPU_LINK ${STEADY_GPU_OBJECTS} ${STEADY_CUDART} rt ${CMAKE_DL_LIBS} Threads::Threads)
