"""A parameter server ends by itself when the workers have, and when it is told to."""

import signal


def test_a_server_ends_when_it_is_told_to(tf, site):
    server = site.begin("ps", 0, site.training())
    server.says("serves until 2 worker(s) have ended.")

    server.kill(signal.SIGTERM)

    assert server.code == -signal.SIGTERM


def test_a_server_stays_while_a_worker_that_failed_may_come_back(tf, site):
    training = site.training(steps=10**9)
    (server,), (chief, worker) = site.begin_all(training, sync_replicas=False)
    worker.says("step ")  # it may not see every number

    worker.kill()
    training.end()

    assert chief.waits() == 0
    server.says("worker 0 has ended.")
    assert server.poll() is None


def test_several_runs_of_one_script_use_the_same_servers(tf, site):
    training = site.training()

    def script():
        return [training(), training()]

    servers, workers = site.begin_all(script)

    assert [task.waits() for task in (*workers, *servers)] == [0, 0, 0]
    assert workers[1].value == [list(range(1, 13))] * 2
