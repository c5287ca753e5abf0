"""Streamlit's side of the program: the only part of synth_core that imports it."""
