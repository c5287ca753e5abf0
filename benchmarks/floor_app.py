"""The floor of a slider move: one slider and the same figures, sent anew; nothing is computed.

FLOOR_PICTURE names a JSON file with the board's "results" and "figures".
"""

import json
import os
from pathlib import Path

import streamlit as st

from synth_core.ui.server import http
from synth_core.ui.shared.board import board

if __name__ == "__main__":
    st.set_page_config(page_title="Floor", layout="wide")
    content = json.loads(Path(os.environ["FLOOR_PICTURE"]).read_text())
    with st.sidebar:
        moved = st.slider("Scale c", 0.0, 2.0, 1.0, step=0.05)
    board(content["results"], content["figures"], f"floor{moved:.2f}", False)
else:
    app = st.App(__file__, routes=http.routes())
