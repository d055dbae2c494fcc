"""Messages and tool calls, in whatever form a dataset has them."""

from rageval_spark.messages.calls import Call, read_calls
from rageval_spark.messages.names import ASSISTANT, TOOL, USER, looks_like_message, read_role
from rageval_spark.messages.reading import Message, read_messages, read_turns

__all__ = [
    "ASSISTANT", "TOOL", "USER", "Call", "Message", "looks_like_message", "read_calls", "read_messages", "read_role",
    "read_turns",
]
