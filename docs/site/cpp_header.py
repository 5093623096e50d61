# SPDX-License-Identifier: MIT
"""What a public header declares, with its comments: enough of C++ for include/ria/."""
import re
from dataclasses import dataclass, field

KINDS = r"(?:template\s*<[^{]*?>\s*)?(struct|class|enum class|enum)\s+(?:RIA_API\s+)?(\w+)"


@dataclass
class Entry:
    kind: str  # struct, class, enum, function, value (a field, constant or enumerator), type, macro, label
    names: list
    code: str  # the declaration without what is inside
    comment: str = ""
    below: list = field(default_factory=list)
    covered: bool = False  # by the comment of the declaration right above

    @property
    def name(self):
        return self.names[0]


@dataclass
class Header:
    file: str
    summary: str
    entries: list


def read_header(path):
    text = path.read_text()
    top = re.match(r"// SPDX[^\n]*\n((?://[^\n]*\n)*)", text)
    summary = "\n".join(line[3:] for line in top[1].splitlines()) if top else ""
    macros = [
        Entry("macro", [m[2]], f"#define {m[2]}", _joined(m[1]) or summary)
        for m in re.finditer(r"((?:^///[^\n]*\n)*)^#define (\w+)", text, re.M)
    ]
    inside = re.search(r"^namespace ria \{\n(.*)^\}  // namespace ria", text, re.M | re.S)
    return Header(path.name.removesuffix(".in"), summary, macros + (Body(inside[1]).entries if inside else []))


def _joined(comment):
    """A comment's lines without their slashes; paragraphs and lists stay."""
    return "\n".join(re.sub(r"^\s*///?<? ?", "", line) for line in comment.strip("\n").split("\n")).strip() if comment else ""


class Body:
    """The declarations between two braces: of a namespace, a class, or (`end` is a comma) an enumeration."""

    def __init__(self, text, end=";", owner=""):
        self._text, self._end, self._owner = text, end, owner
        self._at, self._hidden = 0, False
        self.entries, last, comment, apart = [], None, "", True
        while self._at < len(text):
            blank = re.compile(r"\s+").match(text, self._at)
            if blank:
                self._at = blank.end()
                if blank[0].count("\n") > 1:
                    comment, apart = "", True
                continue
            trailing = re.compile(r"///<[^\n]*").match(text, self._at)
            if trailing:
                self._at = trailing.end()
                if last:
                    last.comment = f"{last.comment} {_joined(trailing[0])}".strip()
                continue
            block = re.compile(r"(?:[ \t]*//[^\n]*\n)+").match(text, text.rfind("\n", 0, self._at) + 1)
            if block:
                self._at, comment = block.end(), block[0]
                if not comment.strip().startswith("///"):
                    if not self._hidden and self._owner:
                        self.entries.append(Entry("label", [""], "", _joined(comment)))
                    comment = ""
                continue
            entry = self._declaration()
            if entry is None:
                continue
            entry.comment = _joined(comment)
            entry.covered = not comment and not apart
            self.entries.append(entry)
            last, comment, apart = entry, "", False

    def _declaration(self):
        """The next one; None for what a reader does not need: what is private, moved or taken for granted."""
        text = self._text
        access = re.compile(r"(public|private|protected):").match(text, self._at)
        if access:
            self._at, self._hidden = access.end(), access[1] != "public"
            return None
        start = self._at
        body = self._walk()
        code = re.sub(r"//[^\n]*", "", text[start : body[0] if body else self._at])
        code = re.sub(r"\s+", " ", code).strip().rstrip(self._end).rstrip()
        if self._hidden or not code or code.startswith("friend ") or (re.fullmatch(KINDS, code) and not body):
            return None
        return self._entry(code, text[body[0] + 1 : body[1]] if body else "")

    def _walk(self):
        """Goes behind the declaration; returns where the braces of a body are, if it has one."""
        depth, start, body = 0, self._at, None
        while self._at < len(self._text):
            c = self._text[self._at]
            if c in "([":
                depth += 1
            elif c in ")]":
                depth -= 1
            elif c == "{" and depth == 0:
                close = self._closing(self._at)
                head = self._text[start : self._at]
                if self._end == ";" and (re.match(KINDS, head) or _is_function(head)):
                    body = (self._at, close)
                    self._at = close + 1
                    if _is_function(head) and not re.match(KINDS + r"[^()]*$", head):
                        rest = re.compile(r"[ \t]*;?").match(self._text, self._at)
                        self._at = rest.end()
                        return body
                    continue
                self._at = close
            elif c == self._end and depth == 0:
                self._at += 1
                return body
            elif c == "/" and self._text.startswith("//", self._at):
                if self._end == "," and depth == 0:
                    return body
                self._at = self._text.index("\n", self._at)
            self._at += 1
            if self._end == "," and depth == 0 and self._text[self._at : self._at + 1] == "\n":
                return body
        return body

    def _closing(self, at):
        depth = 0
        for i in range(at, len(self._text)):
            depth += {"{": 1, "}": -1}.get(self._text[i], 0)
            if depth == 0:
                return i
        raise ValueError(f"a brace is not closed: {self._text[at : at + 60]}")

    def _entry(self, code, inside):
        code = re.sub(r"\bRIA_API ", "", code)
        if self._end == ",":
            return Entry("value", [re.match(r"\w+", code)[0]], code)
        kind = re.match(KINDS, code)
        if kind and inside:
            enumeration = kind[1].startswith("enum")
            below = Body(inside, "," if enumeration else ";", kind[2]).entries
            return Entry("enum" if enumeration else kind[1], [kind[2]], code, below=below)
        if code.startswith("using ") or re.match(r"template\s*<[^=]*>\s*using ", code):
            name = re.search(r"using (\w+)", code)[1]
            return None if "using std::" in code else Entry("type", [name], code)
        if _is_function(code):
            name = _function_name(code)
            if name.startswith("~") or name == "operator=" or code.endswith("= default") or re.match(rf"{self._owner}\({self._owner}&&\)", code):
                return None
            return Entry("function", [name], _signature(code))
        return Entry("value", _value_names(code), code)


def _without_templates(code):
    code = code.replace("->", "")
    while True:
        shorter = re.sub(r"(?<!operator)<[^<>]*>", "", code)
        if shorter == code:
            return code
        code = shorter


def _is_function(code):
    plain = re.sub(r"operator(\(\)|[=<>!]=|=|<|>)", "operator", _without_templates(code))
    return "(" in plain and "=" not in plain[: plain.index("(")] and "{" not in plain[: plain.index("(")]


def _function_name(code):
    return re.search(r"(operator\s*(?:\(\)|[^\s(]+)|~?\w+)\s*\(", _without_templates(code))[1]


def _signature(code):
    """Without a constructor's initialisers."""
    return re.sub(r"\)\s*:\s*\w+\(.*$", ")", code)


def _value_names(code):
    plain = re.sub(r"\{[^{}]*\}", "", _without_templates(code))
    plain = re.sub(r"\"[^\"]*\"", "", plain)
    plain = re.sub(r"=[^,]*", "", re.sub(r"\([^()]*\)", "", plain))
    return [re.search(r"(\w+)\s*$", part)[1] for part in plain.split(",")]
