"""Access to this server: sign-in, and whether an analyst's own Stan program may run."""

from __future__ import annotations

import os

import streamlit as st

from synth_core.models.own import sandbox
from synth_core.ui.server import origins

SHARED = (
    "This server can be reached by others, so own Stan programs are refused whatever flag it was started with: "
    "compiling one runs code on this machine."
)


def asks_for_login() -> bool:
    """Whether a provider of sign-in is configured: `[auth]` in secrets.toml."""
    return st.secrets.load_if_toml_exists() and "auth" in st.secrets


def _shared() -> bool:
    """Whether others may reach this server: its address is not loopback, one is declared, or it asks for a login."""
    return (
        st.get_option("server.address") not in origins.LOOPBACK
        or asks_for_login()
        or bool(origins.declared())
    )


def enforce() -> None:
    """Enforce the rules of a shared server at its start: it drops the flag before any worker could inherit it.

    Raises InputError if the declared addresses cannot be read.
    """
    origins.declared()
    if sandbox.enabled() and _shared():
        os.environ[sandbox.FLAG] = "refused"


def _forwarded() -> bool:
    """Whether this browser came through a proxy or under another name than this computer's."""
    headers = st.context.headers
    return not origins.is_local(headers.get("Host") or "") or any(
        headers.get(name) for name in ("X-Forwarded-For", "Forwarded")
    )


def refusal() -> str | None:
    """Why own programs are off for this browser, or None."""
    if _shared() or _forwarded():
        return SHARED
    if sandbox.enabled():
        return None
    return (
        "Own Stan programs are off, because compiling one runs code on this machine. If you are its only user, "
        f"stop the app and start it with `{sandbox.START_COMMAND}`."
    )
