"""What Keras 2.0-2.3 did otherwise than tf-keras, for objects of the package ``keras``.

``layers``: names and defaults. ``configs``: fields of configurations. ``formulas``: computations.
``optimizers``: their formulas, defaults and weights. ``training``: log lines, names of metrics,
order of history and callbacks. ``saving``: files.
"""
