"""Contract tests that every implementation must pass, and fakes for tests.

``dialect``, ``storage``, ``executor``, ``records``, ``taskdir``: one contract each; subclass it.
``fake_executor``: an executor whose tasks do what a test prescribes.
``s3_server``: a small S3-compatible service that can inject errors.
"""
