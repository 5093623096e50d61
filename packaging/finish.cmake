# SPDX-License-Identifier: MIT
# Run by CPack when a package's files are in a folder of their own, before they are packed: makes them what
# Debian asks for, and finds the packages they need.

# A package has its own folders of libraries in the loader's: paths in the files are for other places.
function(find_programs folder result)
  file(GLOB_RECURSE files ${folder}/*)
  foreach(file ${files})
    if(IS_SYMLINK ${file})
      continue()
    endif()
    file(READ ${file} start LIMIT 4 HEX)
    if(start STREQUAL 7f454c46)
      file(RPATH_REMOVE FILE ${file})
      list(APPEND found ${file})
    endif()
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(write_documents package folder)
  set(documents ${folder}/usr/share/doc/${package})
  file(MAKE_DIRECTORY ${documents})
  file(COPY_FILE ${CPACK_RIA_SOURCE_DIR}/CHANGELOG.md ${documents}/changelog)
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # of SOURCE_DATE_EPOCH, where it is set
  file(WRITE ${documents}/changelog.Debian
    "ria (${CPACK_RIA_VERSION}) unstable; urgency=medium\n\n  * As released; see changelog.gz.\n\n -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
  file(READ ${CPACK_RIA_SOURCE_DIR}/LICENSE licence)
  string(REGEX MATCH "Copyright \\(c\\) ([^\n]*)" line "${licence}")
  set(holder ${CMAKE_MATCH_1})
  string(REGEX REPLACE "^.*${holder}\n\n" "" licence "${licence}")
  string(REGEX REPLACE "\n\n" "\n.\n" licence "${licence}")
  string(REGEX REPLACE "\n(.)" "\n \\1" licence "${licence}")
  file(WRITE ${documents}/copyright
    "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: ria\n\n"
    "Files: *\nCopyright: ${holder}\nLicense: Expat\n ${licence}")
  file(CHMOD ${documents}/changelog ${documents}/changelog.Debian ${documents}/copyright
       PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  file(GLOB texts ${documents}/changelog* ${folder}/usr/share/man/man*/*)
  run(gzip -9n ${texts})
endfunction()

# Packages of the libraries that the files are linked with: those of plugins, which are loaded on demand, are
# recommended, unless the package is there for the plugin's sake. ONNX Runtime is in no package.
function(find_libraries package programs)
  set(plugins ${programs})
  list(FILTER plugins INCLUDE REGEX "/libria-[a-z0-9]+\\.so$")
  list(REMOVE_ITEM programs ${plugins})
  list(FILTER plugins EXCLUDE REGEX "/libria-onnx\\.so$")
  if(package STREQUAL ria-train)
    set(programs ${plugins})
    set(plugins "")
  endif()
  set(folder ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/../shlibdeps)
  file(WRITE ${folder}/debian/control "Source: ria\n\nPackage: ${package}\nArchitecture: any\n")
  file(GLOB_RECURSE library ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/libria/libria.so.?)
  get_filename_component(library_folder ${library} DIRECTORY)
  execute_process(COMMAND dpkg-shlibdeps -O --ignore-missing-info --warnings=0 -xlibria -l${library_folder}
                          -dDepends ${programs} -dRecommends ${plugins}
                  WORKING_DIRECTORY ${folder} OUTPUT_VARIABLE found ERROR_VARIABLE error RESULT_VARIABLE result)
  if(result)
    message(FATAL_ERROR "dpkg-shlibdeps of ${package}: ${error}")
  endif()
  foreach(field Depends Recommends)
    if(found MATCHES "shlibs:${field}=([^\n]*)")
      set(${field} ${CMAKE_MATCH_1} PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

set(depends_libria "")
set(depends_libria-dev "libria (= ${CPACK_RIA_VERSION})")
set(depends_ria-tools "libria (= ${CPACK_RIA_VERSION})")
set(depends_python3-ria "libria (= ${CPACK_RIA_VERSION}), ${CPACK_RIA_PYTHON_DEPENDS}")
set(depends_ria-train "libria (= ${CPACK_RIA_VERSION}), ria-tools (= ${CPACK_RIA_VERSION})")
foreach(package ${CPACK_COMPONENTS_ALL})
  set(folder ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${package})
  write_documents(${package} ${folder})
  find_programs(${folder} programs)
  set(Depends "")
  set(Recommends "")
  if(programs)
    find_libraries(${package} "${programs}")
  endif()
  string(TOUPPER CPACK_DEBIAN_${package}_PACKAGE prefix)
  string(JOIN ", " ${prefix}_DEPENDS ${depends_${package}} ${Depends})
  string(JOIN ", " ${prefix}_RECOMMENDS ${Recommends})
endforeach()
