# SPDX-License-Identifier: MIT
"""Code as HTML: comments, strings and keywords in their colours, known names as links."""
import html
import re

KEYWORDS = {
    "cpp": "auto bool class const constexpr default double enum explicit false float for friend if inline int noexcept nullptr operator "
    "override public return static std struct template true typename using virtual void",
    "python": "and as class def except False for from if import in is lambda None not or print return self True try while with",
    "sql": "CREATE DROP EXTENSION FOREIGN TABLE SERVER MAPPING USER DATA WRAPPER OPTIONS SELECT PARTITION OF VALUES IN FOR",
    "sh": "for do done in if then fi while",
    "json": "true false null",
}
COMMENTS = {"cpp": r"//[^\n]*", "python": r"\#[^\n]*", "sh": r"(?:(?<=\s)|(?<![\s\S]))\#[^\n]*", "sql": r"--[^\n]*"}


class Names:
    """Where what has a name is explained: 'Map::search', 'ria index build', 'ria.Map.search' -> address."""

    def __init__(self):
        self._address = {}

    def add(self, name, address):
        self._address.setdefault(name, address)

    def find(self, name):
        return self._address.get(name)

    def linked(self, name, shown=None):
        address, shown = self.find(name), html.escape(shown or name, quote=False)
        return f'<a href="{address}">{shown}</a>' if address else shown

    def items(self):
        return sorted(self._address.items(), key=lambda item: (item[0].lower().lstrip("-"), item[0]))


def highlighted(text, language, names):
    """The text's HTML, not yet in an element."""
    keywords = set(KEYWORDS.get(language, "").split())
    pattern = re.compile(
        f"(?P<comment>{COMMENTS.get(language, '(?!)')})"
        r"|(?P<string>\"(?:\\.|[^\"\\\n])*\"|'[^'\n]*')"
        r"|(?P<name>[A-Za-z_]\w*(?:(?:::|\.)[A-Za-z_]\w*)*)|(?P<other>.)",
        re.S | re.X,
    )
    out = []
    for match in pattern.finditer(text):
        word = match[0]
        if match["comment"] or (match["string"] and language != "sh"):
            out.append(f'<span class="{match.lastgroup}">{html.escape(word, quote=False)}</span>')
        elif match["name"] and word in keywords:
            out.append(f'<span class="keyword">{word}</span>')
        elif match["name"] and language in ("cpp", "python"):
            out.append(_name(word, language, names))
        else:
            out.append(html.escape(word, quote=False))
    return "".join(out)


def _name(word, language, names):
    """A type or function of ria's, written with or without `ria`; others as they are."""
    if language == "cpp":
        plain = re.sub(r"^ria::", "", word)
        if plain != word or re.match(r"[A-Z]", plain):
            return names.linked(plain, word)
    elif word.startswith("ria."):
        return names.linked(word)
    return html.escape(word)


def code_html(text, language, names):
    """A block that is scrolled by itself where it is wider than the screen."""
    shown = highlighted(text, language, names)
    return f'<pre class="scroll" tabindex="0"><code>{shown}</code></pre>'


def inline_code(text, names):
    plain = re.sub(r"^ria::", "", text.replace("\n", " ").strip())
    plain = re.sub(r"\(\)$", "", plain)
    known = text.startswith(("ria::", "ria ", "--")) or "::" in text
    whole = ' class="whole"' if len(text) < 28 and " " not in text else ""
    return f"<code{whole}>{names.linked(plain, text) if known else html.escape(text, quote=False)}</code>"
