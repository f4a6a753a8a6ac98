"""Elements of HTML and SVG that cannot be written unescaped.

Text that comes from a model is a str and is escaped wherever it is put; only what
`element` made is Markup and is not.
"""

import html
import typing

_VOID = {"meta", "rect", "line"}


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def text(child: typing.Any) -> Markup:
    """A child as HTML: Markup as it is, None as nothing, lists joined, the rest escaped."""
    if child is None:
        return Markup()
    if isinstance(child, Markup):
        return child
    if isinstance(child, (list, tuple)):
        return Markup("".join(text(one) for one in child))
    return Markup(html.escape(str(child), quote=True))


def element(tag: str, *children: typing.Any, **attributes: typing.Any) -> Markup:
    """<tag attributes>children</tag>. `class_` is class; `_` in names is `-`; attributes that
    are None or False are left out."""
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{text("" if value is True else value)}"'
        for name, value in attributes.items() if value is not None and value is not False)
    if tag in _VOID and not children:
        return Markup(f"<{tag}{written}{'/' if tag != 'meta' else ''}>")
    return Markup(f"<{tag}{written}>{text(children)}</{tag}>")
