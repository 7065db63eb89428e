"""What the classes of tf-keras accept besides, set up once for all of its APIs."""

_done: list[bool] = []


def accept() -> None:
    """Does nothing a second time, nor while it runs: it loads the other API of tf-keras."""
    if _done:
        return
    _done.append(True)
    from danlu_runtime.keras2 import (
        callback_logs,
        channels_first,
        cudnn,
        data_files,
        keras1_arguments,
        models_as_text,
        old_defaults,
        optimizer_arguments,
        training_calls,
    )

    keras1_arguments.accept()
    training_calls.accept()
    optimizer_arguments.accept()
    old_defaults.apply_where_old()
    callback_logs.accept()
    models_as_text.accept()
    cudnn.run_without_gpu()
    channels_first.run_without_gpu()
    data_files.serve()
