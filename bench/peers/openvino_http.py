"""OpenVINO GenAI's continuous batching behind OpenAI's /v1/completions, for programs that measure servers, and as small
as they allow: one prompt, as a text or token ids, greedy, streamed or whole. The pipeline steps in a process of its
own, because a step keeps Python's lock, and the tokens of one step would leave after the next."""

import argparse
import asyncio
import codecs
import contextlib
import itertools
import json
import multiprocessing
import sys


class Batch:
    """The process that computes. It takes (number, prompt, max_tokens, ignore_eos), or (number,) to cancel, and sends
    after each step a list of (number, bytes of text, new tokens, tokens of the prompt, why it ended or None)."""

    def __init__(self, given, link):
        import numpy, openvino, openvino_genai  # the process that serves does without
        self.genai, self.link, self.running = openvino_genai, link, {}
        self.tensor = lambda ids: openvino.Tensor(numpy.array([ids], dtype=numpy.int64))
        scheduling = openvino_genai.SchedulerConfig()
        scheduling.max_num_batched_tokens = given.batch
        scheduling.max_num_seqs = given.most
        scheduling.enable_prefix_caching = given.prefix_caching
        self.tokenizer = openvino_genai.Tokenizer(given.tokenizer or given.model)
        self.pipeline = openvino_genai.ContinuousBatchingPipeline(given.model, self.tokenizer, scheduling, "CPU")
        self.pieces = {token: piece for piece, token in self.tokenizer.get_vocab().items()}

    def run(self):
        self.link.send("ready")
        while True:
            while not self.running or self.link.poll():
                self.take(*self.link.recv())
            self.pipeline.step()
            self.link.send([each for number in list(self.running) for each in self.news(number)])

    def take(self, number, *wanted):
        if wanted:
            self.running[number] = self.begun(number, *wanted)
        elif number in self.running:
            self.running.pop(number)[0].cancel()

    def begun(self, number, prompt, max_tokens, ignore_eos):
        how = self.genai.GenerationConfig()
        how.max_new_tokens, how.ignore_eos, how.do_sample = max_tokens, ignore_eos, False
        if not ignore_eos:
            how.set_eos_token_id(self.tokenizer.get_eos_token_id())
        ids = self.tokenizer.encode(prompt).input_ids if isinstance(prompt, str) else self.tensor(prompt)
        return self.pipeline.add_request(number, ids, how), ids.get_size()

    def news(self, number):
        handle, prompt_tokens = self.running[number]
        ended = handle.get_status() != self.genai.GenerationStatus.RUNNING
        outputs = list(handle.read().values()) if handle.can_read() else []
        tokens = [token for output in outputs for token in output.generated_ids]
        if ended:
            del self.running[number]
        if tokens or ended:
            why = outputs[-1].finish_reason.name.lower() if ended and outputs else "error" if ended else None
            yield number, b"".join(self.pieces[token] for token in tokens), len(tokens), prompt_tokens, why


def compute(given, link):
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        Batch(given, link).run()


class Refused(Exception):
    """A request that is not as small as this server."""


def wanted(body):
    """The request as it came, and as the other process takes it: prompt, max_tokens, ignore_eos."""
    asked = json.loads(body)
    if asked.get("temperature") != 0:
        raise Refused(f"temperature is {asked.get('temperature')}; it has to be 0")
    prompt, most = asked.get("prompt"), asked.get("max_tokens", 16)
    if not prompt or not isinstance(prompt, (str, list)) or isinstance(prompt, list) and not isinstance(prompt[0], int):
        raise Refused("prompt has to be a text or token ids, and not empty")
    if not isinstance(most, int) or most < 1:
        raise Refused(f"max_tokens is {most}; it has to be a number from 1 on")
    return asked, (prompt, most, bool(asked.get("ignore_eos")))


class Server:
    def __init__(self, given, link):
        self.name, self.link, self.numbers, self.arrived = given.name, link, itertools.count(1), {}

    def receive(self):
        for number, *news in received(self.link):
            if number in self.arrived:
                self.arrived[number].put_nowait(news)

    async def answers(self, request):
        """Text, tokens until now, tokens of the prompt, and why it ended, after each step; cancelled if left early."""
        number, utf8, tokens, why = next(self.numbers), codecs.getincrementaldecoder("utf-8")("replace"), 0, None
        news = self.arrived[number] = asyncio.Queue()
        self.link.send((number, *request))
        try:
            while not why:
                piece, new, prompt_tokens, why = await news.get()
                tokens += new
                yield utf8.decode(piece, final=bool(why)), tokens, prompt_tokens, why
        finally:
            del self.arrived[number]
            if not why:
                self.link.send((number,))

    def completion(self, text, why, **more):
        choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": why}
        return {"id": "cmpl", "object": "text_completion", "model": self.name, "choices": [choice], **more}

    async def stream(self, asked, request, reader, writer):
        def event(data):
            line = f"data: {data}\n\n".encode()
            writer.write(b"%x\r\n%b\r\n" % (len(line), line))

        writer.write(head("200 OK", "text/event-stream", "Transfer-Encoding: chunked"))
        async with contextlib.aclosing(self.answers(request)) as answers:
            async for text, tokens, prompt_tokens, why in answers:
                if reader.at_eof():
                    return
                event(json.dumps(self.completion(text, why)))
                await writer.drain()
        if (asked.get("stream_options") or {}).get("include_usage"):
            event(json.dumps({**self.completion("", None), "choices": [], "usage": usage(tokens, prompt_tokens)}))
        event("[DONE]")
        writer.write(b"0\r\n\r\n")

    async def complete(self, asked, request, writer):
        texts = []
        async for text, tokens, prompt_tokens, why in self.answers(request):
            texts.append(text)
        reply(writer, "200 OK", self.completion("".join(texts), why, usage=usage(tokens, prompt_tokens)))

    async def route(self, method, path, body, reader, writer):
        if path in ("/health", "/v1/health"):
            reply(writer, "200 OK", {"status": "ok"})
        elif path == "/v1/models":
            reply(writer, "200 OK", {"object": "list", "data": [{"id": self.name, "object": "model"}]})
        elif (method, path) != ("POST", "/v1/completions"):
            reply(writer, "404 Not Found", {"error": {"message": f"there is no {method} {path}"}})
        else:
            asked, request = wanted(body)
            if asked.get("stream"):
                await self.stream(asked, request, reader, writer)
            else:
                await self.complete(asked, request, writer)

    async def connected(self, reader, writer):
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError), contextlib.closing(writer):
            while not reader.at_eof():
                lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                method, path, _ = lines[0].split(" ", 2)
                fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
                body = await reader.readexactly(int(fields.get("content-length", 0)))
                try:
                    await self.route(method, path, body, reader, writer)
                except (Refused, ValueError) as error:
                    reply(writer, "400 Bad Request", {"error": {"message": str(error)}})
                await writer.drain()


def received(link):
    try:
        return link.recv()
    except EOFError:
        sys.exit("openvino_http: the process that computes has ended")


def head(status, kind, more):
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{more}\r\n\r\n".encode()


def reply(writer, status, body):
    data = json.dumps(body).encode()
    writer.write(head(status, "application/json", f"Content-Length: {len(data)}") + data)


def usage(tokens, prompt_tokens):
    return {"prompt_tokens": prompt_tokens, "completion_tokens": tokens, "total_tokens": prompt_tokens + tokens}


async def serve(given, link):
    server = Server(given, link)
    asyncio.get_running_loop().add_reader(link.fileno(), server.receive)
    async with await asyncio.start_server(server.connected, "127.0.0.1", given.port) as listening:
        print(f"ready on http://127.0.0.1:{listening.sockets[0].getsockname()[1]}", flush=True)
        await listening.serve_forever()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="a GGUF file or a folder with OpenVINO's own format")
    parser.add_argument("--tokenizer", help="where the tokenizer is, a GGUF file or a folder, if not with the model")
    parser.add_argument("--name", default="openvino", help="the model's, at /v1/models")
    parser.add_argument("--port", type=int, default=8080, help="0: one that is free")
    parser.add_argument("--batch", type=int, default=512, help="max_num_batched_tokens")
    parser.add_argument("--most", type=int, default=64, help="max_num_seqs")
    parser.add_argument("--prefix-caching", action="store_true", help="prompts read before are not read again")
    return parser.parse_args()


def main():
    given = arguments()
    processes = multiprocessing.get_context("spawn")
    link, other = processes.Pipe()
    processes.Process(target=compute, args=(given, other), daemon=True).start()
    other.close()
    received(link)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(given, link))


if __name__ == "__main__":
    main()
