"""``Model.to_yaml`` and ``model_from_yaml``, which TensorFlow 2.6 removed.

It removed them because its way of reading YAML could run code; ``yaml.safe_load`` cannot.
"""

import json
from typing import Any


def accept() -> None:
    from tf_keras.api._v1.keras import models as first
    from tf_keras.api._v2.keras import models as second
    from tf_keras.src.engine.training import Model
    from tf_keras.src.saving.legacy import model_config

    Model.to_yaml = _to_yaml
    for module in (first, second, model_config):
        module.model_from_yaml = model_from_yaml


def _to_yaml(self: Any, **kwargs: Any) -> str:
    """Return the structure of a model as YAML; arguments are those of ``yaml.dump``."""
    import yaml

    return str(yaml.safe_dump(json.loads(self.to_json()), **kwargs))


def model_from_yaml(yaml_string: Any, custom_objects: Any = None) -> Any:
    """Return the model that ``to_yaml`` described, with new weights."""
    import yaml
    from tf_keras.src.saving.legacy.model_config import model_from_json

    text = json.dumps(yaml.safe_load(yaml_string))
    return model_from_json(text, custom_objects=custom_objects)
