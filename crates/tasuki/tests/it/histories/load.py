"""Loads histories with the packages of the providers.

Usage: load.py FOLDER. Each `NAME.FORM.json` in it is a list of messages. One line for each file on
stdout: `NAME.FORM ok`, or `NAME.FORM refused: why`. What LangChain makes of a history for OpenAI is
written beside it as `NAME.converted`.
"""

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from anthropic.types import MessageParam
from google.genai.types import Content
from langchain_core.load import load
from langchain_core.messages import (
    AIMessage,
    ToolMessage,
    convert_to_messages,
    convert_to_openai_messages,
    messages_from_dict,
)
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputItemParam
from pydantic import ConfigDict, TypeAdapter

STRICT = ConfigDict(extra="forbid")
OPENAI = TypeAdapter(list[ChatCompletionMessageParam], config=STRICT)
RESPONSES = TypeAdapter(list[ResponseInputItemParam], config=STRICT)
ANTHROPIC = TypeAdapter(list[MessageParam], config=STRICT)
# Its models are strict themselves.
GEMINI = TypeAdapter(list[Content])


def consumed(value):
    """Pydantic validates an Iterable only when it is iterated."""
    if isinstance(value, Mapping):
        return {key: consumed(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return [consumed(item) for item in value]
    return value


def load_openai(history, _path):
    assert consumed(OPENAI.validate_python(history)) == history


def load_responses(history, _path):
    assert consumed(RESPONSES.validate_python(history)) == history


def load_anthropic(history, _path):
    assert consumed(ANTHROPIC.validate_python(history)) == history


def load_langchain(history, path):
    if "lc" in history[0]:
        messages = [load(message, allowed_objects="messages") for message in history]
    elif "data" in history[0]:
        messages = messages_from_dict(history)
    else:
        messages = convert_to_messages(history)
    assert len(messages) == len(history)
    called = [
        call["id"]
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls + message.invalid_tool_calls
    ]
    answered = [m.tool_call_id for m in messages if isinstance(m, ToolMessage)]
    assert sorted(called) == sorted(answered), (called, answered)
    if not any(isinstance(m, AIMessage) and m.invalid_tool_calls for m in messages):
        converted = convert_to_openai_messages(messages)
        path.with_name(path.name.split(".")[0] + ".converted").write_text(json.dumps(converted))


def load_gemini(history, _path):
    loaded = GEMINI.validate_json(json.dumps(history))
    dumped = GEMINI.dump_json(loaded, by_alias=True, exclude_none=True)
    assert json.loads(dumped) == history
    # The package leaves the order of turns to the service; these are its documented rules.
    roles = [content.role for content in loaded]
    assert roles == [("user", "model")[index % 2] for index in range(len(roles))], roles
    called = []
    for content in loaded:
        answered = [part.function_response.id for part in content.parts if part.function_response]
        assert answered == called, (answered, called)
        assert not answered or len(answered) == len(content.parts), "a result stands alone"
        called = [part.function_call.id for part in content.parts if part.function_call]
    assert not called, called


LOADERS = {
    "openai": load_openai,
    "responses": load_responses,
    "anthropic": load_anthropic,
    "langchain": load_langchain,
    "gemini": load_gemini,
}


def main(folder):
    for path in sorted(Path(folder).glob("*.json")):
        name, form, _ = path.name.split(".")
        try:
            LOADERS[form](json.loads(path.read_text()), path)
        except Exception as error:  # whatever a package says no with
            print(f"{name}.{form} refused: {type(error).__name__} {str(error)[:300]!r}")
        else:
            print(f"{name}.{form} ok")


if __name__ == "__main__":
    main(sys.argv[1])
