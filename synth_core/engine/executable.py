"""A compiled program, as cmdstanpy runs it."""

from __future__ import annotations

import cmdstanpy

_told: dict[str, dict[str, str]] = {}  # by path, of which a part says what an executable was made of


class Executable(cmdstanpy.CmdStanModel):
    """A program that says once in a process how it was built: cmdstanpy asks before every fit.

    Asking starts the program, which costs a small fit an eighth of its time.
    """

    def exe_info(self) -> dict[str, str]:
        """What the executable says of its build, as cmdstanpy reads it; one that did not answer is asked again."""
        place = str(self.exe_file)
        if not _told.get(place):
            _told[place] = super().exe_info()
        return dict(_told[place])
