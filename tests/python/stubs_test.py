# SPDX-License-Identifier: MIT
"""The type stubs say what the module has: names, members, parameters in their order."""
import ast
import re
import unittest

from support import SOURCE, ria

STUBS = ast.parse((SOURCE / "python" / "ria" / "__init__.pyi").read_text())


def parameters(function):
    """Names, without self."""
    args = function.args
    names = [a.arg for a in args.posonlyargs + args.args + args.kwonlyargs]
    return [n for n in names if n != "self"]


def documented(thing):
    """The parameters of every overload, as pybind11 writes them first in a docstring."""
    found = []
    for line in (thing.__doc__ or "").splitlines():
        match = re.match(r"\s*(?:\d+\. )?\w+\((.*)\) -> ", line)
        if match:
            words = re.findall(r"(?:^|, )(\*{0,2}[a-z_]\w*)(?=[:,]|$)", match[1])
            found.append([w for w in words if w not in ("self", "arg0") and not w.startswith("*")])
    return found


class Stubs(unittest.TestCase):
    def test_the_same_names(self):
        stubbed = {n.name for n in STUBS.body if isinstance(n, (ast.ClassDef, ast.FunctionDef))}
        self.assertEqual(stubbed, set(ria.__all__))

    def test_the_same_members(self):
        for stub in (n for n in STUBS.body if isinstance(n, ast.ClassDef) and n.name != "Interrupted"):
            members = {n.name if isinstance(n, ast.FunctionDef) else n.target.id for n in stub.body}
            real = {n for n in vars(getattr(ria, stub.name)) if not n.startswith("_")}
            self.assertEqual({m for m in members if not m.startswith("_")}, real, stub.name)
            for name in real:
                if callable(getattr(getattr(ria, stub.name), name)):
                    self.compare(getattr(getattr(ria, stub.name), name), [n for n in stub.body if getattr(n, "name", "") == name])

    def test_the_same_functions(self):
        for stub in (n for n in STUBS.body if isinstance(n, ast.FunctionDef)):
            self.compare(getattr(ria, stub.name), [stub])
            self.assertTrue(getattr(ria, stub.name).__doc__.strip().split("\n")[-1], stub.name)

    def compare(self, thing, stubs):
        real = {tuple(p) for p in documented(thing)}
        self.assertTrue(real, thing)
        self.assertEqual({tuple(parameters(s)) for s in stubs}, real, thing)

    def test_every_option_of_a_method(self):
        (stub,) = (n for n in STUBS.body if isinstance(n, ast.ClassDef) and n.name == "MethodOptions")
        names = parameters(next(n for n in stub.body if getattr(n, "name", "") == "__init__"))
        options = (SOURCE / "src" / "method" / "options.cc").read_text()
        known = set(re.findall(r'take(?:_name|<[^(]*>)?\(object, "(\w+)"', options))
        self.assertGreater(len(known), 40)
        self.assertEqual(set(names), known)


if __name__ == "__main__":
    unittest.main()
