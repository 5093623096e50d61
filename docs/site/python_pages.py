# SPDX-License-Identifier: MIT
"""The Python reference: signatures of the type stubs, words of the module's own docstrings."""
import ast
import inspect
import re

from code_html import highlighted
from cpp_pages import prose
from page import Page

FILE = "python-reference.html"
BEGIN = "ria."  # of every name here


class Reference:
    """Of the stub file and of the module, imported."""

    def __init__(self, stubs, module):
        self._module = module
        tree = ast.parse(stubs.read_text()).body
        self._aliases = [node for node in tree if isinstance(node, ast.Assign)]
        self.classes = [node for node in tree if isinstance(node, ast.ClassDef)]
        self.functions = [node for node in tree if isinstance(node, ast.FunctionDef)]

    def register(self, names):
        for thing in self.classes + self.functions:
            names.add(f"ria.{thing.name}", f"{FILE}#{thing.name}")
        for one in self.classes:
            for member in dict.fromkeys(map(_name, _members(one))):
                if not member.startswith("_"):
                    names.add(f"ria.{one.name}.{member}", f"{FILE}#{one.name}.{member}")

    def page(self, names):
        self._names = names
        aliases = "\n".join(ast.unparse(node) for node in self._aliases)
        parts = [
            "<h1>Python reference</h1>",
            f'<p class="lead">{self._module.__doc__.splitlines()[0]} How it is installed and used: <a href="python.html">Python</a>.</p>',
            '<h2 id="types">Types in signatures</h2>' + self._pre(aliases),
            *map(self._class, self.classes),
            '<section class="entry" id="functions"><h2>Functions</h2>',
            *(self._function(getattr(self._module, one.name), [one], one.name) for one in self.functions),
            "</section>",
        ]
        headings = [(2, "types", "Types in signatures")]
        headings += [(2, one.name, f"<code>{one.name}</code>") for one in self.classes] + [(2, "functions", "Functions")]
        return Page(FILE, "Python reference", "Python reference", "\n".join(parts), headings, "python/ria/__init__.pyi", "<code>import ria</code>")

    def _pre(self, code):
        return f'<pre class="scroll" tabindex="0"><code>{highlighted(code, "python", self._names)}</code></pre>'

    def _class(self, stub):
        real = getattr(self._module, stub.name)
        members = {}
        for member in _members(stub):
            members.setdefault(_name(member), []).append(member)
        fields = "".join(self._field(stub, real, name, nodes[0]) for name, nodes in members.items() if _is_field(nodes[0]))
        functions = [(name, nodes) for name, nodes in members.items() if not _is_field(nodes[0])]
        shown = "\n".join(self._function(getattr(real, name), nodes, f"{stub.name}.{name}") for name, nodes in functions)
        comment = prose(inspect.cleandoc(real.__doc__ or ""), self._names, stub.name, BEGIN)
        return f'<section class="entry" id="{stub.name}"><h2>class <code>{stub.name}</code></h2>{comment}{f"<dl>{fields}</dl>" if fields else ""}{shown}</section>'

    def _field(self, stub, real, name, node):
        kind = ast.unparse(node.returns if isinstance(node, ast.FunctionDef) else node.annotation)
        comment = words_of(getattr(real, name)) or [("", "")]
        shown = highlighted(kind, "python", self._names)
        return (
            f'<dt id="{stub.name}.{name}"><code>{name}: <span class="value">{shown}</span></code></dt>'
            f"<dd>{prose(comment[0][1], self._names, stub.name, BEGIN)}</dd>\n"
        )

    def _function(self, real, stubs, anchor):
        documented = words_of(real)
        out = []
        for i, stub in enumerate(stubs):
            signature, comment = documented[i] if i < len(documented) else ("", "")
            anchored = f' id="{anchor}"' if i == 0 else ""
            if anchor == "MethodOptions.__init__":
                comment += "\n\nEach is told at the flag of its name, see `ria describe`."
            out.append(f'<div class="member"{anchored}>{self._pre(_signature(anchor, stub, signature))}{prose(comment, self._names, anchor.partition(".")[0], BEGIN)}</div>')
        return "\n".join(out)


def _members(stub):
    return [node for node in stub.body if isinstance(node, (ast.FunctionDef, ast.AnnAssign))]


def _name(node):
    return node.name if isinstance(node, ast.FunctionDef) else node.target.id


def _is_field(node):
    decorators = getattr(node, "decorator_list", [])
    return isinstance(node, ast.AnnAssign) or any(ast.unparse(one) == "property" for one in decorators)


def words_of(thing):
    """(signature, text) of every overload, as pybind11 writes them into a docstring."""
    doc = inspect.cleandoc(thing.__doc__ or "")
    heads = list(re.finditer(r"^(?:\d+\. )?\w+\(.*\) -> .*$", doc, re.M))
    if not heads:
        return [("", doc)] if doc else []
    ends = [head.start() for head in heads[1:]] + [len(doc)]
    return [(head[0], doc[head.end() : end].strip()) for head, end in zip(heads, ends) if "(*args, **kwargs)" not in head[0]]


def _signature(anchor, stub, documented):
    """The stub's, with the defaults that the module knows."""
    arguments = stub.args
    static = any(ast.unparse(one) == "staticmethod" for one in stub.decorator_list)
    shown = [a for a in arguments.args if a.arg != "self"]
    words = [f"{a.arg}: {ast.unparse(a.annotation)}" for a in shown]
    defaults = arguments.defaults
    for i in range(len(defaults)):
        words[len(words) - len(defaults) + i] += _default(shown[len(shown) - len(defaults) + i].arg, documented)
    if arguments.kwonlyargs:
        words.append("*")
        words += [f"{a.arg}: {ast.unparse(a.annotation)}" + _default(a.arg, documented) for a in arguments.kwonlyargs]
    if arguments.kwarg:
        words.append(f"**{arguments.kwarg.arg}")
    owner, _, name = anchor.rpartition(".")
    called = f"ria.{owner}" if name == "__init__" else f"ria.{anchor}" if static or not owner else name
    result = "" if name == "__init__" else f" -> {ast.unparse(stub.returns)}"
    line = f"{called}({', '.join(words)}){result}"
    return line if len(line) <= 88 else f"{called}(\n    " + ",\n    ".join(words) + f"){result}"


def _default(name, documented):
    found = re.search(rf"\b{name}: .*? = (.+?)(?=, \w+:|, \*|\) ->)", documented)
    return f" = {found[1]}" if found and not found[1].startswith("<") else " = ..."
