#!/usr/bin/env python3
"""usage: check_llama.py PROGRAM MODEL: asks the HTTP server as the clients of llama-server do."""
import json
import math
import tempfile

from cogen_server import CAPITAL
from server_checks import check_all, served


def events_of(answer):
    """The data of its events, apart from what may end them."""
    return [json.loads(line[6:]) for line in answer.text.split("\n") if line.startswith("data: {")]


def check_tokens(server):
    text = "Hello <|im_end|> w\u00f6rld \U0001f600"
    tokens = server.ask("/tokenize", content=text)["tokens"]
    assert server.ask("/detokenize", tokens=tokens)["content"] == text
    assert len(server.ask("/tokenize", content=text, parse_special=False)["tokens"]) > len(tokens)
    pieces = server.ask("/tokenize", content=text, with_pieces=True)["tokens"]
    assert [piece["id"] for piece in pieces] == tokens
    spelled = b"".join(piece["piece"].encode() if isinstance(piece["piece"], str) else bytes(piece["piece"]) for piece in pieces)
    assert spelled.decode() == text
    assert server.ask("/tokenize", prompt=text)["count"] == len(tokens)
    prompt = server.ask("/apply-template", messages=CAPITAL)["prompt"]
    assert CAPITAL[0]["content"] in prompt and prompt.endswith("assistant\n"), prompt
    templated = server.ask("/tokenize", messages=CAPITAL)["tokens"]
    assert templated == server.ask("/tokenize", content=prompt)["tokens"]
    assert server.chat().json["usage"]["prompt_tokens"] == len(templated)
    assert server.post("/detokenize", {"tokens": [10**6]}).status == 400
    info = server.get("/tokenizer_info").json
    assert info["eos_token"] == "<|im_end|>" and info["chat_template"]


def check_llama(server):
    asked = {"prompt": "The sea is", "n_predict": 8, "temperature": 0}
    answer = server.ask("/completion", **asked, return_tokens=True, n_probs=2)
    assert answer["stop"] and answer["stop_type"] == "limit" and answer["tokens_predicted"] == 8, answer
    assert answer["content"] == server.ask("/v1/completions", prompt="The sea is", max_tokens=8, temperature=0)["choices"][0]["text"]
    assert server.ask("/detokenize", tokens=answer["tokens"])["content"] == answer["content"]
    assert len(answer["completion_probabilities"]) == 8 and answer["timings"]["predicted_n"] == 8
    assert answer["generation_settings"]["n_predict"] == 8 and answer["prompt"] == "The sea is"
    several = server.ask("/completion", **asked | {"prompt": ["The sea is", [1, 2, 3], ["Cats", 5]]})
    assert [one["index"] for one in several] == [0, 1, 2] and several[0]["content"] == answer["content"]
    prompt = {"prompt_string": "The sea is"}
    both = server.ask("/completion", **asked | {"prompt": [prompt, "The sea is"]})
    assert server.ask("/completion", **asked | {"prompt": prompt})["content"] == answer["content"] == both[0]["content"]
    assert server.post("/completion", asked | {"prompt": prompt | {"multimodal_data": ["x"]}}).status == 400
    parts = events_of(server.post("/completion", asked | {"stream": True}))
    assert "".join(part["content"] for part in parts) == answer["content"]
    assert [part["stop"] for part in parts] == [False] * (len(parts) - 1) + [True]
    refused = server.post("/completion", asked | {"n_predict": "many"})
    assert refused.status == 400 and refused.json["error"]["code"] == 400, refused.text
    words = server.ask("/completion", prompt="1 2 3 4 5", n_predict=16, temperature=0, stop=[" 8"])
    assert words["stop_type"] == "word" and words["stopping_word"] == " 8", words


def check_progress(server):
    words = " ".join(f"step{i}" for i in range(300))
    bodies = {"/completion": {"prompt": words}, "/v1/completions": {"prompt": words}, "/v1/responses": {"input": words},
              "/v1/chat/completions": {"messages": [{"role": "user", "content": words}]}}
    for path, body in bodies.items():
        for cached in (False, True):
            asked = body | {"stream": True, "return_progress": True, "timings_per_token": True, "max_tokens": 4, "cache_salt": path}
            events = events_of(server.post(path, asked))
            reports = [event["prompt_progress"] for event in events if "prompt_progress" in event]
            done = [report["processed"] for report in reports]
            assert len(reports) > 1 and done == sorted(set(done)), (path, reports)
            assert done[0] == reports[0]["cache"] and (done[0] > 0) == cached and done[-1] == reports[-1]["total"], (path, reports)
            assert len({(report["total"], report["cache"]) for report in reports}) == 1 and reports[0]["time_ms"] == 0, (path, reports)
            first = next(event["timings"] for event in events if "prompt_progress" in event)
            assert first["prompt_n"] == first["prompt_ms"] == first["predicted_n"] == 0, first
            assert any("timings" in event and "prompt_progress" not in event for event in events[:-2]) and "timings" in events[-1], path
    whole = server.ask("/completion", prompt="Cats", n_predict=1, return_progress=True)
    assert "prompt_progress" not in whole
    two = server.post("/v1/completions", {"prompt": ["The sea is", words], "max_tokens": 2, "stream": True, "return_progress": True})
    totals = {event["choices"][0]["index"]: event["prompt_progress"]["total"] for event in events_of(two) if "prompt_progress" in event}
    assert totals[0] < 5 < totals[1], totals


def check_probabilities(server):
    asked = {"prompt": "The sea is", "n_predict": 6, "n_probs": 10, "seed": 3, "temperature": 1.5, "top_k": 5, "min_p": 0, "top_p": 1}
    answer = server.ask("/completion", **asked, post_sampling_probs=True)
    assert answer["generation_settings"]["post_sampling_probs"]
    raw = server.ask("/completion", **asked)
    for token, before in zip(answer["completion_probabilities"], raw["completion_probabilities"]):
        probs = [other["prob"] for other in token["top_probs"]]
        assert len(probs) == 5 and abs(sum(probs) - 1) < 1e-5 and probs == sorted(probs, reverse=True), probs
        assert token["prob"] in probs and token["id"] == before["id"]
        powers = [math.exp(other["logprob"] / 1.5) for other in before["top_logprobs"][:5]]
        assert all(abs(prob - power / sum(powers)) < 1e-4 for prob, power in zip(probs, powers)), (probs, powers)
    greedy = server.ask("/completion", **asked | {"temperature": 0}, post_sampling_probs=True)
    assert all(token["prob"] == 1 and len(token["top_probs"]) == 1 for token in greedy["completion_probabilities"])


def check_chat_template():
    with tempfile.NamedTemporaryFile("w") as template:
        template.write("{% for m in messages %}<{{ m.content }}>{% endfor %}")
        template.flush()
        with served("--chat-template-file", template.name) as server:
            assert server.ask("/apply-template", messages=CAPITAL * 2)["prompt"] == 2 * f"<{CAPITAL[0]['content']}>"
            assert server.chat().status == 200


def check_slot_files():
    with tempfile.TemporaryDirectory() as folder:
        words = " ".join(f"word{i}" for i in range(60))
        asked = {"prompt": words, "n_predict": 4, "temperature": 0, "id_slot": 1}
        with served("--slot-save-path", folder) as server:
            answer = server.ask("/completion", **asked)
            assert server.post("/slots/9?action=save", {"filename": "a"}).status == 404
            assert server.post("/slots/1?action=save", {"filename": "../a"}).status == 400
            saved = server.ask("/slots/1?action=save", filename="one")
            assert saved["n_saved"] == answer["tokens_evaluated"] + 4 and saved["n_written"] > 0, saved
        with served("--slot-save-path", folder) as server:
            restored = server.ask("/slots/0?action=restore", filename="one")
            assert restored["n_restored"] == saved["n_saved"], restored
            again = server.ask("/completion", **asked)
            assert again["content"] == answer["content"] and again["timings"]["cache_n"] > 100, again["timings"]
            assert server.ask("/slots/0?action=erase")["n_erased"] == saved["n_saved"]
            assert server.post("/slots/0?action=erase", {}).status == 404
            assert server.post("/slots/1?action=restore", {"filename": "none"}).status == 400


check_all(shared=[check_tokens, check_llama, check_progress, check_probabilities], own=[check_chat_template, check_slot_files])
