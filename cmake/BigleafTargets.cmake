# SPDX-License-Identifier: MIT
# How every target of the project is compiled, and where it is left.

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_C_FLAGS_RELEASE "-O2 -g -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g -DNDEBUG")

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

# Distributions ask for optimisation at link time (Ubuntu's packages do). The
# runtime has entries in assembly that name what such a linker would rename, and
# its objects are joined by linkers that do not optimise.
add_compile_options(-fno-lto)
add_compile_options(
  -Wall -Wextra -Wshadow -Wundef -Wcast-qual -Wvla
  $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
  $<$<COMPILE_LANGUAGE:C>:-Wconversion>
  $<$<COMPILE_LANGUAGE:C>:-Wswitch-enum>)
if(BL_WERROR)
  add_compile_options(-Werror)
endif()
if(BL_SANITIZE)
  add_compile_options(-fsanitize=${BL_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${BL_SANITIZE})
endif()
if(BL_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()
add_compile_definitions(BL_CHECKS=${BL_CHECKS} BL_VERSION="${PROJECT_VERSION}" _GNU_SOURCE)
include_directories(${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)

# The runtime may not allocate, and its thread-local data must be reachable
# before any constructor has run. A static program asks whether it is off before
# it has thread-local data at all (runtime/switch.c), where a stack protector,
# which distributions switch on, finds its canary.
set(BL_RUNTIME_OPTIONS -ftls-model=initial-exec -fno-builtin-malloc -fno-builtin-calloc
    -fno-builtin-realloc -fno-builtin-free -fno-stack-protector)

# One folder of src/ as an object library: bl_layer(NAME file.c ...)
function(bl_layer name)
  add_library(bl_${name} OBJECT ${ARGN})
  target_compile_options(bl_${name} PRIVATE $<$<COMPILE_LANGUAGE:C>:${BL_RUNTIME_OPTIONS}>)
endfunction()

# Lets TARGET depend on every program and library of the folders below FOLDER.
function(bl_collect_products target folder)
  get_property(below DIRECTORY ${CMAKE_SOURCE_DIR} PROPERTY SUBDIRECTORIES)
  foreach(directory ${below})
    if(NOT directory MATCHES "^${CMAKE_SOURCE_DIR}/${folder}/")
      continue()
    endif()
    get_property(names DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
    foreach(name ${names})
      get_target_property(type ${name} TYPE)
      if(type MATCHES "^(EXECUTABLE|(SHARED|STATIC|MODULE)_LIBRARY)$")
        add_dependencies(${target} ${name})
      endif()
    endforeach()
  endforeach()
endfunction()
