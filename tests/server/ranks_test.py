#!/usr/bin/env python3
"""ranks_test.py SERVER MODEL MPIRUN: a server whose model is split over processes."""
import concurrent.futures
import os
import pathlib
import signal
import subprocess
import sys
import unittest

from cogen_server import CogenServer

SPLITS = (["--tensor", "2"], ["--pipeline", "2"], ["--tensor", "2", "--pipeline", "2"])


def serving(split, *options):
    ranks = 1
    for count in split[1::2]:
        ranks *= int(count)
    launcher = [sys.argv[3], "--oversubscribe", "--enable-recovery", "-n", str(ranks)]
    return CogenServer(*sys.argv[1:3], "--threads", "1", "--max-length", "1024", *split, *options, launcher=launcher)


def process_of_rank(rank, launcher):
    """The process that `launcher` has started as this rank."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
            environment = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue  # it has ended
        if parent == launcher and f"OMPI_COMM_WORLD_RANK={rank}".encode() in environment:
            return int(folder.name)
    raise AssertionError(f"there is no rank {rank}")


def text_of(answer):
    return answer.json["choices"][0]["message"]["content"]


class RanksTest(unittest.TestCase):
    def test_clients_notice_nothing(self):
        for split in SPLITS:
            with self.subTest(split), serving(split) as server:
                alone = text_of(server.chat())
                self.assertIn("Paris", alone)
                with concurrent.futures.ThreadPoolExecutor(8) as clients:
                    together = [text_of(each) for each in clients.map(lambda _: server.chat(), range(8))]
                self.assertEqual(together, [alone] * 8)
                os.kill(process_of_rank(0, server.process.pid), signal.SIGTERM)  # mpirun itself would end all ranks
                self.assertEqual(server.process.stdout.readline(), "draining\n")
                self.assertEqual(server.process.wait(60), 0)

    def test_a_rank_that_is_killed_ends_all_answers_with_its_number(self):
        with serving(SPLITS[0]) as server:
            client = server.send("/v1/chat/completions", {"messages": [{"role": "user", "content": "Count to 1000."}],
                                                          "stream": True, "max_tokens": 900, "ignore_eos": True})
            received = client.recv(4096)
            self.assertIn(b"200 OK", received)
            os.kill(process_of_rank(1, server.process.pid), signal.SIGKILL)
            while piece := client.recv(65536):
                received += piece
                if b"rank 1" in received:
                    break
            self.assertIn(b"rank 1 has ended or stalled", received)
            refused = server.chat()
            self.assertGreaterEqual(refused.status, 500)
            self.assertIn("rank 1 has ended or stalled", refused.text)
            client.close()

    def test_what_cannot_be_is_said(self):
        for options, said in ((["--tensor", "3"], "asks for 3 ranks"), (["--tensor", "0"], "at least 1"),
                              (["--tensor", "2", "--model", "other=" + sys.argv[2]], "1 with several models")):
            with self.subTest(options):
                launcher = [sys.argv[3], "--oversubscribe", "-n", "2"]
                command = CogenServer(*sys.argv[1:3], *options, launcher=launcher).command
                ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
                self.assertNotEqual(ended.returncode, 0)
                self.assertIn(said, ended.stderr)


if __name__ == "__main__":
    os.environ |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    unittest.main(argv=sys.argv[:1])
