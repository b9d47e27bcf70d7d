#!/usr/bin/env python3
"""usage: kv_events_test.py SERVER PYTHON [unittest's arguments]: reads what the server publishes of its prefix cache with
pyzmq and msgspec, from the environment PYTHON that scripts/server-tests has made, as vLLM's subscribers read it."""
import subprocess
import sys
import tempfile
import time
import unittest

from cogen_server import CogenServer
from fetched_python import SKIPPED, run_again
from tiny_model import write_tiny_model

try:
    import msgspec
    import zmq
except ImportError:
    run_again(sys.argv[2])

BLOCK = 16
END = (-1).to_bytes(8, "big", signed=True)


def structures(array_like):
    """Messages with the fields of vllm/distributed/kv_events.py, in its order; before June 2026 events were arrays."""
    shape = {"omit_defaults": True, "frozen": True, "array_like": array_like}

    class BlockStored(msgspec.Struct, tag=True, **shape):
        block_hashes: list[int | bytes]
        parent_block_hash: int | bytes | None
        token_ids: list[int]
        block_size: int
        lora_id: int | None
        medium: str | None
        lora_name: str | None
        extra_keys: list[tuple | None] | None = None

    class BlockRemoved(msgspec.Struct, tag=True, **shape):
        block_hashes: list[int | bytes]
        medium: str | None

    class AllBlocksCleared(msgspec.Struct, tag=True, **shape):
        pass

    class KVEventBatch(msgspec.Struct, omit_defaults=True, array_like=True):
        ts: float
        events: list[BlockStored | BlockRemoved | AllBlocksCleared]
        data_parallel_rank: int | None = None

    return KVEventBatch


class Subscriber:
    """Reads messages in order, and asks again for those that it missed."""

    def __init__(self, folder, batch, topic="kv-events"):
        self.context = zmq.Context()
        self.folder, self.topic = folder, topic
        self.decoder = msgspec.msgpack.Decoder(batch)
        self.replay = self.context.socket(zmq.DEALER)
        self.replay.connect(f"ipc://{folder}/replay")
        self.last, self.missed = -1, 0
        self.events = []
        self.connect()

    def connect(self):
        self.live = self.context.socket(zmq.SUB)
        self.live.setsockopt_string(zmq.SUBSCRIBE, self.topic)
        self.live.connect(f"ipc://{self.folder}/events")

    def close(self):
        self.context.destroy(linger=0)

    def ask_again(self, first):
        """All messages from that number on that the server still has."""
        self.replay.send_multipart([b"", first.to_bytes(8, "big")])
        while True:
            assert self.replay.poll(10000), "no answer to a request for messages"
            empty, number, payload = self.replay.recv_multipart()
            assert empty == b""
            if number == END:
                assert payload == b""
                return
            yield int.from_bytes(number, "big"), payload

    def take(self, number, payload):
        batch = self.decoder.decode(payload)
        assert msgspec.msgpack.encode(batch) == payload, "other bytes than msgspec writes"
        assert abs(batch.ts - time.time()) < 600 and batch.data_parallel_rank == 0
        assert number == self.last + 1
        self.last = number
        self.events += batch.events

    def read(self, wait=500):
        """What has come, until there is nothing for `wait` ms; returns the new events."""
        begin = len(self.events)
        while self.live.poll(wait):
            topic, number, payload = self.live.recv_multipart()
            assert topic == self.topic.encode() and len(number) == 8
            number = int.from_bytes(number, "big")
            if number > self.last + 1:
                self.missed += number - self.last - 1
                for again, missed in self.ask_again(self.last + 1):
                    if again < number:
                        self.take(again, missed)
            if number > self.last:
                self.take(number, payload)
        return self.events[begin:]

    def blocks(self):
        """Each block that is stored, with all tokens up to its end."""
        stored = {}
        for event in self.events:
            name = type(event).__name__
            if name == "AllBlocksCleared":
                stored.clear()
            for at, block in enumerate(event.block_hashes if name != "AllBlocksCleared" else []):
                if name == "BlockRemoved":
                    del stored[block]
                    continue
                before = event.block_hashes[at - 1] if at else event.parent_block_hash
                assert block not in stored and (before is None or before in stored)
                stored[block] = stored.get(before, ()) + tuple(event.token_ids[at * BLOCK:(at + 1) * BLOCK])
        return stored


def prompt(count, first):
    return [(first + 7 * at) % 200 + 1 for at in range(count)]


class KVEventsTest(unittest.TestCase):
    def start(self, *options, array_like=False):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.server = self.enterContext(CogenServer(
            program, model, "--threads", "1", "--kv-events-endpoint", f"ipc://{self.folder}/events",
            "--kv-events-replay-endpoint", f"ipc://{self.folder}/replay", "--kv-events-topic", "kv-events", *options))
        self.batch = structures(array_like)
        self.subscriber = self.subscribe()

    def subscribe(self):
        made = Subscriber(self.folder, self.batch)
        self.addCleanup(made.close)
        time.sleep(0.3)  # until the server knows of it
        return made

    def ask(self, tokens, **more):
        """How many tokens of the prompt were cached."""
        answer = self.server.ask("/v1/completions", prompt=tokens, **{"max_tokens": 1, "temperature": 0, **more})
        return answer["usage"]["prompt_tokens_details"]["cached_tokens"]

    def check_turns(self):
        tokens = prompt(40, 0)
        self.assertEqual(self.ask(tokens), 0)
        cleared, stored = self.subscriber.read()
        self.assertEqual(type(cleared).__name__, "AllBlocksCleared")
        self.assertEqual((stored.token_ids, stored.block_size, len(stored.block_hashes)), (tokens[:32], BLOCK, 2))
        self.assertEqual((stored.parent_block_hash, stored.lora_id, stored.medium, stored.lora_name, stored.extra_keys),
                         (None, None, "GPU", None, [None, None]))
        longer = tokens + prompt(30, 5)
        self.assertGreaterEqual(self.ask(longer), 32)
        (more,) = self.subscriber.read()
        self.assertEqual((more.parent_block_hash, more.token_ids), (stored.block_hashes[-1], longer[32:64]))

    def test_the_second_turn_continues_the_first_ones_blocks(self):
        self.start()
        self.check_turns()

    def test_events_as_arrays(self):
        self.start("--kv-events-encoding", "array", array_like=True)
        self.check_turns()

    def test_what_generation_adds_is_stored(self):
        self.start()
        self.ask(prompt(8, 0), max_tokens=60, ignore_eos=True)
        stored = self.subscriber.read()[1:]
        self.assertEqual(sum(len(event.block_hashes) for event in stored), (8 + 60 - 1) // BLOCK)
        for before, event in zip(stored, stored[1:]):
            self.assertEqual(event.parent_block_hash, before.block_hashes[-1])

    def test_missed_messages_are_sent_again(self):
        self.start()
        self.ask(prompt(40, 0))
        self.subscriber.read()
        self.subscriber.live.close()
        for first in range(1, 4):
            self.ask(prompt(40, first))
        self.subscriber.connect()
        time.sleep(0.3)
        self.ask(prompt(40, 4))
        self.subscriber.read()
        self.assertGreaterEqual(self.subscriber.missed, 3)
        late = self.subscribe()  # which has missed all
        for number, payload in late.ask_again(0):
            late.take(number, payload)
        self.assertEqual(late.blocks(), self.subscriber.blocks())
        self.assertEqual(len(late.blocks()), 10)
        self.assertEqual(list(late.ask_again(late.last + 1)), [])

    def test_a_client_of_another_kind_gets_the_first_message(self):
        self.start()
        asks = self.subscriber.context.socket(zmq.REQ)  # as vLLM's example does
        self.addCleanup(asks.close)
        asks.connect(f"ipc://{self.folder}/replay")
        asks.send((0).to_bytes(8, "big"))
        number, payload = asks.recv_multipart()
        self.assertEqual(int.from_bytes(number, "big"), 0)
        self.subscriber.take(0, payload)

    def test_a_request_without_a_number_is_ignored(self):
        self.start()
        self.subscriber.replay.send_multipart([b"", b"123"])
        self.subscriber.replay.send_multipart([b"", b"12345678", b"more"])
        self.assertEqual([number for number, _ in self.subscriber.ask_again(0)][:1], [0])

    def test_blocks_are_what_requests_find(self):
        self.start("--slots", "2", "--kv-gib", "0.001")
        for turn in range(40):
            tokens = prompt(20 + 37 * turn % 150, 3 * turn % 20) + prompt(10, turn)
            self.subscriber.read(wait=100)
            known = set(self.subscriber.blocks().values())
            first = next((end for end in range(len(tokens) // BLOCK * BLOCK, 0, -BLOCK) if tuple(tokens[:end]) in known), 0)
            cached = self.ask(tokens)
            self.assertTrue(first <= cached + 1 and (cached < first + BLOCK), f"{cached} cached, {first} by the events")
        self.subscriber.read()
        removed = sum(type(event).__name__ == "BlockRemoved" for event in self.subscriber.events)
        self.assertGreater(removed, 3)

    def test_each_salt_has_blocks_of_its_own(self):
        self.start()
        hashes = set()
        for salt in {}, {"cache_salt": "a"}, {"cache_salt": "b"}:
            self.ask(prompt(40, 0), **salt)
            stored = self.subscriber.read()[-1]
            hashes.update(stored.block_hashes)
            own, *others = stored.extra_keys
            self.assertEqual(([type(key) for key in own or ()], others), ([str] if salt else [], [None]))
        self.assertEqual(len(hashes), 6)

    def test_blocks_of_another_size(self):
        self.start("--kv-events-block-size", "8")
        self.ask(prompt(40, 0))
        stored = self.subscriber.read()[-1]
        self.assertEqual((stored.block_size, len(stored.block_hashes), len(stored.token_ids)), (8, 5, 40))

    def test_wrong_options_are_named(self):
        for options, sentence in (
                (["--kv-events-endpoint", "tcp://*"], "--kv-events-endpoint is tcp://*, which cannot be used: Invalid argument"),
                (["--kv-events-replay-endpoint", "ipc://x"], "given together with --kv-events-endpoint"),
                (["--kv-events-endpoint", "ipc://x", "--model", f"other={model}"], "given with one model alone"),
                (["--kv-events-block-size", "0"], "--kv-events-block-size is 0; it must be at least 1"),
                (["--kv-events-encoding", "json"], "--kv-events-encoding is json; it must be map or array")):
            with self.subTest(options):
                self.assertIn(sentence, says(*options))


def says(*options):
    """What the server says before it ends with status 2."""
    ended = subprocess.run([program, "--model", model, "--port", "0", *options], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2, ended
    return ended.stderr


if __name__ == "__main__":
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as made:
        model = str(write_tiny_model(made))
        if "built without libzmq" in says("--kv-events-endpoint", "tcp://*"):
            print("skipped: the server was built without libzmq")
            sys.exit(SKIPPED)
        unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
