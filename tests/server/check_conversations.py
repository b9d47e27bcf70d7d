#!/usr/bin/env python3
"""usage: check_conversations.py PROGRAM: asks the HTTP server, with models that cost next to nothing, whether all of its routes
read a conversation alike: ids of calls, calls as they were written before there were ids, names of control tokens, fields that
are not kept."""
import json
import sys
import tempfile

from cogen_server import CogenServer
from tiny_model import read_tokenizer, write_chain, write_tiny_model

MISTRAL = """{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }}[/INST]
{%- elif m.tool_calls %}[TOOL_CALLS] [{% for c in m.tool_calls %}{% if c.id|length != 9 %}{{ raise_exception("nine") }}{% endif %}{{ c.id }}{{ c.function|tojson }}{% endfor %}]
{%- elif m.role == 'tool' %}{% if m.tool_call_id|length != 9 %}{{ raise_exception("nine") }}{% endif %}[TOOL_RESULTS] {{ m.tool_call_id }}{{ m.content }}[/TOOL_RESULTS]
{%- else %}{{ m.content }}{% endif %}{% endfor %}"""
ANY_IDS = """{% for m in messages %}{{ m.role }}{% for c in m.tool_calls or [] %} {{ c.id }}={{ c.function.name }}({{ c.function.arguments|tojson }}){% endfor %}
{%- if m.tool_call_id %} {{ m.tool_call_id }}:{% endif %} {{ m.content }}
{% endfor %}"""
USER = {"role": "user", "content": "a"}
CALLED = {"role": "assistant", "content": None, "tool_calls": [{"id": "call_of_another_server", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}
RESULT = {"role": "tool", "tool_call_id": "call_of_another_server", "content": "5"}
HISTORY = [USER, CALLED, RESULT]
RESPONSE_HISTORY = [USER, {"type": "function_call", "call_id": "call_of_another_server", "name": "f", "arguments": "{}"},
                    {"type": "function_call_output", "call_id": "call_of_another_server", "output": "5"}]
MESSAGE_HISTORY = [USER, {"role": "assistant", "content": [{"type": "tool_use", "id": "call_of_another_server", "name": "f", "input": {}}]},
                   {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_of_another_server", "content": "5"}]}]


def served(template, *added):
    folder = tempfile.TemporaryDirectory()
    model = write_chain(folder.name, {}, 420, read_tokenizer(*added), template=template)
    server = CogenServer(sys.argv[1], model)
    server.folder = folder
    return server


def refusal(answer):
    assert answer.status == 400, answer.text
    return answer.json["error"]["message"]


def counts(server, chat, response, message):
    """How many tokens each route counts in the same conversation."""
    few = {"max_tokens": 1, "temperature": 0}
    used = server.ask("/v1/messages", messages=message, **few)["usage"]
    return {"chat": server.chat(chat, **few).json["usage"]["prompt_tokens"],
            "responses": server.ask("/v1/responses", input=response, max_output_tokens=1)["usage"]["input_tokens"],
            "messages": used["input_tokens"] + used["cache_read_input_tokens"],
            "input_tokens": server.ask("/v1/chat/completions/input_tokens", messages=chat)["input_tokens"],
            "responses/input_tokens": server.ask("/v1/responses/input_tokens", input=response)["input_tokens"],
            "count_tokens": server.ask("/v1/messages/count_tokens", messages=message)["input_tokens"],
            "tokenize": server.ask("/tokenize", messages=chat)["count"]}


def check_ids_of_calls():
    with served(MISTRAL) as server:
        found = counts(server, HISTORY, RESPONSE_HISTORY, MESSAGE_HISTORY)
        assert len(set(found.values())) == 1, found
        prompt = server.ask("/apply-template", messages=HISTORY)["prompt"]
        call, result = prompt.split("[TOOL_CALLS] [")[1][:9], prompt.split("[TOOL_RESULTS] ")[1][:9]
        assert call == result and call.isalnum(), prompt
        assert server.ask("/tokenize", content=prompt, add_special=False)["count"] == found["chat"]


def check_control_text():
    """What a user writes is text, also where it is the name of a control token."""
    with served("{% for m in messages %}{{ m.content }}<|end|>{% endfor %}", "<|end|>") as server:
        for content, tokens in [("a", 2), ("<|end|>", 8)]:
            said = [{"role": "user", "content": content}]
            found = counts(server, said, said, said)
            assert set(found.values()) == {tokens}, found


def check_legacy_calls():
    call = {"name": "f", "arguments": '{"x": 1}'}
    older = [USER, {"role": "assistant", "content": None, "function_call": call}, {"role": "function", "name": "f", "content": "5"}]
    with served(ANY_IDS) as server:
        prompt = server.ask("/apply-template", messages=older)["prompt"]
        assert prompt == 'user a\nassistant call_1=f({"x": 1}) \ntool call_1: 5\n', prompt
        assert server.chat(older + older, max_tokens=1).status == 200
        for wrong, word in [({"function_call": "f"}, "messages[0].function_call is \"f\""), ({"function_call": {"arguments": "{}"}}, "function_call.name is missing"),
                            ({"function_call": call | {"arguments": "x"}}, "function_call.arguments is \"x\""),
                            ({"function_call": call, "tool_calls": CALLED["tool_calls"]}, "function_call")]:
            assert word in refusal(server.chat([{"role": "assistant", "content": None} | wrong])), wrong
    with served(MISTRAL) as server:
        assert server.chat(older, max_tokens=1).status == 200


def check_fields_that_are_not_kept():
    """Each is refused by name on every route that has it."""
    chats = {"/v1/chat/completions": {"messages": [USER], "max_tokens": 1}, "/apply-template": {"messages": [USER]}, "/tokenize": {"messages": [USER]},
             "/v1/chat/completions/input_tokens": {"messages": [USER]}}
    responses = {"/v1/responses": {"input": "a", "max_output_tokens": 1}, "/v1/responses/input_tokens": {"input": "a"}}
    messages = {"/v1/messages": {"messages": [USER], "max_tokens": 1}, "/v1/messages/count_tokens": {"messages": [USER]}}
    texts = {"/v1/completions": {"prompt": "a", "max_tokens": 1}, "/completion": {"prompt": "a", "n_predict": 1}}
    everywhere = {"verbose": True, "logprob_token_ids": [1], "samplers": ["top_k"], "stop_regex": ["a"], "reasoning_budget_message": "a"}
    own = [(chats, {"chat_template": "x", "functions": [{"name": "f"}], "function_call": {"name": "f"}, "documents": ["a"], "modalities": ["audio"]}),
           (responses, {"truncation": "auto", "background": True, "conversation": "c", "moderation": {}, "context_management": [{"type": "compaction"}],
                        "previous_response_id": "r"} | everywhere),
           (messages, {"container": "c", "mcp_servers": [{}], "thread": {"type": "create"}, "compaction": {},
                       "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}} | everywhere),
           (texts | {"/v1/chat/completions": chats["/v1/chat/completions"]}, everywhere)]
    with tempfile.TemporaryDirectory() as folder, CogenServer(sys.argv[1], write_tiny_model(folder)) as server:
        for routes, fields in own:
            for path, body in routes.items():
                assert server.post(path, body).status == 200, path
                for name, value in fields.items():
                    assert refusal(server.post(path, body | {name: value})).startswith(f"{name} is "), (path, name)
        kept = {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}
        assert server.ask("/v1/messages", messages=[USER], max_tokens=1, context_management=kept)["role"] == "assistant"


def check_names_of_llama_server():
    with tempfile.TemporaryDirectory() as folder, CogenServer(sys.argv[1], write_tiny_model(folder)) as server:
        asked = {"prompt": "a", "n_predict": 2, "temperature": 0}
        assert len(server.ask("/completion", **asked, logprobs=3)["completion_probabilities"][0]["top_logprobs"]) == 3
        assert server.ask("/completion", **asked, t_max_predict_ms=-1)["stop_type"] == "limit"
        assert "reasoning_budget_tokens is -2" in refusal(server.post("/completion", asked | {"reasoning_budget_tokens": -2}))


def check_usage_in_each_event():
    with tempfile.TemporaryDirectory() as folder, CogenServer(sys.argv[1], write_tiny_model(folder)) as server:
        for path, body in [("/v1/completions", {"prompt": "a"}), ("/v1/chat/completions", {"messages": [USER]})]:
            asked = body | {"max_tokens": 5, "ignore_eos": True, "stream": True}
            options = {"include_usage": True, "continuous_usage_stats": True}
            events = server.post(path, asked | {"stream_options": options}).events
            used = [event["usage"]["completion_tokens"] for event in events]
            assert used == sorted(used) and used[-1] == 5, used
            plain = server.post(path, asked | {"stream_options": options | {"continuous_usage_stats": False}}).events
            assert [event["usage"] for event in plain[:-1]] == [None] * (len(plain) - 1), json.dumps(plain)


for check in (check_ids_of_calls, check_control_text, check_legacy_calls, check_fields_that_are_not_kept, check_names_of_llama_server, check_usage_in_each_event):
    check()
    print(check.__name__, "passed", flush=True)
