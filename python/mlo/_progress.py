# Copyright (c) the mlo authors. BSD-3-Clause.
"""How a fit shows that it is alive: one line that changes, in a terminal or in a notebook."""
from __future__ import annotations

import sys
import time

from ._errors import usage


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


class Line:
    """The line. A fit of less than half a second shows nothing."""

    def __init__(self, notebook: bool):
        self._notebook = notebook
        self._handle = None
        self._shown = False
        self._began = time.monotonic()
        self._sampling = None  # when it began, and the steps made until then

    def __call__(self, now: dict) -> None:
        if time.monotonic() - self._began < 0.5:
            return
        full = round(24 * min(max(now["share"], 0), 1))
        text = f"{now['phase']} [{'#' * full}{'.' * (24 - full)}] {100 * now['share']:3.0f} %"
        if now["of"] > 0:
            if self._sampling is None:
                self._sampling = time.monotonic(), now["steps"]
            seconds = time.monotonic() - self._sampling[0]
            speed = (now["steps"] - self._sampling[1]) / seconds if seconds > 0 else 0
            if speed > 0:
                text += f"  {_duration((now['of'] - now['steps']) / speed)} left"
            text += f"  acceptance {now['acceptance']:.2f}"
        self._show(text)

    def _show(self, text: str) -> None:
        self._shown = True
        if not self._notebook:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
        elif self._handle is None:
            self._handle = sys.modules["IPython"].display.display({"text/plain": text}, raw=True, display_id=True)
        else:
            self._handle.update({"text/plain": text}, raw=True)

    def close(self) -> None:
        if not self._shown:
            return
        if self._notebook:
            self._show("")
        else:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def callback_of(progress):
    """The function that is called while something runs, and what to call in the end; both may be None."""
    if progress is False:
        return None, None
    if progress is None or progress is True:
        notebook = _in_notebook()
        terminal = sys.stderr is not None and sys.stderr.isatty()
        if not (notebook or terminal or progress):
            return None, None
        line = Line(notebook)
        return line, line.close
    if not callable(progress):
        raise usage(f"progress must be True, False, None or a function of a dict (got {progress!r})")
    return progress, None


def watched(progress, work):
    """The result of work(callback)."""
    callback, close = callback_of(progress)
    try:
        return work(callback)
    finally:
        if close is not None:
            close()
