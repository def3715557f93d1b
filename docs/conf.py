"""Sphinx: Markdown pages, the public modules by autodoc, examples that run."""

from unspiral.version import __version__

project = "unspiral"
release = __version__
copyright = "the unspiral authors"  # noqa: A001 - the name that Sphinx reads
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.doctest",
    "sphinx.ext.napoleon",
]
exclude_patterns = ["_build", "_generated"]
html_theme = "furo"
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "description"
napoleon_use_ivar = True  # attributes are told once, in the class docstring
doctest_test_doctest_blocks = ""
