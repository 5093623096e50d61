# SPDX-License-Identifier: MIT
# cmake -DOUT=FILE.cc -DFILES="a;b" -P embed.cmake: files as they are, in a source that has page_files().
set(arrays "")
set(rows "")
set(number 0)
foreach(file ${FILES})
  get_filename_component(name ${file} NAME)
  file(READ ${file} hex HEX)
  string(LENGTH "${hex}" digits)
  math(EXPR size "${digits} / 2")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
  string(APPEND arrays "constexpr char file${number}[] = {${bytes}'\\0'};\n")
  string(APPEND rows "    {\"${name}\", {file${number}, ${size}}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUT} "// Made by cmake/embed.cmake.\n#include \"serve/page.h\"\n\nnamespace ria {\n\nnamespace {\n\n${arrays}\n"
     "constexpr PageFile files[] = {\n${rows}};\n\n}  // namespace\n\n"
     "std::span<const PageFile> page_files() { return files; }\n\n}  // namespace ria\n")
