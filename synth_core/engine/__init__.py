"""Stan: finds or builds the toolchain, compiles programs, draws samples, says why a sampler stopped.

It is the only way to the sampler; what is sampled is its caller's affair. It may import `mechanisms` and the
rooms below it, and needs `system` only.
"""
