"""Variables of Huawei's first training service: DLS had them, early ModelArts kept them."""

from collections.abc import Mapping

from danlu.job.plan import Place
from danlu.job.spec import JobSpec


def environment(spec: JobSpec, place: Place) -> Mapping[str, str]:
    """Return them for one task. URLs are as the user gave them, with their scheme."""
    workers = place.peers.get("worker", (place.host,))
    hosts = {f"BATCH_CUSTOM{number}_HOSTS": address for number, address in enumerate(workers)}
    if len(workers) == 1:  # one node has its job's name in the variable
        hosts = {f"BATCH_{spec.name}.0_HOSTS": f"{place.host}:{place.port}"}
    return {
        "DLS_TASK_INDEX": str(place.index),
        "DLS_TASK_NUMBER": str(len(workers)),
        "DLS_APP_URL": spec.options["code_origin"],
        "DLS_DATA_URL": spec.inputs.get("data_url", ""),
        "DLS_TRAIN_URL": spec.outputs.get("train_url", ""),
        "BATCH_JOB_ID": place.job_id,
        "BATCH_TASK_CURRENT_HOST_IP": place.host,
        "BATCH_TASK_CURRENT_INSTANCE": place.task,
        **hosts,
        "S3_USE_HTTPS": "1",
        "S3_VERIFY_SSL": "0",
    }
