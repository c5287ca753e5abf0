"""Streamlit's side of the app: sessions, widgets, the board of figures; the pages themselves are in `pages/`.

It is the only room that imports Streamlit, and it computes nothing: it asks `jobs`. It may import every other
room but `cli`.
"""
