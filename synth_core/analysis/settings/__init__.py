"""What the analyst chooses, validated at the border (pydantic) and immutable inside."""

from synth_core.analysis.settings.of_model import MODEL_OPTIONS
from synth_core.analysis.settings.settings import (
    OF_A_SURVEY,
    Settings,
    make_settings,
    omitted_defaults,
    setting_name,
)

__all__ = ["MODEL_OPTIONS", "OF_A_SURVEY", "Settings", "make_settings", "omitted_defaults", "setting_name"]
