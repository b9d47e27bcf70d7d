#!/usr/bin/env python3
"""usage: check_openai.py PROGRAM MODEL: asks the HTTP server as the clients of OpenAI's API do."""
import json
import sys
import tempfile

from cogen_server import CAPITAL
from server_checks import STORY, TOOL, check_all, served


def check_models(server):
    assert server.get("/health").json == {"status": "ok"}
    models = server.get("/v1/models").json["data"]
    assert len(models) == 1 and models[0]["object"] == "model" and models[0]["max_model_len"] > 0, models
    assert server.get("/v1/models/" + models[0]["id"]).json == models[0]
    assert "version" in server.get("/version").json
    page = server.get("/")
    assert page.headers["content-type"].startswith("text/html") and "<!doctype html>" in page.text.lower()[:100]
    answer = server.get("/health", headers={"x-request-id": "mine"})
    assert answer.headers["x-request-id"] == "mine"
    assert "access-control-allow-origin" not in answer.headers


def check_chat(server):
    answer = server.chat().json
    assert answer["object"] == "chat.completion" and len(answer["choices"]) == 1, answer
    message = answer["choices"][0]["message"]
    assert message["role"] == "assistant" and "Paris" in message["content"], answer
    assert answer["choices"][0]["finish_reason"] == "stop", answer
    usage = answer["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"], usage
    again = server.chat().json
    assert again["choices"][0]["message"] == message and again["usage"]["prompt_tokens_details"]["cached_tokens"] > 0
    cut = server.chat(STORY, max_completion_tokens=4, max_tokens=None).json
    assert cut["choices"][0]["finish_reason"] == "length" and cut["usage"]["completion_tokens"] == 4, cut
    parts = [{"role": "user", "content": [{"type": "text", "text": CAPITAL[0]["content"]}]}]
    assert server.chat(parts).json["choices"][0]["message"] == message


def check_stream(server):
    whole = server.chat().json
    answer = server.chat(stream=True)
    assert answer.headers["content-type"].startswith("text/event-stream"), answer.headers
    chunks = answer.events
    assert all(chunk["object"] == "chat.completion.chunk" for chunk in chunks)
    assert all(len(chunk["choices"]) == 1 for chunk in chunks), "nobody asked for usage"
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": None}, chunks[0]
    text = "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks)
    assert text == whole["choices"][0]["message"]["content"], text
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks[-2:]] == [None, "stop"]
    counted = server.chat(stream=True, stream_options={"include_usage": True}).events
    assert counted[-1]["choices"] == [] and counted[-1]["usage"]["completion_tokens"] > 0, counted[-1]
    assert all(chunk["usage"] is None for chunk in counted[:-1])


def check_choices(server):
    several = server.chat(STORY, n=3, temperature=1, seed=7, max_tokens=12).json
    assert [choice["index"] for choice in several["choices"]] == [0, 1, 2]
    texts = [choice["message"]["content"] for choice in several["choices"]]
    assert len(set(texts)) > 1, texts
    streamed = ["", "", ""]
    for chunk in server.chat(STORY, n=3, temperature=1, seed=7, max_tokens=12, stream=True).events:
        choice = chunk["choices"][0]
        streamed[choice["index"]] += choice["delta"].get("content") or ""
    assert streamed == texts, (streamed, texts)


def check_logprobs(server):
    choice = server.chat(logprobs=True, top_logprobs=2).json["choices"][0]
    content = choice["logprobs"]["content"]
    assert "".join(each["token"] for each in content if each["token"] != "<|im_end|>") == choice["message"]["content"]
    assert all(each["logprob"] <= 0 and len(each["top_logprobs"]) >= 2 for each in content)
    assert all(bytes(each["bytes"]).decode() == each["token"] for each in content)
    lone = server.ask("/v1/completions", prompt="The sea is", max_tokens=1, echo=True, logprobs=1)["choices"][0]
    parts = lone["logprobs"]
    assert parts["token_logprobs"][0] is None and parts["top_logprobs"][0] is None, parts
    assert all(value < 0 for value in parts["token_logprobs"][1:])
    assert "".join(parts["tokens"]) == lone["text"] and lone["text"].startswith("The sea is"), lone
    assert parts["text_offset"] == [len("".join(parts["tokens"][:i])) for i in range(len(parts["tokens"]))]
    end = str(server.ask("/tokenize", content="<|im_end|>", parse_special=True)["tokens"][0])
    fields = {"prompt": "The sea is", "max_tokens": 1, "echo": True, "logprobs": 1, "logit_bias": {end: 100}}
    ended = server.ask("/v1/completions", **fields)["choices"][0]
    assert ended["finish_reason"] == "stop" and ended["text"] == "The sea is", ended
    assert ended["logprobs"]["tokens"] == parts["tokens"][:-1] + ["<|im_end|>"], ended
    assert ended["logprobs"]["text_offset"][-1] == len("The sea is") and ended["logprobs"]["token_logprobs"][-1] < 0, ended
    chunks = server.post("/v1/completions", fields | {"stream": True}).events
    streamed = [token for chunk in chunks for choice in chunk["choices"] for token in (choice["logprobs"] or {"tokens": []})["tokens"]]
    assert streamed == ended["logprobs"]["tokens"], streamed


def check_completions(server):
    one = server.ask("/v1/completions", prompt="The sea is", max_tokens=8, temperature=0)
    assert one["object"] == "text_completion" and one["choices"][0]["finish_reason"] == "length", one
    both = server.ask("/v1/completions", prompt=["The sea is", "Cats are"], max_tokens=8, temperature=0, n=2)
    texts = [choice["text"] for choice in both["choices"]]
    assert [choice["index"] for choice in both["choices"]] == [0, 1, 2, 3]
    assert texts[0] == texts[1] == one["choices"][0]["text"] and texts[2] == texts[3] != texts[0], texts
    best = server.ask("/v1/completions", prompt="The sea is", max_tokens=8, temperature=1, best_of=4, seed=3)
    assert len(best["choices"]) == 1 and best["usage"]["completion_tokens"] == 32, best
    streamed = server.post("/v1/completions", {"prompt": "The sea is", "max_tokens": 8, "temperature": 0, "stream": True})
    assert "".join(chunk["choices"][0]["text"] for chunk in streamed.events) == texts[0]


def check_stops(server):
    whole = server.ask("/v1/completions", prompt="1 2 3 4 5", max_tokens=16, temperature=0)["choices"][0]["text"]
    stop = whole[6:9]
    cut = server.ask("/v1/completions", prompt="1 2 3 4 5", max_tokens=16, temperature=0, stop=[stop])["choices"][0]
    assert cut["text"] == whole[: whole.index(stop)] and cut["finish_reason"] == "stop", (whole, cut)
    assert server.ask("/v1/completions", prompt="x", max_tokens=40, ignore_eos=True)["usage"]["completion_tokens"] == 40
    free = {"prompt": "The sea is", "max_tokens": 12, "temperature": 1}
    seeded = [server.ask("/v1/completions", seed=5, **free)["choices"][0]["text"] for _ in range(2)]
    assert seeded[0] == seeded[1]


def check_formats(server):
    schema = {"type": "object", "properties": {"capital": {"enum": ["Paris", "Rome"]}}, "required": ["capital"],
              "additionalProperties": False}
    named = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    for body in ({"response_format": named}, {"guided_json": schema}, {"structured_outputs": {"json": schema}},
                 {"response_format": {"type": "json_object", "schema": schema}}, {"json_schema": schema}):
        text = server.chat(**body, max_tokens=40).json["choices"][0]["message"]["content"]
        assert json.loads(text)["capital"] in ("Paris", "Rome"), text
    assert server.chat(guided_regex="[0-9]{3}").json["choices"][0]["message"]["content"].isdigit()
    assert server.chat(guided_choice=["yes", "no"]).json["choices"][0]["message"]["content"] in ("yes", "no")
    assert server.chat(grammar='root ::= "a" "b"').json["choices"][0]["message"]["content"] == "ab"
    both = server.chat(guided_regex="a", grammar='root ::= "a"')
    assert both.status == 400 and "one format" in both.text
    assert server.chat(response_format={"type": "json_schema", "json_schema": {"schema": {"type": "poem"}}}).status == 400


def check_tools(server):
    question = [{"role": "user", "content": "How warm is it in Oslo?"}]
    wanted = {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "temperature"}}, "max_tokens": 100}
    choice = server.chat(question, **wanted).json["choices"][0]
    call = choice["message"]["tool_calls"][0]
    assert choice["finish_reason"] == "tool_calls" and call["type"] == "function" and call["id"], choice
    assert call["function"]["name"] == "temperature" and json.loads(call["function"]["arguments"])["town"]
    name, arguments, ids = "", "", set()
    for chunk in server.chat(question, **wanted, stream=True).events:
        for part in chunk["choices"][0]["delta"].get("tool_calls", []):
            assert part["index"] == 0
            ids |= {part["id"]} if "id" in part else set()
            name += part["function"].get("name", "")
            arguments += part["function"]["arguments"]
    assert (name, arguments, len(ids)) == ("temperature", call["function"]["arguments"], 1)
    told = question + [{"role": "assistant", "content": None, "tool_calls": [call]},
                       {"role": "tool", "tool_call_id": call["id"], "content": "21 degrees"}]
    assert server.chat(told, tools=[TOOL]).status == 200
    assert server.chat(question, tools=[{"type": "function"}]).status == 400
    unkept = {"type": "object", "properties": {"town": {"$ref": "http://elsewhere"}}, "required": ["town"]}
    tool = {"type": "function", "function": {"name": "temperature", "parameters": unkept}}
    for stream in False, True:
        served = server.chat(question, tools=[tool], max_tokens=4, stream=stream)
        assert served.status == 200 and served.headers["x-loosened-keywords"] == "$ref temperature#/properties/town", served.headers
    assert "x-loosened-keywords" not in server.chat(question, tools=[TOOL], max_tokens=4).headers
    tool["function"]["strict"] = True
    refused = server.chat(question, tools=[tool])
    assert refused.status == 400 and "'temperature'" in refused.text and "$ref" in refused.text, refused.text
    called = server.chat(question, tools=[TOOL], tool_choice="required", parallel_tool_calls=False, max_tokens=100).json["choices"][0]
    assert len(called["message"]["tool_calls"]) == 1 and called["finish_reason"] == "tool_calls", called


def check_continuation(server):
    begun = CAPITAL + [{"role": "assistant", "content": "The capital of France is"}]
    continued = {"continue_final_message": True, "add_generation_prompt": False}
    assert server.chat(begun, **continued).json["choices"][0]["message"]["content"].startswith(" Paris")
    assert server.ask("/apply-template", messages=begun, **continued)["prompt"].endswith("assistant\nThe capital of France is")
    whole = server.ask("/apply-template", messages=begun, add_generation_prompt=False)["prompt"]
    assert whole.endswith("The capital of France is<|im_end|>\n"), whole
    assert server.chat(begun, continue_final_message=True, add_generation_prompt=True).status == 400
    refused = server.chat(continue_final_message=True)
    assert refused.status == 400 and "from assistant" in refused.text, refused.text


def check_responses(server):
    asked = {"input": CAPITAL[0]["content"], "max_output_tokens": 16, "temperature": 0}
    answer = server.ask("/v1/responses", **asked)
    assert answer["object"] == "response" and answer["status"] == "completed", answer
    text = answer["output"][0]["content"][0]["text"]
    assert answer["output"][0]["type"] == "message" and "Paris" in text, answer
    assert server.ask("/v1/responses", **asked | {"input": [{"role": "user", "content": [
        {"type": "input_text", "text": CAPITAL[0]["content"]}]}]})["output"][0]["content"][0]["text"] == text
    events = [json.loads(line[6:]) for line in server.post("/v1/responses", asked | {"stream": True}).text.split("\n")
              if line.startswith("data: ")]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert events[0]["type"] == "response.created" and events[-1]["type"] == "response.completed"
    assert "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta") == text
    assert events[-1]["response"]["output"][0]["content"][0]["text"] == text
    cut = server.ask("/v1/responses", input="Tell me a long story.", max_output_tokens=4)
    assert cut["status"] == "incomplete" and cut["incomplete_details"] == {"reason": "max_output_tokens"}, cut
    tool = {"type": "function"} | TOOL["function"]
    called = server.ask("/v1/responses", input="How warm is it in Oslo?", tools=[tool], tool_choice={"type": "function", "name": "temperature"},
                        max_output_tokens=100, temperature=0)["output"]
    call = called[0]
    assert call["type"] == "function_call" and json.loads(call["arguments"])["town"], called
    told = [{"role": "user", "content": "How warm is it in Oslo?"}, call,
            {"type": "function_call_output", "call_id": call["call_id"], "output": "21 degrees"}]
    assert server.ask("/v1/responses", input=told, tools=[tool], max_output_tokens=8)["output"]
    told[-1]["output"] = [{"type": "input_text", "text": "21 degrees"}]
    assert server.ask("/v1/responses", input=told, tools=[tool], max_output_tokens=8)["output"]
    shaped = server.ask("/v1/responses", **asked | {"text": {"format": {
        "type": "json_schema", "name": "x", "schema": {"enum": ["Paris", "Rome"]}}}})
    assert json.loads(shaped["output"][0]["content"][0]["text"]) in ("Paris", "Rome")
    assert server.post("/v1/responses", asked | {"previous_response_id": "resp_1"}).status == 400


def check_several_models():
    with tempfile.TemporaryDirectory() as folder:
        flags = ["--model", "other,alias=" + sys.argv[2], "--log-requests", "--trace", folder + "/trace.json"]
        with served(*flags) as server:
            names = [model["id"] for model in server.get("/v1/models").json["data"]]
            assert len(names) == 2 and names[1] == "other", names
            assert server.get("/v1/models/alias").json["aliases"] == ["alias"]
            texts = [server.chat(model=name).json["choices"][0]["message"]["content"] for name in [*names, "alias"]]
            assert texts[0] == texts[1] == texts[2]
            assert server.chat(model="none").status == 404
            server.terminate()
            assert server.exit_code() == 0
        for name in names:
            with open(f"{folder}/{name}-trace.json", encoding="utf-8") as trace:
                assert any(event["name"].startswith("request") for event in json.load(trace))


check_all(shared=[check_models, check_chat, check_stream, check_choices, check_logprobs, check_completions, check_stops, check_formats, check_tools, check_continuation, check_responses], own=[check_several_models])
