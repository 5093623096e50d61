# SPDX-License-Identifier: MIT
"""The C++ reference: a page a header, made of its declarations and their comments."""
import html
import re

from code_html import highlighted, inline_code
from cpp_header import read_header
from page import Page

GROUP = "C++ reference"
FRONT = "cpp.html"


def read_headers(folder):
    headers = [read_header(path) for path in sorted([*folder.glob("*.h"), *folder.glob("*.h.in")])]
    return [header for header in headers if header.entries]


def file_of(header):
    return f"cpp-{header.file.removesuffix('.h')}.html"


def register(headers, names):
    for header in headers:
        names.add(f"ria/{header.file}", file_of(header))
        for entry in header.entries:
            names.add(entry.name, f"{file_of(header)}#{entry.name}")
            for member in entry.below:
                for name in member.names if member.kind != "label" else []:
                    names.add(f"{entry.name}::{name}", f"{file_of(header)}#{entry.name}.{name}")


def pages(headers, names):
    front = Page(FRONT, "C++ reference", GROUP, label="All headers")
    front.source = "include/ria/"
    rows = "\n".join(
        f'<dt><a href="{file_of(h)}"><code>ria/{h.file}</code></a></dt><dd>{prose(h.summary, names)}</dd>' for h in headers
    )
    front.body = (
        "<h1>C++ reference</h1>\n<p class=lead>What the public headers declare, and their comments. "
        "<code>ria/ria.h</code> includes all but those for users of other libraries (<code>ria/eigen.h</code>, "
        f"<code>ria/opencv.h</code>).</p>\n<dl>{rows}</dl>"
    )
    return [front] + [_Header(header, names).page for header in headers]


def prose(text, names, owner="", begin=""):
    """A comment as HTML: paragraphs, lists, and links where it names what is declared here (`begin`: names as
    the reference of another language has them, 'ria.')."""
    out = []
    for block in re.split(r"\n\s*\n|\n(?=- )", text):
        item = block.startswith("- ")
        shown = _words(block[2:] if item else block, names, owner, begin)
        out.append(f"<li>{shown}</li>" if item else f"<p>{shown}</p>")
    return re.sub(r"((?:<li>.*?</li>)+)", r"<ul>\1</ul>", "".join(out), flags=re.S) if text else ""


def _words(text, names, owner, begin):
    def word(match):
        if match["code"]:
            return inline_code(match["code"][1:-1], names)
        name = re.sub(r"\(\)$", "", match[0]).removeprefix("ria::")
        certain = match[0].endswith("()") or "::" in name or "_" in name or re.search(r"[a-z][A-Z]", name)
        for known in (f"{begin}{owner}{begin and '.' or '::'}{name}", begin + name) if certain else ():
            if names.find(known) and known != owner:
                return names.linked(known, match[0])
        return html.escape(match[0], quote=False)

    return re.sub(r"(?P<code>`[^`]+`)|[A-Za-z_][\w/.]*\w(?:::\w+)*(?:\(\))?|[&<>]", word, text)


def broken(code):
    """A long signature with a line for each parameter."""
    code = code.replace("( ", "(")
    if len(code) <= 88 or "(" not in code:
        return code
    start = _parameters_start(code)
    depth, parts, at = 0, [], start
    for i in range(start, len(code)):
        depth += {"(": 1, "<": 1, "{": 1, ")": -1, ">": -1, "}": -1}.get(code[i], 0)
        if code[i] == "," and depth == 0:
            parts.append(code[at : i + 1])
            at = i + 1
        if depth < 0:
            break
    parts.append(code[at:])
    return code[:start] + "\n    " + "\n    ".join(part.strip() for part in parts)


def _parameters_start(code):
    depth = 0
    for i, c in enumerate(code):
        if c == "(" and depth == 0:
            return i + 1
        depth += {"<": 1, ">": -1}.get(c, 0)
    return code.index("(") + 1


class _Header:
    def __init__(self, header, names):
        self._names, self._used = names, set()
        entries = "\n".join(self._entry(group) for group in _groups(header.entries))
        body = f'<h1><code>ria/{header.file}</code></h1>\n<div class="lead">{prose(header.summary, names)}</div>\n'
        body += f'<pre class="scroll" tabindex="0"><code>#include &lt;ria/{header.file}&gt;</code></pre>\n{entries}'
        headings = [(2, e.name, f"<code>{e.name}</code>") for e in header.entries]
        unique = list(dict.fromkeys(headings))
        self.page = Page(file_of(header), f"ria/{header.file}", GROUP, body, unique, f"include/ria/{header.file}", header.file, folded=True)

    def _anchor(self, name):
        """Of overloads the first has it."""
        if name in self._used:
            return ""
        self._used.add(name)
        return f' id="{name}"'

    def _code(self, code):
        return highlighted(code, "cpp", self._names)

    def _entry(self, group):
        first = group[0]
        kind = "" if first.kind in ("function", "type", "macro") else f"{first.kind} "
        anchors = "".join(f'<span{self._anchor(e.name)}></span>' for e in group[1:] if e.name not in self._used and e.name != first.name)
        title = f'<section class="entry"{self._anchor(first.name)}>{anchors}<h2>{kind}<code>{first.name}</code></h2>'
        code = "\n".join(broken(entry.code) + ";" * (entry.kind != "macro") for entry in group)
        shown = "" if first.below else f'<pre class="scroll" tabindex="0"><code>{self._code(code)}</code></pre>'
        if first.below and (" : " in first.code or first.code.startswith("template")):
            shown = f'<pre class="scroll" tabindex="0"><code>{self._code(first.code)}</code></pre>'
        return f"{title}\n{shown}{prose(first.comment, self._names, first.name)}\n{self._below(first)}</section>"

    def _below(self, owner):
        values = [e for e in owner.below if e.kind in ("value", "label")]
        others = [e for e in owner.below if e.kind not in ("value", "label")]
        fields = f"<dl>{''.join(self._value(owner, e) for e in values)}</dl>" if values else ""
        return fields + "\n".join(self._member(owner, group) for group in _groups(others))

    def _value(self, owner, entry):
        if entry.kind == "label":
            return f'<div class="label">{prose(entry.comment, self._names)}</div>'
        ids = "".join(f"<span{self._anchor(f'{owner.name}.{name}')}></span>" for name in entry.names[1:])
        code = f"<code>{_bold(self._code(entry.code), entry.names)}</code>"
        return f"<dt{self._anchor(f'{owner.name}.{entry.name}')}>{ids}{code}</dt><dd>{prose(entry.comment, self._names, owner.name)}</dd>\n"

    def _member(self, owner, group):
        anchors = [self._anchor(f"{owner.name}.{entry.name}") for entry in group]
        ids = "".join(f"<span{anchor}></span>" for anchor in anchors[1:] if anchor)
        code = self._code("\n".join(broken(entry.code) + ";" for entry in group))
        nested = "".join(self._below(entry) for entry in group)
        comment = prose(group[0].comment, self._names, owner.name)
        return f'<div class="member"{anchors[0]}>{ids}<pre class="scroll" tabindex="0"><code>{code}</code></pre>{comment}{nested}</div>'


def _bold(shown, names):
    """The declared names stand out from their types."""
    for name in names:
        shown = re.sub(rf"(?<![\w>/\"#.]){name}(?=\s*(?:=|\{{|,|$))", f"<b>{name}</b>", shown, count=1)
    return shown


def _groups(entries):
    """Declarations that one comment stands above."""
    groups = []
    for entry in entries:
        together = groups and entry.covered and not entry.comment and not entry.below and not groups[-1][0].below
        if together:
            groups[-1].append(entry)
        else:
            groups.append([entry])
    return groups
