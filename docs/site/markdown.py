# SPDX-License-Identifier: MIT
"""The Markdown that ria's own pages use, as HTML. What is not known here stays as it was typed."""
import html
import re
import textwrap

from code_html import code_html, inline_code


def slug(text):
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")


class Document:
    """A text's HTML, its title (the first heading) and its headings as (level, anchor, text)."""

    def __init__(self, text, link, names):
        self._link, self._names = link, names
        self._lines = re.sub(r"<!--.*?-->\n?", "", text, flags=re.S).split("\n")
        self._at = 0
        self.headings, self.title = [], ""
        self.html = "\n".join(self._blocks())

    def _blocks(self):
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if not line.strip():
                self._at += 1
            elif line.startswith("```"):
                yield self._fenced(line[3:].strip())
            elif line.startswith("    "):
                yield self._indented()
            elif line.startswith("#"):
                yield self._heading(line)
            elif line.startswith("|"):
                yield self._table()
            elif re.match(r"- ", line):
                yield self._list()
            else:
                yield self._paragraph()

    def _take(self, wanted):
        """The lines from here on for which `wanted` holds."""
        start = self._at
        while self._at < len(self._lines) and wanted(self._lines[self._at]):
            self._at += 1
        return self._lines[start : self._at]

    def _fenced(self, language):
        self._at += 1
        lines = self._take(lambda line: line != "```")
        if self._at == len(self._lines):
            raise ValueError("a code block has no end")
        self._at += 1
        return code_html(textwrap.dedent("\n".join(lines)), language, self._names)

    def _indented(self):
        lines = self._take(lambda line: line.startswith("    ") or not line.strip())
        text = "\n".join(line[4:] for line in lines).rstrip()
        return code_html(text, "json" if text.startswith("{") else "sh", self._names)

    def _heading(self, line):
        self._at += 1
        level, text = re.match(r"(#+) (.*)", line).groups()
        anchor = slug(text)
        same = sum(1 for _, other, _ in self.headings if re.fullmatch(re.escape(anchor) + r"(-\d+)?", other))
        anchor += f"-{same}" if same else ""
        shown = self.inline(text)
        self.headings.append((len(level), anchor, re.sub(r"</?a\b[^>]*>", "", shown)))
        if not self.title:
            self.title = re.sub(r"[`*]", "", text)
        return f'<h{len(level)} id="{anchor}">{shown}<a class="here" href="#{anchor}" aria-label="Link to this section">#</a></h{len(level)}>'

    def _table(self):
        rows = [self._cells(line) for line in self._take(lambda line: line.startswith("|"))]
        head, body = rows[0], rows[2:]
        first = "".join(f'<th scope="col">{self.inline(cell)}</th>' for cell in head)
        others = "\n".join("<tr>" + "".join(f"<td>{self.inline(cell)}</td>" for cell in row) + "</tr>" for row in body)
        head = f"<thead><tr>{first}</tr></thead>" if any(head) else ""
        return f'<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>{head}<tbody>\n{others}\n</tbody></table></div>'

    @staticmethod
    def _cells(line):
        return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]

    def _list(self):
        items = []
        for line in self._take(lambda line: re.match(r"- | {2,}\S", line)):
            if line.startswith("- "):
                items.append(line[2:])
            else:
                items[-1] += "\n" + line.strip()
        return "<ul>" + "\n".join(f"<li>{self.inline(item)}</li>" for item in items) + "</ul>"

    def _paragraph(self):
        begins_other = re.compile(r"#+ |\||```|- ")
        first = self._lines[self._at]
        self._at += 1
        rest = self._take(lambda line: line.strip() and not begins_other.match(line))
        return f"<p>{self.inline(chr(10).join([first, *rest]))}</p>"

    def inline(self, text):
        """Code, pictures, links and bold, in that order: what is in code is left alone."""
        kept = []

        def keep(shown):
            kept.append(shown)
            return f"\0{len(kept) - 1}\0"

        text = re.sub(r"(`+)(.+?)\1", lambda m: keep(inline_code(m[2], self._names)), text, flags=re.S)
        text = html.escape(text, quote=False)
        text = re.sub(r"&amp;(\w+;)", r"&\1", text)  # entities that were typed
        text = re.sub(r"!\[(.*?)\]\((.*?)\)", lambda m: keep(self._picture(m[1], m[2])), text, flags=re.S)
        text = re.sub(r"\[(.*?)\]\((.*?)\)", lambda m: keep(f'<a href="{self._link(m[2])}">') + m[1] + keep("</a>"), text, flags=re.S)
        text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text, flags=re.S)
        # A link around code keeps its own target.
        text = re.sub("\0(\\d+)\0", lambda m: kept[int(m[1])], text)
        return re.sub(r'(<a href="[^"]*">)([^<]*<code[^>]*>)<a [^>]*>(.*?)</a>', r"\1\2\3", text)

    def _picture(self, alternative, target):
        return f'<img src="{self._link(target)}" alt="{html.escape(alternative)}">'
