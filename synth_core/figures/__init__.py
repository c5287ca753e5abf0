"""Results become figures: arrays in, plotly figures as plain dictionaries out.

The browser draws them; neither Streamlit nor plotly is imported here. It may import `jobs` and the rooms
below it.
"""
