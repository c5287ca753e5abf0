"""One line while models are compiled beside the app."""

from __future__ import annotations

import streamlit as st

from synth_core.jobs.preparation import Preparation
from synth_core.ui.shared.polling import poll

POLL_SECONDS = 2.0


def show(preparation: Preparation) -> None:
    """Say how many models are ready; nothing once all are."""
    if preparation.running:
        poll(_line, POLL_SECONDS, preparation)


def _line(preparation: Preparation) -> None:
    if not preparation.running:
        st.rerun()
    ready, total = preparation.progress()
    st.caption(f":material/build: Preparing models: {ready} of {total} ready")
