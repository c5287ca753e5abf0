"""The normal mixture: the family, and the pilot run that finds its starting points.

`model` is the family, `pilot` a short Gibbs run for starts and coordinates, `em` where that run starts.
"""

from synth_core.models.mixture.model import Mixture

__all__ = ["Mixture"]
