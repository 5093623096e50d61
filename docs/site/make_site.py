# SPDX-License-Identifier: MIT
"""make_site.py SOURCE_DIR BUILD_DIR OUT_DIR: the documentation as a folder of pages that load nothing from outside.

README.md is its first page, docs/*.md are the next; the reference is made of the public headers, of the type
stubs and docstrings of the built Python package, and of what the built program says of its flags.
"""
import html
import re
import shutil
import sys
from pathlib import Path

import cpp_pages
import program_pages
from code_html import Names
from markdown import Document
from page import Page, framed
from python_pages import Reference

# In the order that a reader needs them.
GUIDES = {
    "Start": ["README.md", "docs/guide.md"],
    "Topics": [f"docs/{name}.md" for name in "robots scale service python training evaluation datasets onnx ria_ft_format".split()],
    "Project": ["ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"],
}


def page_file(source):
    return "index.html" if source == "README.md" else Path(source).stem.lower() + ".html"


class Site:
    def __init__(self, source, build, out):
        self._source, self._out = source, out
        self._guides = [(group, file) for group, files in GUIDES.items() for file in files]
        self._require_all_guides()
        self._copied = {}
        self._names = Names()
        self._headers = cpp_pages.read_headers(source / "include" / "ria")
        self._commands = program_pages.read_commands(build / "ria")
        self._python = Reference(source / "python" / "ria" / "__init__.pyi", import_ria(build))
        cpp_pages.register(self._headers, self._names)
        program_pages.register(self._commands, self._names)
        self._python.register(self._names)
        self._version = re.search(r"project\(ria VERSION ([\d.]+)", (source / "CMakeLists.txt").read_text())[1]

    def _require_all_guides(self):
        listed = {file for _, file in self._guides}
        for file in sorted((self._source / "docs").glob("*.md")):
            if f"docs/{file.name}" not in listed:
                raise SystemExit(f"docs/{file.name} is not among the pages that make_site.py lists")

    def write(self):
        guides = [self._guide(group, file) for group, file in self._guides]
        project = [page for page in guides if page.group == "Project"]
        pages = [page for page in guides if page.group != "Project"]
        pages += program_pages.pages(self._commands, self._names) + cpp_pages.pages(self._headers, self._names)
        pages += [self._python.page(self._names), *project, self._all_names()]
        if self._out.exists():
            shutil.rmtree(self._out)
        self._out.mkdir(parents=True)
        for page in pages:
            (self._out / page.file).write_text(framed(page, pages, self._version))
        shutil.copy(Path(__file__).parent / "site.css", self._out)
        shutil.copy(self._source / "src" / "serve" / "page" / "icon.svg", self._out)
        for file, name in self._copied.items():
            (self._out / name).parent.mkdir(exist_ok=True)
            shutil.copy(file, self._out / name)
        return len(pages)

    def _guide(self, group, file):
        path = self._source / file
        document = Document(path.read_text(), lambda target: self._address(path, target), self._names)
        label = "What ria is" if file == "README.md" else ""
        return Page(page_file(file), document.title, group, document.html, document.headings, file, label)

    def _address(self, path, target):
        """Where a link of a file leads in the site: to a page, a copied file, or out into the world."""
        if re.match(r"https?://|#", target):
            return html.escape(target)
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve()
        if not file.is_file():
            raise SystemExit(f"{path.relative_to(self._source)} links to {target}, which does not exist")
        inside = str(file.relative_to(self._source))
        if inside in [guide for _, guide in self._guides]:
            return page_file(inside) + (f"#{anchor}" if anchor else "")
        self._copied[file] = f"files/{file.name}"
        return self._copied[file]

    def _all_names(self):
        items = "\n".join(
            f'<li><a href="{address}"><code>{html.escape(name)}</code></a></li>'
            for name, address in self._names.items()
            if not name.startswith("--")
        )
        body = (
            '<h1>All names</h1>\n<p class="lead">Every command and flag, every type and function of C++ and of Python, on one page for '
            f'the browser\'s own search.</p>\n<ul class="names">{items}</ul>'
        )
        return Page("names.html", "All names", "Project", body)


def import_ria(build):
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(build / "python"))
    import ria

    return ria


def main(source, build, out):
    count = Site(Path(source).resolve(), Path(build).resolve(), Path(out)).write()
    print(f"{count} pages: {Path(out) / 'index.html'}")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
