"""Large results of tools, kept in a folder of the workspace, where `read` can get them.

The folder hides itself from git. The id of a call is the model's, so it is no name of a
file: its digest is.
"""

import hashlib

import attrs

from unspiral.engine.errors import FileProblem
from unspiral.engine.live.tools.problems import PathRefused
from unspiral.engine.live.tools.workspace import Workspace

__all__ = ["FOLDER", "WorkspaceKeep"]

FOLDER = ".unspiral"  #: in the workspace
_DIGITS = 24  # of a digest


@attrs.frozen
class WorkspaceKeep:
    """Keeps results below the workspace; implements `result_budget.Keep`.

    Attributes:
        workspace: the folder that tools may touch.
    """

    workspace: Workspace

    def keep(self, call: str, text: str, /) -> str:
        """Keep a text under the id of its call, and return its path.

        Raises:
            FileProblem: it cannot be kept.
        """
        digest = hashlib.sha256(call.encode("utf-8", "surrogatepass")).hexdigest()
        path = f"{FOLDER}/results/{digest[:_DIGITS]}.txt"
        try:
            self._write(f"{FOLDER}/.gitignore", b"*\n")
            self._write(path, text.encode("utf-8", "replace"))
        except PathRefused as error:
            raise FileProblem(path, "written", str(error)) from None
        return path

    def _write(self, path: str, data: bytes) -> None:
        if not self._is_there(path):
            self.workspace.write(path, data)

    def _is_there(self, path: str) -> bool:
        try:
            return not self.workspace.is_folder(path)
        except PathRefused:
            return False
