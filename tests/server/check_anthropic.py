#!/usr/bin/env python3
"""usage: check_anthropic.py PROGRAM MODEL: asks the HTTP server as the clients of Anthropic's API do."""
import json

from cogen_server import CAPITAL
from server_checks import TOOL, check_all


def check_messages(server):
    asked = {"messages": CAPITAL, "max_tokens": 16, "temperature": 0, "system": "Be brief."}
    answer = server.ask("/v1/messages", **asked)
    assert answer["type"] == "message" and answer["role"] == "assistant" and answer["stop_reason"] == "end_turn", answer
    text = answer["content"][0]["text"]
    assert "Paris" in text and answer["usage"]["output_tokens"] > 0
    counted = server.ask("/v1/messages/count_tokens", messages=CAPITAL, system="Be brief.")["input_tokens"]
    used = answer["usage"]
    assert used["input_tokens"] + used["cache_read_input_tokens"] == counted, (used, counted)
    events = [json.loads(line[6:]) for line in server.post("/v1/messages", asked | {"stream": True}).text.split("\n")
              if line.startswith("data: ")]
    kinds = [event["type"] for event in events]
    assert kinds[:2] == ["message_start", "content_block_start"], kinds
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"], kinds
    assert "".join(event["delta"]["text"] for event in events if event["type"] == "content_block_delta") == text
    begun = CAPITAL + [{"role": "assistant", "content": "The capital of France is"}]
    assert server.ask("/v1/messages", messages=begun, max_tokens=8, temperature=0)["content"][0]["text"].startswith(" Paris")
    tool = {"name": "temperature", "input_schema": TOOL["function"]["parameters"]}
    called = server.ask("/v1/messages", messages=[{"role": "user", "content": "How warm is it in Oslo?"}], max_tokens=100,
                        tools=[tool], tool_choice={"type": "tool", "name": "temperature"}, temperature=0)
    use = called["content"][0]
    assert called["stop_reason"] == "tool_use" and use["type"] == "tool_use" and use["input"]["town"], called
    result = {"type": "tool_result", "tool_use_id": use["id"], "content": [{"type": "text", "text": "21 degrees"}]}
    told = [{"role": "user", "content": "How warm is it in Oslo?"}, {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result, {"type": "text", "text": "Well?"}]}]
    assert server.ask("/v1/messages", messages=told, tools=[tool], max_tokens=8)["stop_reason"]
    schema = {"type": "object", "properties": {"capital": {"enum": ["Paris", "Rome"]}}, "required": ["capital"], "additionalProperties": False}
    for field in {"output_config": {"format": {"type": "json_schema", "schema": schema}}}, {"output_format": {"type": "json_schema", "schema": schema}}:
        shaped = server.ask("/v1/messages", messages=CAPITAL, max_tokens=40, temperature=0, **field)
        assert json.loads(shaped["content"][0]["text"])["capital"] in ("Paris", "Rome"), shaped
    thinking = {"type": "enabled", "budget_tokens": 1024}
    assert server.ask("/v1/messages", **asked | {"thinking": thinking})["content"][0]["text"] == text
    refused = server.post("/v1/messages", {"messages": CAPITAL})
    assert refused.status == 400 and refused.json["type"] == "error" and "max_tokens" in refused.json["error"]["message"]


check_all(shared=[check_messages])
