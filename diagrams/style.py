"""Colours, lines and shapes: how a drawing says what is what, in each theme.

Nothing is said by colour alone: layers also differ in the kind of line, ends in shape,
so that a drawing survives a grey printer and every kind of colour vision. Hues are
those of Okabe and Ito ("Color Universal Design", 2008), darkened on white where a thin
line of the original would vanish. It knows no machine and no output language.
"""

from collections.abc import Mapping
from typing import Literal as OneOf

import attrs

from unspiral.engine.errors import UnknownName

__all__ = ["FONT", "THEMES", "LineStyle", "Theme", "line_of_layer", "theme_named"]

#: Metrics of this family are built into every layout program, and every system has it
#: or a family of the same widths (Arial, Liberation Sans, Arimo, Nimbus Sans).
FONT = "Helvetica"


@attrs.frozen
class LineStyle:
    """How the rows of one recovery layer are drawn.

    Attributes:
        colour: of line and arrow head.
        dash: `solid`, `dashed` or `dotted`.
    """

    colour: str
    dash: OneOf["solid", "dashed", "dotted"]


@attrs.frozen
class Theme:
    """The colours of a drawing.

    Attributes:
        name: how it is asked for.
        paper: the background.
        ink: texts and plain lines.
        quiet: second-rank texts and thin lines.
        faint: what an overlay fades.
        panel: the fill of groups.
        inner: the fill of a nested machine's box.
        acting: the fill of acting phases.
        deciding: the fill of deciding phases.
        layers: the hues of recovery layers, in the order in which they are given out.
        ends: the fill of terminals by kind.
        stem: the mark of a path.
        loop: the mark of a loop.
        mark: the fill behind what is marked.
        adapts: a drawing on screen follows the reader's dark mode.
    """

    name: str
    paper: str
    ink: str
    quiet: str
    faint: str
    panel: str
    inner: str
    acting: str
    deciding: str
    layers: tuple[str, ...]
    ends: Mapping[str, str]
    stem: str
    loop: str
    mark: str
    adapts: bool = False

    def colours(self) -> tuple[str, ...]:
        """Return every colour in a fixed order, to pair the themes' colours."""
        ends = tuple(self.ends[kind] for kind in sorted(self.ends))
        plain = (self.paper, self.ink, self.quiet, self.faint, self.panel, self.inner)
        marks = (self.acting, self.deciding, self.stem, self.loop, self.mark)
        return (*plain, *marks, *self.layers, *ends)


# Each colour occurs once in a theme: dark mode exchanges colours one for one.
_LIGHT = Theme(
    name="light",
    paper="#ffffff",
    ink="#1b1f24",
    quiet="#5a6472",
    faint="#c3c9d0",
    panel="#f6f7f9",
    inner="#eef1f4",
    acting="#e3eef8",
    deciding="#fffffe",
    layers=("#0072b2", "#d55e00", "#007a5a", "#b0487f", "#8a6d00", "#3a8fc2"),
    ends={
        "done": "#d4efe4",
        "limit": "#fcebc4",
        "error": "#fbdcc8",
        "abort": "#e4e6e9",
        "hook": "#f5dfeb",
    },
    stem="#0072b3",
    loop="#d55e01",
    mark="#fff6d6",
)
_DARK = Theme(
    name="dark",
    paper="#11151a",
    ink="#e8ebef",
    quiet="#a3adb9",
    faint="#454d58",
    panel="#181d24",
    inner="#1f262e",
    acting="#1d3347",
    deciding="#12161b",
    layers=("#56b4e9", "#ff8a3d", "#2fc595", "#e29cc3", "#e6c229", "#8fb8ff"),
    ends={
        "done": "#15463a",
        "limit": "#54420f",
        "error": "#5b2c14",
        "abort": "#383e47",
        "hook": "#51304a",
    },
    stem="#57b5ea",
    loop="#ff8b3e",
    mark="#3d3a1c",
)
_GREY = Theme(
    name="grey",
    paper="#ffffff",
    ink="#111111",
    quiet="#555555",
    faint="#c8c8c8",
    panel="#f7f7f7",
    inner="#efefef",
    acting="#e6e6e6",
    deciding="#fefefe",
    layers=("#000000", "#505050", "#202020", "#606060", "#303030", "#707070"),
    ends={
        "done": "#f2f2f2",
        "limit": "#e0e0e0",
        "error": "#cfcfcf",
        "abort": "#ebebeb",
        "hook": "#d8d8d8",
    },
    stem="#010101",
    loop="#020202",
    mark="#dddddd",
)
_AUTO = attrs.evolve(_LIGHT, name="auto", adapts=True)

#: The themes by name: `light` prints well, `dark` is for dark pages, `auto` is light
#: and follows the reader's dark mode on screen (SVG), `grey` needs no colour at all.
THEMES: Mapping[str, Theme] = {t.name: t for t in (_LIGHT, _DARK, _AUTO, _GREY)}

_DASHES: tuple[OneOf["solid", "dashed", "dotted"], ...] = ("dashed", "solid", "dotted")


def theme_named(name: str) -> Theme:
    """Return a theme.

    Raises:
        UnknownName: there is no such theme.
    """
    if name not in THEMES:
        raise UnknownName("theme", name, tuple(THEMES))
    return THEMES[name]


def line_of_layer(theme: Theme, layers: tuple[str, ...], layer: str) -> LineStyle:
    """Return the line of a recovery layer; of rows without a layer a plain one.

    Colour and dash together differ for the first 18 layers of a machine.
    """
    if layer not in layers:
        return LineStyle(theme.ink, "solid")
    number = layers.index(layer)
    hues = len(theme.layers)
    dash = _DASHES[(number + number // hues) % len(_DASHES)]
    return LineStyle(theme.layers[number % hues], dash)


def dark_mode_css(theme: Theme) -> str:
    """Return CSS that exchanges a theme's colours for the dark ones on screen."""
    pairs = zip(theme.colours(), _DARK.colours(), strict=True)
    rules = "".join(
        f'[fill="{light}"]{{fill:{dark}}}[stroke="{light}"]{{stroke:{dark}}}'
        for light, dark in pairs
    )
    return f"@media screen and (prefers-color-scheme:dark){{{rules}}}"
