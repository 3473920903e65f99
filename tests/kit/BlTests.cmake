# SPDX-License-Identifier: MIT
#
# How test programs become tests. A program of the malloc ABI is an ordinary
# program; it is run once per variant, so that the same source judges every
# way in which the runtime gets under a program:
#
#   libc      the plain libc: shows that the test itself is right
#   preload   LD_PRELOAD=libbigleaf.so
#   static    linked with libbigleaf.a
#   base      preload, BIGLEAF_PAGES=base
#   off       preload, BIGLEAF=off
#
# The label of a test is the name of its folder; exit status 77 is a skip.

include_guard(GLOBAL)

# Sanitizers bring a malloc of their own, so nothing is interposed there.
if(TARGET bigleaf_shared AND NOT BL_SANITIZE)
  set(BL_TEST_PRELOAD TRUE)
endif()
if(TARGET bigleaf_static AND NOT BL_SANITIZE)
  set(BL_TEST_STATIC TRUE)
endif()

function(bl_test_properties name)
  cmake_parse_arguments(arg "SERIAL" "LABEL;TIMEOUT" "ENV" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL} SKIP_RETURN_CODE 77
    TIMEOUT ${arg_TIMEOUT} ENVIRONMENT "${arg_ENV}")
  if(arg_SERIAL)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL TRUE)
  endif()
endfunction()

# A folder of its own for the temporary files of one test by pytest, in the
# variable OUT: of two sessions that end in one folder at once, one may stumble
# over what the other clears away.
function(bl_pytest_folder out name)
  set(folder ${CMAKE_BINARY_DIR}/tests/tmp/${name})
  file(MAKE_DIRECTORY ${folder})
  set(${out} PYTEST_DEBUG_TEMPROOT=${folder} PARENT_SCOPE)
endfunction()

# What tests written in Python share.
set(BL_TEST_PYTHON PYTHONPATH=${CMAKE_CURRENT_LIST_DIR})

# bl_pytests(LABEL [VARIABLE=VALUE...]): the test_*.py of this folder, a test
# each, with these variables and those that all of them read.
function(bl_pytests label)
  file(GLOB modules CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/test_*.py)
  foreach(module ${modules})
    get_filename_component(name ${module} NAME_WE)
    string(REPLACE "test_" "${label}." name ${name})
    if(BL_PYTEST)
      add_test(NAME ${name} COMMAND ${BL_PYTEST} -m pytest -q -rs
        -p no:cacheprovider -W error ${module})
    else()
      add_test(NAME ${name} COMMAND sh -c
        "echo 'pytest is missing: install python3-pytest'; exit 77")
    endif()
    bl_pytest_folder(folder ${name})
    bl_test_properties(${name} LABEL ${label} TIMEOUT 300 ENV ${folder}
      BIGLEAF_COMMAND=$<TARGET_FILE:bigleaf>
      BIGLEAF_SOURCE=${CMAKE_SOURCE_DIR}
      ${BL_TEST_PYTHON} PYTHONDONTWRITEBYTECODE=1 ${ARGN})
  endforeach()
endfunction()

# The compiler may assume nothing of malloc while malloc is under test (-fno-
# builtin): else it removes pairs of malloc and free, and knows what calloc
# leaves behind. And the tests ask for impossible sizes on purpose.
set(BL_TEST_GNU_OPTIONS -Wno-alloc-size-larger-than -Wno-use-after-free)

function(bl_test_target target)
  cmake_parse_arguments(arg "NO_KIT" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${target} ${arg_SOURCES})
  target_compile_options(${target} PRIVATE -fno-builtin
    "$<$<COMPILE_LANG_AND_ID:C,GNU>:${BL_TEST_GNU_OPTIONS}>"
    "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:${BL_TEST_GNU_OPTIONS}>")
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests/kit)
  if(NOT arg_NO_KIT)
    target_link_libraries(${target} PRIVATE bl_test_kit)
  endif()
  target_link_libraries(${target} PRIVATE ${arg_LIBS} Threads::Threads ${CMAKE_DL_LIBS})
  set_target_properties(${target} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/bin)
endfunction()

# bl_malloc_test(LABEL NAME SOURCES file... [VARIANTS ...] [ARGS ...]
#                [LIBS ...] [ENV ...] [TIMEOUT s] [NO_KIT] [SERIAL])
function(bl_malloc_test label name)
  if(BL_SANITIZE)
    return() # it would test the sanitizer's malloc
  endif()
  cmake_parse_arguments(arg "NO_KIT;SERIAL" "TIMEOUT" "SOURCES;VARIANTS;ARGS;LIBS;ENV" ${ARGN})
  if(NOT arg_VARIANTS)
    set(arg_VARIANTS libc preload static base off)
  endif()
  set(kit)
  if(arg_NO_KIT)
    set(kit NO_KIT)
  endif()
  set(serial)
  if(arg_SERIAL)
    set(serial SERIAL)
  endif()
  set(target ${label}_${name})
  bl_test_target(${target} ${kit} SOURCES ${arg_SOURCES} LIBS ${arg_LIBS})
  if(BL_TEST_STATIC AND "static" IN_LIST arg_VARIANTS)
    bl_test_target(${target}_static ${kit} SOURCES ${arg_SOURCES} LIBS ${arg_LIBS} bigleaf_static)
  endif()
  foreach(variant ${arg_VARIANTS})
    set(env ${arg_ENV})
    set(program ${target})
    if(variant STREQUAL "static")
      if(NOT BL_TEST_STATIC)
        continue()
      endif()
      set(program ${target}_static)
      list(APPEND env BL_TEST_MALLOC=bigleaf)
    elseif(NOT variant STREQUAL "libc")
      if(NOT BL_TEST_PRELOAD)
        continue()
      endif()
      list(APPEND env LD_PRELOAD=$<TARGET_FILE:bigleaf_shared>)
      if(variant STREQUAL "off")
        list(APPEND env BIGLEAF=off)
      else()
        list(APPEND env BL_TEST_MALLOC=bigleaf)
      endif()
      if(variant STREQUAL "base")
        list(APPEND env BIGLEAF_PAGES=base)
      endif()
    endif()
    add_test(NAME ${label}.${name}.${variant} COMMAND ${program} ${arg_ARGS})
    bl_test_properties(${label}.${name}.${variant} LABEL ${label} TIMEOUT ${arg_TIMEOUT}
      ENV ${env} ${serial})
  endforeach()
endfunction()
