"""How often work runs again that was ended from outside: a worker or a sampler that the system killed."""

from __future__ import annotations

AGAIN = 2  # times


class Attempts:
    """Counts how often one piece of work was lost.

    Examples
    --------
    >>> attempts = Attempts()
    >>> [attempts.again() for _ in range(3)], attempts.lost
    ([True, True, False], 3)
    """

    def __init__(self) -> None:
        self.lost = 0

    def again(self) -> bool:
        """Note that it was lost; whether it is to run again."""
        self.lost += 1
        return self.lost <= AGAIN
