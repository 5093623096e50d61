# SPDX-License-Identifier: MIT
"""blocks_test.py SOURCE_DIR BUILD_DIR: what the pages show is there: commands and flags of ria in code, subcommands of ./run,
C++ that compiles against the public headers, Python that names what the stubs have."""
import ast
import json
import re
import subprocess
import sys
import unittest
from pathlib import Path

SOURCE, BUILD = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
PAGES = [SOURCE / "README.md", SOURCE / "CONTRIBUTING.md", SOURCE / "ARCHITECTURE.md", *sorted((SOURCE / "docs").glob("*.md"))]
# Flags in the text that are other programs'.
OTHERS = {"--check", "--peers", "--serve", "--only", "--install"}


def fenced(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.M | re.S)


def shell_blocks(page):
    """Fenced as sh, or indented."""
    text = page.read_text()
    rest = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    return fenced(page, "sh") + re.findall(r"(?:^    \S[^\n]*\n(?:^     *[^\n]*\n)*)+", rest, re.M)


def inline_code(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    text = re.sub(r"^    .*$", "", text, flags=re.M)
    return [code.replace("\n", " ") for code in re.findall(r"`([^`]+)`", text)]


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        printed = subprocess.run([BUILD / "ria", "manual", "json"], check=True, capture_output=True, text=True).stdout
        cls.flags = {c["name"]: {n for f in c["flags"] for n in f["names"]} for c in json.loads(printed)}
        cls.all = set().union(*cls.flags.values())

    def uses(self, text):
        """(command, flags) of every ria in a text."""
        for found in re.finditer(r"(?:^|[\s|;(])(?:build/)?ria ([^|;&#\n]*)", text.replace("\\\n", " "), re.M):
            words, name = found[1].split(), "ria"
            while words and f"{name} {words[0]}" in self.flags:
                name += " " + words.pop(0)
            yield name, words

    def check(self, text, where):
        count = 0
        for name, words in self.uses(text):
            if name == "ria" and words and not words[0].startswith("-"):
                self.assertIn(words[0], ("...", "manual"), f"{where}: ria has no command '{words[0]}'")
            for flag in (re.match(r"\[?(--?[a-zA-Z]\w*)", word) for word in words):
                if flag and name in self.flags:
                    self.assertIn(flag[1], self.flags[name] | {"-"}, f"{where}: {name}")
                    count += 1
        return count

    def test_flags_in_blocks(self):
        count = sum(self.check(block, page.name) for page in PAGES for block in shell_blocks(page))
        self.assertGreater(count, 60)

    def test_flags_in_text(self):
        for page in PAGES:
            for code in inline_code(page):
                if code.startswith("ria "):
                    self.check(code, page.name)
                elif code.startswith("--"):
                    for flag in re.findall(r"(?<!\S)(--[a-z]\w*)", code):
                        self.assertIn(flag, self.all | OTHERS, f"{page.name}: `{code}`")

    def test_run(self):
        known = set(re.findall(r"^\./run (\w+)", subprocess.run([SOURCE / "run", "help"], capture_output=True, text=True).stdout, re.M))
        for page in PAGES:
            for name in re.findall(r"\./run ([a-z]+)", page.read_text()):
                self.assertIn(name, known, page.name)


class Cpp(unittest.TestCase):
    def compile(self, block):
        includes = "".join(re.findall(r"^#include .*\n", block, re.M))
        rest = re.sub(r"^#include .*\n", "", block, flags=re.M)
        rest += "}" * (rest.count("{") - rest.count("}"))
        return subprocess.run(
            ["g++", "-std=c++20", "-fsyntax-only", f"-I{SOURCE}/include", f"-I{BUILD}/include", "-include", SOURCE / "tests/docs/given.h", "-xc++", "-"],
            input=f"{includes}void shown() {{\n{rest}\n}}\n",
            capture_output=True,
            text=True,
        )

    def test_blocks_compile(self):
        blocks = [(page.name, block) for page in PAGES for block in fenced(page, "cpp")]
        self.assertGreater(len(blocks), 2)
        for name, block in blocks:
            compiled = self.compile(block)
            self.assertEqual(compiled.returncode, 0, f"{name}:\n{block}{compiled.stderr[:2000]}")

    def test_a_wrong_name_does_not(self):
        self.assertNotEqual(self.compile("ria::Recogniser recognizer;").returncode, 0)


class Python(unittest.TestCase):
    def test_names(self):
        stubs = ast.parse((SOURCE / "python" / "ria" / "__init__.pyi").read_text()).body
        known = {node.name: node for node in stubs if hasattr(node, "name")}
        count = 0
        for page in PAGES:
            for block in fenced(page, "python"):
                for node in ast.walk(ast.parse(block)):
                    if not isinstance(node, ast.Attribute):
                        continue
                    name = ast.unparse(node).split(".")
                    if name[0] != "ria" or not all(part.isidentifier() for part in name):
                        continue
                    self.assertIn(name[1], known, f"{page.name}: {'.'.join(name)}")
                    count += 1
                    if len(name) > 2:
                        members = {getattr(n, "name", None) or n.target.id for n in known[name[1]].body}
                        self.assertIn(name[2], members, page.name)
        self.assertGreater(count, 10)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
