"""OpenAPI names are part of /v1: programs are generated from them."""

from asking import Asker

SCHEMAS = {
    "Algorithm", "AlgorithmView", "AlgorithmsList", "CapacityView", "CardView", "CauseView",
    "Change", "Channel", "CodeView", "Command", "Constraint", "Contents", "Curve", "CurvesView",
    "Dataset", "DatasetView", "DatasetsList", "DefineBody", "ErrorDetail", "ErrorView",
    "Failure", "FaultView", "Fetch", "Frame", "HangView", "HelloView", "Install", "Isolation",
    "JobSpec",
    "JobState", "JobSummary", "JobView", "JobsPage", "Limits", "LineView", "LinesView",
    "NodeView", "NoteView", "Outcome", "Parameter", "Phase", "Place", "PlanBody", "PlanView",
    "Progress",
    "Push", "Reason", "RerunBody", "Resources", "Steps", "StopBody", "SubmitBody", "Task",
    "TaskStatus", "Transfer", "TranslationView",
}  # fmt: skip
OPERATIONS = {
    "capacity", "code_known", "create_algorithm", "create_dataset", "curves", "hello", "lines",
    "list_algorithms", "list_datasets", "list_jobs", "plan", "raw_log", "remove",
    "remove_algorithm", "remove_dataset", "rerun", "show", "show_algorithm", "show_dataset",
    "shutdown", "stop", "submit", "translation", "upload_code", "wait",
}  # fmt: skip


def test_the_names_in_the_schema_stay(app):
    schema = Asker(app, local=True)("GET", "/v1/openapi.json").json()

    operations = {
        operation["operationId"] for path in schema["paths"].values() for operation in path.values()
    }
    assert set(schema["components"]["schemas"]) == SCHEMAS
    assert operations == OPERATIONS
