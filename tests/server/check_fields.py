#!/usr/bin/env python3
"""usage: check_fields.py PROGRAM: asks the HTTP server, with models that cost next to nothing, what fields of requests mean:
tokens without a text, prompts alone, gaps, roles, defaults, drafts, texts that are embedded."""
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from cogen_server import CogenServer
from tiny_model import read_tokenizer, size_of, write_chain, write_tiny_model

GOLDENS = pathlib.Path(__file__).resolve().parent.parent / "golden"
VOCABULARY = read_tokenizer()["model"]["vocab"]
END = 420


def served(model, *flags):
    return CogenServer(sys.argv[1], str(model), *flags)


def ids(text):
    return [VOCABULARY[letter] for letter in text]


def chain(text, *more):
    """After each letter of the text comes the next one, after the last one `more`, and then the end."""
    tokens = [*ids(text), *more, END]
    return dict(zip(tokens, tokens[1:]))


def refusal(answer, status=400):
    assert answer.status == status, answer.text
    return answer.json["error"]["message"]


def check_tokens_without_text():
    """As Qwen 2.5 has: rows of logits behind the last token of the tokenizer."""
    size = size_of(read_tokenizer())
    beyond = size + 2
    follows = chain("xa", beyond) | chain("bc") | {beyond: ids("b")[0]}
    with tempfile.TemporaryDirectory() as folder, served(write_chain(folder, follows, END, padding=13)) as server:
        greedy = {"temperature": 0, "max_tokens": 8}
        lone = server.ask("/v1/completions", prompt="x", **greedy, logprobs=3)
        choice = lone["choices"][0]
        assert choice["text"] == "abc" and choice["finish_reason"] == "stop" and lone["usage"]["completion_tokens"] == 4, lone
        assert choice["logprobs"]["tokens"][:4] == ["a", "", "b", "c"] and choice["logprobs"]["text_offset"][:4] == [0, 1, 1, 2], choice
        events = server.post("/v1/completions", {"prompt": "x", "stream": True} | greedy).events
        assert "".join(event["choices"][0]["text"] for event in events) == "abc"
        chat = server.chat([{"role": "user", "content": "x"}], continue_final_message=False, logprobs=True, top_logprobs=5)
        assert chat.status == 200, chat.text
        own = server.ask("/completion", prompt="x", n_predict=8, temperature=0, n_probs=20, return_tokens=True)
        assert own["content"] == "abc" and own["tokens"][1] == beyond, own
        assert [one["token"] for one in own["completion_probabilities"][:2]] == ["a", ""] and own["completion_probabilities"][1]["bytes"] == []
        assert server.ask("/v1/completions", prompt=[beyond], **greedy)["choices"][0]["text"] == "bc"
        echoed = server.ask("/v1/completions", prompt=[*ids("x"), beyond], echo=True, logprobs=1, prompt_logprobs=2, **greedy)["choices"][0]
        assert echoed["text"] == "xbc", echoed
        assert server.ask("/completion", prompt=[*ids("x"), beyond], n_predict=1, temperature=0)["prompt"] == "x"
        assert server.ask("/detokenize", tokens=[beyond, *ids("x"), size + 12])["content"] == "x"
        assert str(size + 13) in refusal(server.post("/detokenize", {"tokens": [size + 13]}))
        assert str(size + 13) in refusal(server.post("/v1/completions", {"prompt": [size + 13]}))
        assert server.ask("/v1/completions", prompt="x", logit_bias={beyond: -100}, **greedy)["choices"][0]["text"] == "a!"
        assert server.ask("/v1/completions", prompt="x", stop_token_ids=[beyond], **greedy)["choices"][0]["text"] == "a"
        assert server.ask("/v1/completions", prompt="x", guided_regex="a[bc]", **greedy)["choices"][0]["text"] in ("ab", "ac")


def check_prompts_alone():
    with tempfile.TemporaryDirectory() as folder, served(write_tiny_model(folder), "--max-length", "64") as server:
        one = server.ask("/v1/completions", prompt="Hello", max_tokens=1, echo=True, logprobs=2, temperature=0)["choices"][0]["logprobs"]
        scored = {"prompt": "Hello", "max_tokens": 0, "echo": True, "logprobs": 2}
        none = server.ask("/v1/completions", **scored)
        length = none["usage"]["prompt_tokens"]
        choice = none["choices"][0]
        assert choice["text"] == "Hello" and choice["finish_reason"] == "length" and none["usage"]["completion_tokens"] == 0, none
        assert {name: values[:length] for name, values in one.items()} == choice["logprobs"], (one, choice)
        events = server.post("/v1/completions", scored | {"stream": True, "stream_options": {"include_usage": True}}).events
        assert "".join(event["choices"][0]["text"] for event in events[:-1]) == "Hello" and events[-1]["usage"] == none["usage"], events
        assert [event["choices"][0]["finish_reason"] for event in events[:-1]][-1] == "length"
        bare = server.ask("/v1/completions", prompt=["Hello", "a"], max_tokens=0, n=2)["choices"]
        assert [(each["text"], each["logprobs"], each["finish_reason"]) for each in bare] == [("", None, "length")] * 4, bare
        assert server.ask("/v1/completions", prompt=[64] * 64, max_tokens=0, logprobs=0, echo=True)["usage"]["prompt_tokens"] == 64
        assert server.post("/v1/completions", {"prompt": [64] * 64, "max_tokens": 1}).status == 400
        for stream in (False, True):
            answer = server.post("/completion", {"prompt": "Hello", "n_predict": 0, "stream": stream})
            last = json.loads(answer.text.strip().split("data: ")[-1])
            assert last["content"] == "" and last["tokens_predicted"] == 0 and last["tokens_evaluated"] == length, answer.text
            assert last["stop_type"] == "limit" and last["tokens_cached"] == length and last["timings"]["prompt_ms"] > 0, last
        message = [{"role": "user", "content": "Hello"}]
        filled = server.ask("/v1/messages", messages=message, max_tokens=0)
        assert filled["content"] == [] and filled["stop_reason"] == "max_tokens" and filled["usage"]["output_tokens"] == 0, filled
        events = server.post("/v1/messages", {"messages": message, "max_tokens": 0, "stream": True}).text
        assert "message_stop" in events and "content_block_start" not in events, events
        assert server.chat(message, n_predict=0, max_tokens=None).json["usage"]["completion_tokens"] == 0
        assert "max_tokens is 0" in refusal(server.chat(message, max_tokens=0))
        assert "max_output_tokens is 0" in refusal(server.post("/v1/responses", {"input": "Hello", "max_output_tokens": 0}))
        assert "max_tokens is -1" in refusal(server.post("/v1/completions", {"prompt": "x", "max_tokens": -1}))


def check_gaps():
    names = ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|repo_name|>", "<|file_sep|>"]
    tokenizer = read_tokenizer(*names)
    first = size_of(read_tokenizer())
    middle, next_file = first + 2, first + 4
    follows = chain("zy") | {ids("y")[0]: next_file, middle: ids("z")[0]}
    with tempfile.TemporaryDirectory() as folder, served(write_chain(folder, follows, END, tokenizer), "--max-length", "256") as server:
        asked = {"input_prefix": "a(", "input_suffix": ")", "n_predict": 9, "temperature": 0}
        filled = server.ask("/infill", **asked)
        assert filled["content"] == "zy" and filled["stop_type"] == "eos", filled
        assert filled["prompt"] == "<|repo_name|>myproject\n<|file_sep|>filename\n<|fim_prefix|>a(<|fim_suffix|>)<|fim_middle|>", filled
        extra = [{"filename": "b.c", "text": "b;"}, {"text": "c;"}]
        seen = server.ask("/infill", **asked, input_extra=extra, prompt="1+")["prompt"]
        assert seen == ("<|repo_name|>myproject\n<|file_sep|>b.c\nb;<|file_sep|>tmp\nc;<|file_sep|>filename\n"
                        "<|fim_prefix|>a(1+<|fim_suffix|>)<|fim_middle|>"), seen
        long = server.ask("/infill", **asked | {"input_prefix": "a" * 1000, "input_suffix": "b" * 1000}, input_extra=extra)
        assert long["tokens_evaluated"] == 256 - 9 and "<|file_sep|>" not in long["prompt"], long
        events = server.post("/infill", asked | {"stream": True}).text
        assert "".join(json.loads(line[6:])["content"] for line in events.split("\n") if line.startswith("data: ")) == "zy"
        for wrong, word in [({"input_suffix": None}, "input_suffix is null"), ({"input_prefix": 5}, "input_prefix is 5"),
                            ({"input_extra": [{"filename": "x"}]}, "input_extra[0].text is missing"), ({"prompt": [1]}, "prompt is an array")]:
            assert word in refusal(server.post("/infill", asked | wrong)), wrong
        both = server.ask("/v1/completions", prompt=["a(", "b("], suffix=")", max_tokens=9, temperature=0)
        assert [choice["text"] for choice in both["choices"]] == ["zy", "zy"] and both["usage"]["prompt_tokens"] == 12, both
        assert "echo" in refusal(server.post("/v1/completions", {"prompt": "a", "suffix": ")", "echo": True}))
        assert "prompt" in refusal(server.post("/v1/completions", {"prompt": [1, 2], "suffix": ")"}))
        assert "suffix is 5" in refusal(server.post("/v1/completions", {"prompt": "a", "suffix": 5}))
    with tempfile.TemporaryDirectory() as folder, served(write_tiny_model(folder)) as server:
        assert "fills no gaps" in refusal(server.post("/infill", asked), 501)
        assert "suffix is \")\"" in refusal(server.post("/v1/completions", {"prompt": "a", "suffix": ")"}))
        assert server.post("/v1/completions", {"prompt": "a", "suffix": "", "max_tokens": 1}).status == 200


def check_roles():
    some = "{% for m in messages %}{% if m.role in ['user', 'critic'] %}{{ m.content }}{% endif %}{% endfor %}"
    with tempfile.TemporaryDirectory() as folder, served(write_chain(folder, {}, END, template=some)) as server:
        def messages(role):
            return [{"role": "user", "content": "a"}, {"role": role, "content": "b"}]
        assert server.ask("/apply-template", messages=messages("critic"))["prompt"] == "ab"
        for path, body in [("/v1/chat/completions", {}), ("/apply-template", {}), ("/tokenize", {}), ("/v1/chat/completions/input_tokens", {})]:
            said = refusal(server.post(path, body | {"messages": messages("bogus")}))
            assert "messages[1]" in said and "bogus" in said, said
        assert "bogus" in refusal(server.post("/v1/responses", {"input": messages("bogus")}))
        assert "role" in refusal(server.post("/v1/messages", {"messages": messages("bogus"), "max_tokens": 1}))
    with tempfile.TemporaryDirectory() as folder, served(write_chain(folder, {}, END)) as server:
        assert server.ask("/apply-template", messages=messages("bogus"))["prompt"] == "user: a\nbogus: b\nassistant:"


def check_generation_config():
    config = {"temperature": 0.25, "top_k": 7, "top_p": 0.5, "min_p": 0.125, "repetition_penalty": 1.5, "max_new_tokens": 3}
    with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile("w", suffix=".json") as other:
        other.write(json.dumps({"temperature": 2}))
        other.flush()
        model = write_tiny_model(folder)
        (model / "generation_config.json").write_text(json.dumps(config), encoding="utf-8")

        def settings(server, **body):
            return server.ask("/completion", prompt="a", **body)["generation_settings"]
        with served(model) as server:
            params = server.get("/props").json["default_generation_settings"]["params"]
            assert [params[name] for name in ("temperature", "top_k", "top_p", "min_p", "repeat_penalty", "n_predict")] == [*config.values()], params
            kept = settings(server)
            assert (kept["temperature"], kept["top_k"], kept["top_p"], kept["min_p"], kept["repeat_penalty"], kept["n_predict"]) == tuple(config.values()), kept
            said = settings(server, temperature=0, top_k=2, n_predict=-1, ignore_eos=False)
            assert (said["temperature"], said["top_k"], said["top_p"], said["n_predict"]) == (0, 2, 0.5, -1), said
            counted = server.chat([{"role": "user", "content": "a"}], max_tokens=None, ignore_eos=True).json["usage"]
            assert counted["completion_tokens"] == 3, counted
        for flag, temperature, limit in [("none", 0.8, -1), ("vllm", 0.8, -1), (other.name, 2, -1), (folder, 0.25, 3)]:
            with served(model, "--generation-config", flag, "--max-length", "64") as server:
                kept = settings(server)
                assert (kept["temperature"], kept["n_predict"]) == (temperature, limit), (flag, kept)
        with served(model, "--request-defaults", '{"temperature": 1.5, "max_tokens": 2}') as server:
            kept = settings(server)
            assert (kept["temperature"], kept["top_k"], kept["n_predict"]) == (1.5, 7, 2), kept
        (model / "generation_config.json").write_text('{"top_p": 3}', encoding="utf-8")
        ended = subprocess.run([sys.argv[1], "--model", folder, "--port", "0"], capture_output=True, text=True, timeout=300)
        assert ended.returncode == 1 and "top_p is 3" in ended.stderr and ended.stderr.count("\n") == 1, ended


def check_drafts():
    asked = {"prompt": "abcabcabcabc", "max_tokens": 40, "temperature": 0, "ignore_eos": True}
    follows = {ids("a")[0]: ids("b")[0], ids("b")[0]: ids("c")[0], ids("c")[0]: ids("a")[0]}
    with tempfile.TemporaryDirectory() as folder:
        model = write_chain(folder, follows, END)
        with served(model) as server:
            plain = server.ask("/v1/completions", **asked)["choices"]
            assert server.get("/slots").json[0]["speculative"] is False
        for flags in (["--drafter", "prompt-lookup"], ["--drafter", "suffix-tree", "--max-draft-tokens", "3"], ["--draft-model", folder]):
            with served(model, *flags) as server:
                for _ in range(3):
                    answer = server.ask("/v1/completions", **asked)
                    assert answer["choices"] == plain, (flags, answer)
                assert server.get("/slots").json[0]["speculative"] is True
                without = server.ask("/v1/completions", **asked, **{"speculative.n_max": 0})["usage"]["completion_tokens_details"]
                assert without == {"accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0}, without
        for flags, word in [(["--drafter", "ngram"], "prompt-lookup"), (["--drafter", "model"], "--draft-model"), (["--max-draft-tokens", "0"], "at least 1"),
                            (["--drafter", "mtp", "--draft-model", folder], "--drafter model")]:
            ended = subprocess.run([sys.argv[1], "--model", folder, "--port", "0", *flags], capture_output=True, text=True, timeout=300)
            assert ended.returncode == 2 and word in ended.stderr and ended.stderr.count("\n") == 1, ended


def check_texts():
    def metric(server, name):
        return sum(float(line.rsplit(" ", 1)[1]) for line in server.get("/metrics").text.split("\n") if line.startswith((name + "{", name + " ")))
    for names, texts, tokens in [("cogen", "cogen:texts_total", "cogen:text_tokens_total"), ("vllm", "vllm:request_success_total", "vllm:prompt_tokens_total"),
                                 ("llamacpp", None, "llamacpp:prompt_tokens_total")]:
        with served(GOLDENS / "bert_tiny", "--metrics-names", names) as server:
            answer = server.ask("/v1/embeddings", input=["a", [5, 6, 7]])
            assert metric(server, tokens) == answer["usage"]["prompt_tokens"] > 3 and (texts is None or metric(server, texts) == 2)
            if names == "cogen":
                assert metric(server, "cogen:texts_running") == 0 and metric(server, "cogen:request_seconds_count") == 1
            width = len(answer["data"][0]["embedding"])
            for body, word in [({}, "input is missing"), ({"input": None}, "input is null"), ({"content": 5}, "content is 5"), ({"input": []}, "input"),
                               ({"input": "a", "dimensions": 7}, "dimensions is 7"), ({"input": "a", "dimensions": "x"}, "dimensions"),
                               ({"input": [[128]]}, "128")]:
                assert word in refusal(server.post("/v1/embeddings", body)), body
            assert server.ask("/v1/embeddings", content="a", dimensions=width)["data"][0]["embedding"] == answer["data"][0]["embedding"]


def golden_without(folder, golden, *left_out, **entries):
    """A copy of a golden with further entries in its configuration."""
    copy = pathlib.Path(folder) / "model"
    shutil.copytree(GOLDENS / golden, copy, ignore=lambda *_: left_out, dirs_exist_ok=True)
    config = json.loads((copy / "config.json").read_text(encoding="utf-8")) | entries
    (copy / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return copy


def check_texts_without_tokenizer():
    with tempfile.TemporaryDirectory() as folder, served(golden_without(folder, "bert_tiny", "tokenizer.json")) as server:
        assert server.ask("/v1/embeddings", input=[5, 6])["usage"]["prompt_tokens"] == 2
        for texts in ("a", ["a"], [[5], "a"]):
            assert "no tokenizer" in refusal(server.post("/v1/embeddings", {"input": texts}), 501)
    with tempfile.TemporaryDirectory() as folder, served(golden_without(folder, "bert_scores", "tokenizer.json")) as server:
        assert "no tokenizer" in refusal(server.post("/v1/rerank", {"query": "a", "documents": ["b"]}), 501)


def check_scores():
    """As Sentence Transformers shows them: by a sigmoid, unless the model's authors or the request want none."""
    asked = {"query": "a", "documents": ["b", "c d", "e"]}
    identity, sigmoid = "torch.nn.modules.linear.Identity", "torch.nn.modules.activation.Sigmoid"

    def scores(server, **more):
        return {one["index"]: one["relevance_score"] for one in server.ask("/v1/rerank", **asked, **more)["results"]}
    with served(GOLDENS / "bert_scores") as server:
        shown, raw = scores(server), scores(server, raw_scores=True)
        assert all(math.isclose(shown[index], 1 / (1 + math.exp(-raw[index]))) for index in range(3)), (shown, raw)
        assert scores(server, use_activation=False) == raw and server.ask("/reranking", **asked)["results"][0]["relevance_score"] in shown.values()
        assert "raw_scores is 1" in refusal(server.post("/v1/rerank", asked | {"raw_scores": 1}))
    for entries, expected in [({"sentence_transformers": {"activation_fn": identity}}, raw), ({"sbert_ce_default_activation_function": identity}, raw),
                              ({"sentence_transformers": {"activation_fn": sigmoid}, "sbert_ce_default_activation_function": identity}, shown)]:
        with tempfile.TemporaryDirectory() as folder, served(golden_without(folder, "bert_scores", **entries)) as server:
            assert scores(server) == expected, entries
    with tempfile.TemporaryDirectory() as folder:
        other = golden_without(folder, "bert_scores", sentence_transformers={"activation_fn": "torch.nn.modules.activation.Tanh"})
        ended = subprocess.run([sys.argv[1], "--model", other, "--port", "0"], capture_output=True, text=True, timeout=300)
        assert ended.returncode == 1 and "activation_fn" in ended.stderr and "Tanh" in ended.stderr, ended


def check_too_many_answers():
    with tempfile.TemporaryDirectory() as folder, served(write_tiny_model(folder), "--slots", "2", "--queue", "1") as server:
        chat = {"messages": [{"role": "user", "content": "a"}], "max_tokens": 1}
        for path, body in [("/v1/completions", {"prompt": "a", "max_tokens": 1}), ("/v1/chat/completions", chat), ("/completion", {"prompt": "a", "n_predict": 1})]:
            assert server.post(path, body | {"n": 3}).status == 200, path
            assert "n is 4; it must be between 1 and 3" in refusal(server.post(path, body | {"n": 4})), path


def check_schemas_that_take_long():
    """Their work is bounded, as their size is."""
    many = [f"c{number}" for number in range(60000)]
    few = {"enum": many[:1500]}
    with tempfile.TemporaryDirectory() as folder, served(write_tiny_model(folder)) as server:
        for schema in ({"enum": many}, {"oneOf": [{"const": number} for number in range(6000)]}, {"enum": [{"a": [number]} for number in range(20000)]},
                       {"$defs": {"e": few}, "type": "object", "properties": {f"p{number}": {"$ref": "#/$defs/e"} for number in range(1500)}}):
            said = refusal(server.post("/v1/completions", {"prompt": "a", "max_tokens": 1, "json_schema": schema}))
            assert "comparisons" in said or "schemas" in said, said
        assert server.post("/v1/completions", {"prompt": "a", "max_tokens": 1, "json_schema": few}).status == 200
        stops = server.post("/v1/completions", {"prompt": "a", "max_tokens": 1, "stop": many})
        assert "60000 stop strings" in refusal(stops) and stops.json["error"]["type"] == "invalid_request_error", stops.text


def check_log_probabilities():
    """Of a chat's prompt, whose tokens are known late."""
    with tempfile.TemporaryDirectory() as folder, served(write_tiny_model(folder)) as server:
        chat = {"messages": [{"role": "user", "content": "ab" * 1200}], "max_tokens": 1}
        said = refusal(server.post("/v1/chat/completions", chat | {"prompt_logprobs": 128}))
        assert "prompt_logprobs is 128" in said and "at most 262144" in said, said
        assert server.post("/v1/chat/completions", chat | {"prompt_logprobs": 1}).status == 200


def check_numbers():
    """Without exponents, and as they are."""
    with tempfile.TemporaryDirectory() as folder, served(write_tiny_model(folder)) as server:
        answer = server.post("/completion", {"prompt": "Hello", "n_predict": 3, "temperature": 0.5, "min_p": 0.00001, "logit_bias": [[5, 0.25]]})
        settings = answer.json["generation_settings"]
        assert '"temperature":0.5' in answer.text and '"min_p":0.00001' in answer.text and '"bias":0.25' in answer.text, answer.text
        assert settings["min_p"] == 0.00001 and settings["repeat_penalty"] == 1 and '"top_k":40,' in answer.text
        assert "n is 0.5; it must be an integer" in refusal(server.post("/v1/completions", {"prompt": "x", "n": 0.5}))
        for text in (answer.text, server.get("/props").text, server.get("/metrics").text):
            assert not re.search(r'(?:[:,[]|^\S+ )-?\d+(?:\.\d+)?[eE]', text, re.MULTILINE), text


for check in (check_tokens_without_text, check_prompts_alone, check_gaps, check_roles, check_generation_config, check_drafts, check_texts, check_texts_without_tokenizer, check_scores, check_too_many_answers,
              check_schemas_that_take_long, check_log_probabilities, check_numbers):
    check()
    print(check.__name__, "passed", flush=True)
