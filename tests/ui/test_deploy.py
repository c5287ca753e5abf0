"""What docs/operate/deploy.md promises is what is set; the cache forgets by age; presets are valid."""

import os
import re
import time
import tomllib

import numpy as np
import pytest

from synth_core.analysis.settings import Settings, make_settings
from synth_core.data.examples import EXAMPLES
from synth_core.errors import InputError
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.system import limits
from synth_core.system.cache import Cache, results_cache
from synth_core.ui.shared.presets import DEMO_EXAMPLE, PRESET_SETTINGS, PRESETS
from synth_core.ui.shared.tour import STEPS
from tests.conftest import ROOT

CONFIG = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
GUIDE = (ROOT / "docs" / "operate" / "deploy.md").read_text()
PROMISED = re.findall(r"^\| `(\w+)\.(\w+)` \| `([^`]+)`", GUIDE, re.MULTILINE)


def test_the_guide_names_what_matters():
    assert {name for _, name, _ in PROMISED} >= {
        "address",
        "enableXsrfProtection",
        "enableCORS",
        "maxUploadSize",
        "gatherUsageStats",
        "showErrorDetails",
    }


@pytest.mark.parametrize(("section", "name", "value"), PROMISED)
def test_a_promised_setting_is_set(section, name, value):
    assert str(CONFIG[section][name]).lower() == value


def test_limits_are_those_of_the_guide():
    assert CONFIG["server"]["maxUploadSize"] == limits.MAX_UPLOAD_MB
    variables = (ROOT / "docs" / "operate" / "environment.md").read_text()
    assert f"| `SYNTH_CACHE_DAYS` | {limits.CACHE_DAYS} |" in variables


def test_what_was_not_used_for_long_is_deleted(tmp_path):
    cache = Cache(tmp_path, max_days=2)
    now = time.time()
    for key, days in (("aa" * 32, 1.9), ("bb" * 32, 2.1)):
        cache.put(key, {"a": np.zeros(2)})
        os.utime(cache._path(key), (now - days * 86400,) * 2)
    cache.prune()
    assert cache.get("bb" * 32) is None
    assert cache.get("aa" * 32) is not None


@pytest.mark.parametrize("text", ["soon", "0", "-1", "nan"])
def test_a_wrong_age_limit_is_refused(monkeypatch, text):
    monkeypatch.setenv("SYNTH_CACHE_DAYS", text)
    with pytest.raises(InputError, match="SYNTH_CACHE_DAYS"):
        results_cache()


def test_the_age_limit_is_read(monkeypatch, tmp_path):
    monkeypatch.setenv("SYNTH_RESULTS_DIR", str(tmp_path))
    monkeypatch.setenv("SYNTH_CACHE_DAYS", "0.5")
    assert results_cache().max_days == 0.5


def test_presets_can_be_used_and_the_demo_is_simulated():
    assert set(PRESET_SETTINGS) <= set(Settings.model_fields)
    for preset in PRESETS.values():
        for key in preset.mechanisms:
            find_mechanism(key)
        make_settings(outcome="x", model="lognormal", **preset.changes)
        assert set(preset.changes) <= set(PRESET_SETTINGS)
        assert preset.why.count(".") >= 1
    assert EXAMPLES[DEMO_EXAMPLE].simulate is not None


def test_the_tour_leads_to_pages_that_exist():
    assert all((ROOT / step.page).is_file() for step in STEPS)
