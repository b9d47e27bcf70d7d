"""Tools as agents and the libraries that write their schemas describe them: Pydantic, Zod, servers of MCP, editors of code."""

DRAFT = "http://json-schema.org/draft-07/schema#"
MAYBE_TEXT = {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "title": "Maybe"}


def schema(required, **properties):
    return {"type": "object", "properties": properties, "required": required}


TOOLS = {
    "run_command": schema(["command"], command={"type": "string", "description": "What to run"},
                          timeout={"type": "number", "minimum": 1, "maximum": 600000}, background={"type": "boolean", "default": False}),
    "edit_file": schema(["path", "edits"], path={"type": "string", "minLength": 1, "maxLength": 4096}, edits={
        "type": "array", "minItems": 1, "maxItems": 50, "items": schema(["before", "after"], before={"type": "string"}, after={"type": "string"},
                                                                        everywhere={"type": "boolean"})}),
    "search_pages": schema(["query"], query={"type": "string"}, limit={"type": "integer", "exclusiveMinimum": 0, "maximum": 20},
                           after={"type": "string", "format": "date"}, sites={"type": "array", "items": {"type": "string", "format": "uri"}, "uniqueItems": True})
    | {"$schema": DRAFT, "additionalProperties": False},
    "add_event": {"$defs": {"Guest": schema(["mail"], mail={"type": "string", "format": "email"}, name=MAYBE_TEXT) | {"title": "Guest"}},
                  "title": "AddEvent"} | schema(["title", "guests"], title={"title": "Title", "type": "string"}, place=MAYBE_TEXT,
                                                guests={"items": {"$ref": "#/$defs/Guest"}, "title": "Guests", "type": "array"}),
    "list_issues": schema([], state={"enum": ["open", "closed", None]}, labels={"type": "array", "items": {"type": "string"}},
                          page={"type": "integer", "minimum": 1, "x-order": 3}) | {"x-google-identifier": "issues"},
    "no_arguments": {"type": "object", "properties": {}},
}
