"""A parameter server exits after its workers, and on request."""

import signal


def test_server_ends_on_request(tf, site):
    server = site.begin("ps", 0, site.training())
    server.wait_for_output("serves until 2 worker(s) have ended.")

    server.kill(signal.SIGTERM)

    assert server.code == -signal.SIGTERM


def test_server_stays_while_failed_worker_may_come_back(tf, site):
    training = site.training(steps=10**9)
    (server,), (chief, worker) = site.begin_all(training, sync_replicas=False)
    worker.wait_for_output("step ")  # it may not see every number

    worker.kill()
    training.end()

    assert chief.waits() == 0
    server.wait_for_output("worker 0 has ended.")
    assert server.poll() is None


def test_several_runs_of_one_script_use_same_servers(tf, site):
    training = site.training()

    def script():
        return [training(), training()]

    servers, workers = site.begin_all(script)

    assert [task.waits() for task in (*workers, *servers)] == [0, 0, 0]
    assert workers[1].value == [list(range(1, 13))] * 2
