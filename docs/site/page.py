# SPDX-License-Identifier: MIT
"""A page of the site, and the frame around all of them."""
import html
import string
from dataclasses import dataclass, field
from pathlib import Path

TEMPLATE = string.Template((Path(__file__).parent / "page.html").read_text())


@dataclass
class Page:
    file: str  # guide.html
    title: str
    group: str  # the heading of the contents that it stands under
    body: str = ""
    headings: list = field(default_factory=list)  # (level, anchor, shown)
    source: str = ""  # the file it was made of
    label: str = ""  # in the contents; empty: the title
    folded: bool = False  # in the contents only beside pages of its group


def navigation(pages, current):
    """The contents: all groups, and below the current page its sections."""
    out, group = [], None
    for page in pages:
        if page.folded and page.group != current.group:
            continue
        if page.group != group:
            out.append(("</ul>\n" if group else "") + f"<h2>{page.group}</h2>\n<ul>")
            group = page.group
        here = ' aria-current="page"' if page is current else ""
        out.append(f'<li><a href="{page.file}"{here}>{page.label or html.escape(page.title)}</a>')
        sections = [(anchor, shown) for level, anchor, shown in page.headings if level == 2]
        if page is current and len(sections) > 1:
            items = "".join(f'<li><a href="#{anchor}">{shown}</a></li>' for anchor, shown in sections)
            out.append(f"<ul>{items}</ul>")
        out.append("</li>")
    return "\n".join(out) + "</ul>"


def framed(page, pages, version):
    title = page.title if page.title.startswith("ria") else f"{page.title} - ria"
    return TEMPLATE.substitute(
        title=html.escape(title),
        version=version,
        navigation=navigation(pages, page),
        body=page.body,
        source=f"Made from <code>{page.source}</code>." if page.source else "",
    )
