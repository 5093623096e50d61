# SPDX-License-Identifier: MIT
"""site_test.py SOURCE_DIR BUILD_DIR [OUT_DIR]: the site is built; its links lead somewhere; its reference lacks nothing.
Exit 77: skipped, because the Python package is not built."""
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path

SOURCE, BUILD = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
FOLDER = Path(sys.argv[3]) if len(sys.argv) > 3 else Path(tempfile.mkdtemp())
VOID = {"meta", "link", "img", "br"}

sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "docs" / "site"))
import cpp_header  # noqa: E402
import program_pages  # noqa: E402
import python_pages  # noqa: E402


def make(out):
    subprocess.run([sys.executable, "-B", SOURCE / "docs" / "site" / "make_site.py", SOURCE, BUILD, out], check=True, cwd="/")


class Read(HTMLParser):
    """Anchors, links and what is loaded; complains of tags that are not closed in their order."""

    def __init__(self, file):
        super().__init__()
        self.ids, self.links, self.loaded, self.text, self.problems = [], [], [], [], []
        self._open = []
        self.feed(file.read_text())
        self.problems += [f"<{tag}> is not closed" for tag in self._open]

    def handle_starttag(self, tag, attributes):
        known = dict(attributes)
        if "id" in known:
            self.ids.append(known["id"])
        if tag == "a":
            self.links.append(known["href"])
        if tag == "a" and "a" in self._open:
            self.problems.append(f"a link in a link: {known['href']}")
        self.loaded += [known[name] for name in ("src", "srcset", "data") if name in known]
        if tag == "link":
            self.loaded.append(known["href"])
        if tag in ("script", "iframe", "style") or any(name.startswith("on") for name in known):
            self.problems.append(f"<{tag}> with {known}")
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        if not self._open or self._open.pop() != tag:
            self.problems.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data):
        if not {"code", "pre"} & set(self._open):
            self.text.append(data)


def setUpModule():
    make(FOLDER)


def read_all():
    return {file.name: Read(file) for file in sorted(FOLDER.glob("*.html"))}


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pages = read_all()

    def test_well_formed(self):
        for name, page in self.pages.items():
            self.assertEqual(page.problems, [], name)
            self.assertEqual(len(page.ids), len(set(page.ids)), f"{name} has an anchor twice")

    def test_links_lead_somewhere(self):
        for name, page in self.pages.items():
            for link in page.links:
                if re.match(r"https?://", link):
                    continue
                file, _, anchor = link.partition("#")
                self.assertTrue((FOLDER / (file or name)).is_file() and ":" not in file and not file.startswith("/"), f"{name}: {link}")
                if anchor:
                    self.assertIn(anchor, self.pages[file or name].ids, f"{name}: {link}")

    def test_nothing_from_outside(self):
        for name, page in self.pages.items():
            for file in page.loaded:
                self.assertTrue(re.fullmatch(r"[\w./]+", file) and (FOLDER / file).is_file(), f"{name}: {file}")
        self.assertNotRegex((FOLDER / "site.css").read_text(), r"url\(|@import")

    def test_every_page_is_reached(self):
        seen, waiting = set(), ["index.html"]
        while waiting:
            name = waiting.pop()
            if name in seen or name not in self.pages:
                continue
            seen.add(name)
            waiting += [link.partition("#")[0] for link in self.pages[name].links]
        self.assertEqual(seen, set(self.pages))

    def test_no_markup_is_left(self):
        for name, page in self.pages.items():
            self.assertNotRegex("".join(page.text), r"\*\*|\]\(|```|^\|", name)

    def test_the_same_twice(self):
        with tempfile.TemporaryDirectory() as other:
            make(Path(other) / "site")
            for file in FOLDER.rglob("*.*"):
                self.assertEqual(file.read_bytes(), (Path(other) / "site" / file.relative_to(FOLDER)).read_bytes(), file.name)


class Reference(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pages = read_all()
        cls.headers = sorted((SOURCE / "include" / "ria").glob("*.h*"))

    def ids(self, start):
        return set().union(*(set(page.ids) for name, page in self.pages.items() if name.startswith(start)))

    def test_types_and_values_of_cpp(self):
        ids = self.ids("cpp-")
        for header in self.headers:
            text = header.read_text()
            types = re.findall(r"^(?:struct|class|enum class) (?:RIA_API )?(\w+)[^;]*?\{", text, re.M) + re.findall(r"^using (\w+)", text, re.M)
            for name in types:
                self.assertIn(name, ids, header.name)
            for name, body in re.findall(r"^enum class (\w+) \{(.*?)\};", text, re.M | re.S):
                for value in re.findall(r"\b(k[A-Z]\w*)", re.sub(r"//.*", "", body)):
                    self.assertIn(f"{name}.{value}", ids)
            # A field with a comment behind it.
            for value in re.findall(r"^  [\w:<>, ]+ ([a-z]\w*)(?: = [^;]*|\{[^;]*\})?;  ///<", text.partition("private:")[0], re.M):
                self.assertTrue(any(one.endswith(f".{value}") for one in ids), f"{header.name}: {value}")

    def test_functions_of_cpp(self):
        """What the library exports, but for what its headers have behind private:."""
        ids, count = self.ids("cpp-"), 0
        private = "".join(part for h in self.headers for part in re.findall(r"^ private:(.*?)^\};", h.read_text(), re.M | re.S))
        symbols = subprocess.run(["nm", "-DC", "--defined-only", BUILD / "libria.so"], check=True, capture_output=True, text=True).stdout
        for symbol in re.findall(r" T ria::([\w:~]+)(?:\[abi:\w+\])?\(", symbols):
            owner, _, name = symbol.rpartition("::")
            if name.startswith(("~", "operator")) or name == owner or re.search(rf"\b{name}\(", private):
                continue
            self.assertIn(f"{owner}.{name}" if owner else name, ids)
            count += 1
        self.assertGreater(count, 100)

    def test_comments_of_cpp(self):
        for file in self.headers:
            header = cpp_header.read_header(file)
            self.assertTrue(header.summary, f"{file.name} does not say what it is")
            for entry in header.entries:
                self.assertTrue(entry.comment or entry.covered, f"{file.name}: {entry.name} has no comment")
                for member in entry.below:
                    if member.kind in ("function", "struct", "enum", "type"):
                        self.assertTrue(member.comment or member.covered, f"{file.name}: {entry.name}::{member.name} has no comment")

    def test_flags(self):
        for command in program_pages.read_commands(BUILD / "ria"):
            ids = self.pages[program_pages.file_of(command)].ids
            self.assertIn(program_pages.anchor_of(command), ids)
            self.assertTrue(command["text"], command["name"])
            shown = subprocess.run([BUILD / "ria", *command["name"].split()[1:], "--help"], check=True, capture_output=True, text=True).stdout
            flags = {name for flag in command["flags"] for name in flag["names"]}
            for name in flags | set(re.findall(r"^ +(?:-\w,)?(--\w+)", shown, re.M)):
                self.assertIn(program_pages.anchor_of(command, name), ids, command["name"])
            for flag in command["flags"]:
                self.assertTrue(flag["text"], f"{command['name']} {flag['names']} has no text")

    def test_python(self):
        sys.path.insert(0, str(BUILD / "python"))
        import ria

        ids = self.pages["python-reference.html"].ids
        for name in ria.__all__:
            self.assertIn(name, ids)
            thing = getattr(ria, name)
            self.assertTrue(thing.__doc__, name)
            if isinstance(thing, type):
                for member in vars(thing):
                    if not member.startswith("_"):
                        self.assertIn(f"{name}.{member}", ids)
                    if not member.startswith("_") and callable(getattr(thing, member)):
                        self.assertTrue(any(text for _, text in python_pages.words_of(getattr(thing, member))), f"{name}.{member}")


if __name__ == "__main__":
    if not list((BUILD / "python" / "ria").glob("_ria*.so")):
        print("skipped: the Python package is not built")
        sys.exit(77)
    try:
        unittest.main(argv=sys.argv[:1])
    finally:
        if len(sys.argv) <= 3:
            shutil.rmtree(FOLDER)
