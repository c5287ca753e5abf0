"""The hosts and origins of this server: loopback names, and what its administrator declares."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from synth_core.errors import InputError

VARIABLE = "SYNTH_ORIGINS"
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+")
_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Origin:
    """Scheme, host and port: what a browser tells pages apart by."""

    scheme: str
    host: str
    port: int


def parse(text: str) -> Origin | None:
    """An origin such as "https://synth.example.org"; None if it is none, or more than one."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    rest = parts.path or parts.query or parts.fragment or "@" in parts.netloc
    if parts.scheme not in _DEFAULT_PORTS or rest or not _HOST.fullmatch(host):
        return None
    return Origin(parts.scheme, host, port or _DEFAULT_PORTS[parts.scheme])


def declared() -> frozenset[Origin]:
    """The origins in SYNTH_ORIGINS, separated by commas; raises InputError if one of them is none."""
    origins = set()
    for text in filter(None, (part.strip() for part in os.environ.get(VARIABLE, "").split(","))):
        origin = parse(text)
        if origin is None:
            raise InputError(
                f"{VARIABLE} holds '{text}', which is no origin. Write scheme and host, with the port if it is not "
                f"the usual one, and no path: {VARIABLE}=https://synth.example.org"
            )
        origins.add(origin)
    return frozenset(origins)


def own(scheme: str, host: str) -> frozenset[Origin]:
    """The origins of this server that a request's Host header may stand for; none if it names another's.

    Parameters
    ----------
    scheme : str
        "http" or "https", as the request came in.
    host : str
        The Host header.
    """
    asked = parse(f"{scheme}://{host}")
    if asked is None:
        return frozenset()
    if asked.host in LOOPBACK:
        return frozenset({asked})
    # Behind a proxy that ends TLS the scheme may be lost: what was declared decides.
    return frozenset(o for o in declared() if o in {asked, parse(f"https://{host}"), parse(f"http://{host}")})


def is_local(host: str) -> bool:
    """Whether a Host header is a loopback name."""
    asked = parse(f"http://{host}")
    return asked is not None and asked.host in LOOPBACK
