"""OpenAPI names are part of /v1: programs are generated from them."""

from http_requests import Asker

SCHEMAS = {
    "Algorithm", "AlgorithmView", "AlgorithmsList", "CapacityView", "CardView", "CauseView",
    "Change", "Channel", "CodeView", "Command", "Constraint", "Contents", "Curve", "CurvesView",
    "Dataset", "DatasetView", "DatasetsList", "DefineBody", "Disk", "ErrorDetail",
    "ErrorView",
    "Failure", "FaultView", "Fetch", "FileView", "FilesView", "Frame", "HangView", "HelloView",
    "Install", "Isolated", "Isolation",
    "JobSpec", "Kept",
    "JobState", "JobSummary", "JobView", "JobsPage", "Limits", "LineView", "LinesView",
    "NodeView", "NoteView", "Outcome", "Parameter", "Phase", "Place", "PlanBody", "PlanView",
    "Progress",
    "Push", "Reason", "RerunBody", "Resources", "RestoreBody", "RestoredView", "ReturnedView",
    "ShortenedView", "Steps", "StopBody", "SubmitBody", "Task", "TaskStatus", "Transfer",
    "TranslationView", "Unstored", "UploadView", "Waiting",
}  # fmt: skip
OPERATIONS = {
    "capacity", "code_known", "create_algorithm", "create_dataset", "curves", "file_content",
    "files", "hello", "kept", "lines",
    "list_algorithms", "list_datasets", "list_jobs", "plan", "raw_log", "remove",
    "remove_algorithm", "remove_dataset", "rerun", "restore", "show", "show_algorithm",
    "show_dataset", "shutdown", "stop", "store_again", "submit", "translation", "upload_code",
    "wait",
}  # fmt: skip


def test_the_names_in_the_schema_stay(app):
    schema = Asker(app, local=True)("GET", "/v1/openapi.json").json()

    operations = {
        operation["operationId"] for path in schema["paths"].values() for operation in path.values()
    }
    assert set(schema["components"]["schemas"]) == SCHEMAS
    assert operations == OPERATIONS
