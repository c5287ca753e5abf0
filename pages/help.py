"""Help: the guide, the glossary, the methods, and an analyst's own programs."""

from synth_core.ui.help import own_program, pages
from synth_core.ui.help.pages import OWN

section = pages.choose_section()
if section == OWN:
    own_program.show()
else:
    pages.show(section)
