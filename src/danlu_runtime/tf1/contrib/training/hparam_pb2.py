"""``HParamDef``, the message hyper-parameters are stored as; built here, for its file is gone."""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_Field = descriptor_pb2.FieldDescriptorProto
_KINDS = (("int64", 1, 4), ("float", 2, 5), ("bytes", 3, 6), ("bool", 7, 8))
_TYPES = {
    "int64": _Field.TYPE_INT64,
    "float": _Field.TYPE_FLOAT,
    "bytes": _Field.TYPE_BYTES,
    "bool": _Field.TYPE_BOOL,
}


def _describe() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(
        name="tensorflow/contrib/training/python/training/hparam.proto",
        package="tensorflow",
        syntax="proto3",
    )
    message = file.message_type.add(name="HParamDef")
    path = ".tensorflow.HParamDef"
    one = message.nested_type.add(name="HParamType")
    one.oneof_decl.add(name="kind")
    for kind, value, values in _KINDS:
        several = message.nested_type.add(name=f"{kind.capitalize()}List")
        several.field.add(name="value", number=1, label=_Field.LABEL_REPEATED, type=_TYPES[kind])
        one.field.add(
            name=f"{kind}_value",
            number=value,
            label=_Field.LABEL_OPTIONAL,
            type=_TYPES[kind],
            oneof_index=0,
        )
        one.field.add(
            name=f"{kind}_list",
            number=values,
            label=_Field.LABEL_OPTIONAL,
            type=_Field.TYPE_MESSAGE,
            type_name=f"{path}.{several.name}",
            oneof_index=0,
        )
    entry = message.nested_type.add(name="HparamEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, label=_Field.LABEL_OPTIONAL, type=_Field.TYPE_STRING)
    entry.field.add(
        name="value",
        number=2,
        label=_Field.LABEL_OPTIONAL,
        type=_Field.TYPE_MESSAGE,
        type_name=f"{path}.HParamType",
    )
    message.field.add(
        name="hparam",
        number=1,
        label=_Field.LABEL_REPEATED,
        type=_Field.TYPE_MESSAGE,
        type_name=f"{path}.HparamEntry",
    )
    return file


# A pool of its own: another library may have registered the same message.
_pool = descriptor_pool.DescriptorPool()
_pool.Add(_describe())
HParamDef = message_factory.GetMessageClass(_pool.FindMessageTypeByName("tensorflow.HParamDef"))
