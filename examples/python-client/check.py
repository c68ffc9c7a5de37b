"""Plays text, an approval, a denial, client tools and resuming against a Duologue server: `python3 check.py http://localhost:3000`.

It speaks to the demo of this repository, over both transports, and prints what came of it as JSON.
"""

import json
import sys
import uuid

from duologue_client import BidiClient, SseClient


class Person:
    """The user and the browser: approves or denies, and runs client tools."""

    def __init__(self, approves=True):
        self.approves = approves
        self.asked = []
        self.ran = []

    def decide(self, part):
        self.asked.append(part["type"].removeprefix("tool-"))
        return (True, None) if self.approves else (False, "too dear")

    def run(self, name, arguments):
        self.ran.append(name)
        if name == "get_location":
            return {"latitude": 34.6937, "longitude": 135.5023, "accuracy": 25}
        return {"success": True, **arguments}


def play(kind, url, says, approves=True, drop_after=None):
    """Says something in a session of its own; returns the answer as the client and as the server have it."""
    person = Person(approves)
    session = "python-" + str(uuid.uuid4())
    client = kind(url, session, person)
    client.drop_after = drop_after
    client.say(says)
    stored = SseClient(url, session, person).stored()
    answer = client.conversation.messages[-1]
    calls = [
        {"state": part["state"], **{name: part[name] for name in ("errorText",) if name in part}}
        for part in answer["parts"]
        if "toolCallId" in part
    ]
    if kind is BidiClient:
        client.close()
    return {
        "text": client.conversation.text(),
        "calls": calls,
        "asked": person.asked,
        "ran": person.ran,
        "errors": client.conversation.errors,
        "sameAsStored": shape(answer) == shape(stored[-1]) and len(stored) == len(client.conversation.messages),
    }


def shape(message):
    """What a user sees of a message."""
    return [
        [part["type"], part.get("text"), part.get("state"), part.get("output"), part.get("errorText")]
        for part in message["parts"]
        if part["type"] != "step-start"
    ]


def main(url):
    results = {}
    for name, kind in (("sse", SseClient), ("bidi", BidiClient)):
        results[name] = {
            "text": play(kind, url, "Hello"),
            "approval": play(kind, url, "Send $50 to Alice"),
            "denial": play(kind, url, "Send $50 to Alice", approves=False),
            "two approvals": play(kind, url, "Send $30 to Alice and $40 to Bob"),
            "browser tool": play(kind, url, "Play track 2"),
            "browser tool that asks": play(kind, url, "Where am I?"),
            "resume": [play(kind, url, "Send $50 to Alice", drop_after=count) for count in range(1, 12)],
        }
    results["bidi"]["reset"] = reset(url)
    print(json.dumps(results))


def reset(url):
    """Comes back with a chunk that the server does not have; returns how often each role is in the conversation then."""
    session = "python-" + str(uuid.uuid4())
    client = BidiClient(url, session, Person())
    client.say("Hello")
    client.come_back_from("elsewhere-7")
    client.say("What is the weather in Tokyo?")
    client.close()
    return [message["role"] for message in client.conversation.messages]


if __name__ == "__main__":
    main(sys.argv[1])
