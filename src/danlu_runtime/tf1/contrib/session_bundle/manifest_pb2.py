"""`tensorflow.contrib.session_bundle.manifest_pb2`: the signatures of before SavedModel.

The messages are real protocol buffers with the names and numbers of `manifest.proto`, described
here because the generated module left TensorFlow.
"""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE = "tensorflow.serving"
_Field = descriptor_pb2.FieldDescriptorProto
# Message -> its fields in the order of their numbers: name, and message type or None for text.
_MESSAGES: dict[str, list[tuple[str, str | None]]] = {
    "TensorBinding": [("tensor_name", None)],
    "RegressionSignature": [("input", "TensorBinding"), ("output", "TensorBinding")],
    "ClassificationSignature": [
        ("input", "TensorBinding"),
        ("classes", "TensorBinding"),
        ("scores", "TensorBinding"),
    ],
    "GenericSignature": [("map", "map:TensorBinding")],
    "Signature": [
        ("regression_signature", "RegressionSignature"),
        ("classification_signature", "ClassificationSignature"),
        ("generic_signature", "GenericSignature"),
    ],
    "Signatures": [("default_signature", "Signature"), ("named_signatures", "map:Signature")],
    "AssetFile": [("tensor_binding", "TensorBinding"), ("filename", None)],
}


def _file() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(
        name="tensorflow/contrib/session_bundle/manifest.proto", package=_PACKAGE, syntax="proto3"
    )
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, (field, kind) in enumerate(fields, start=1):
            _add_field(message, name, field, kind, number)
        if name == "Signature":
            message.oneof_decl.add(name="type")
            for item in message.field:
                item.oneof_index = 0
    return file


def _add_field(
    message: descriptor_pb2.DescriptorProto, owner: str, name: str, kind: str | None, number: int
) -> None:
    field = message.field.add(name=name, number=number, label=_Field.LABEL_OPTIONAL)
    if kind is None:
        field.type = _Field.TYPE_STRING
        return
    field.type = _Field.TYPE_MESSAGE
    if not kind.startswith("map:"):
        field.type_name = f".{_PACKAGE}.{kind}"
        return
    entry_name = "".join(part.title() for part in name.split("_")) + "Entry"
    entry = message.nested_type.add(name=entry_name)
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, label=_Field.LABEL_OPTIONAL, type=_Field.TYPE_STRING)
    entry.field.add(
        name="value",
        number=2,
        label=_Field.LABEL_OPTIONAL,
        type=_Field.TYPE_MESSAGE,
        type_name=f".{_PACKAGE}.{kind.removeprefix('map:')}",
    )
    field.label = _Field.LABEL_REPEATED
    field.type_name = f".{_PACKAGE}.{owner}.{entry_name}"


# A pool of its own: a script may bring the generated module of the same name.
_pool = descriptor_pool.DescriptorPool()
_pool.Add(_file())
_classes = {
    name: message_factory.GetMessageClass(_pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))
    for name in _MESSAGES
}
TensorBinding = _classes["TensorBinding"]
RegressionSignature = _classes["RegressionSignature"]
ClassificationSignature = _classes["ClassificationSignature"]
GenericSignature = _classes["GenericSignature"]
Signature = _classes["Signature"]
Signatures = _classes["Signatures"]
AssetFile = _classes["AssetFile"]
