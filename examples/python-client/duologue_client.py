"""A client of the Duologue protocol, with the standard library of Python alone.

`SseClient` and `BidiClient` have the same methods: `say` sends a user message and returns when the turn is over. They ask `person.decide` about every
approval request and run client tools with `person.run`. The numbers in comments are rules of PROTOCOL.md.
"""

import base64
import hashlib
import http.client
import json
import os
import socket
import struct
import uuid
from urllib.parse import quote, urlsplit

OPCODE_TEXT, OPCODE_BINARY, OPCODE_CLOSE, OPCODE_PING, OPCODE_PONG = 1, 2, 8, 9, 10


class BlockReader:
    """Splits text that arrives in any pieces into blocks (C2, C4). `push` returns a list of (chunk id or None, data)."""

    def __init__(self):
        self._text = ""
        self._id = None
        self._data = []

    def push(self, text):
        self._text += text
        blocks = []
        while True:
            ends = [place for place in (self._text.find("\n"), self._text.find("\r")) if place != -1]
            if not ends:
                return blocks
            end = min(ends)
            if self._text[end] == "\r" and end + 1 == len(self._text):
                return blocks  # A line feed may follow: CRLF is one line end.
            width = 2 if self._text[end : end + 2] == "\r\n" else 1
            line, self._text = self._text[:end], self._text[end + width :]
            if line == "":
                if self._data:
                    blocks.append((self._id, "\n".join(self._data)))
                self._id, self._data = None, []
            elif line.startswith("data:"):
                self._data.append(line[5:].removeprefix(" "))
            elif line.startswith("id:"):
                self._id = line[3:].removeprefix(" ")


class Conversation:
    """The messages of a session, built from chunks (C11)."""

    def __init__(self):
        self.messages = []
        self.session = {}
        self.errors = []
        self.accepted = set()
        self.last = None  # The id of the newest chunk: where to resume (R2).
        self._message = None
        self._open = {}

    def message(self, message_id):
        for message in self.messages:
            if message["id"] == message_id:
                return message
        message = {"id": message_id, "role": "assistant", "parts": [], "metadata": {}}
        self.messages.append(message)
        return message

    def call(self, tool_call_id):
        """The part of a call, with its message."""
        for message in self.messages:
            for part in message["parts"]:
                if part.get("toolCallId") == tool_call_id:
                    return part, message
        return None, None

    def text(self):
        """The text of the last message."""
        parts = self.messages[-1]["parts"] if self.messages else []
        return "".join(part["text"] for part in parts if part["type"] == "text")

    def take(self, chunk_id, chunk):
        if chunk_id:
            self.last = chunk_id
        kind = chunk["type"]
        if kind.startswith("data-"):
            self._take_data(kind[5:], chunk)
        elif kind == "start":
            self._message = self.message(chunk["messageId"])  # A continuation repeats the id (S4).
            self._open = {}
            self._describe(chunk)
        elif kind in ("text-start", "reasoning-start"):
            part = {"type": kind.removesuffix("-start"), "text": "", "state": "streaming"}
            self._message["parts"].append(part)
            self._open[chunk["id"]] = part
        elif kind in ("text-delta", "reasoning-delta"):
            self._open[chunk["id"]]["text"] += chunk["delta"]
        elif kind in ("text-end", "reasoning-end"):
            self._open.pop(chunk["id"])["state"] = "done"
        elif kind in ("tool-input-start", "tool-input-available"):
            part, _ = self.call(chunk["toolCallId"])
            if part is None:
                part = {"type": "tool-" + chunk["toolName"], "toolCallId": chunk["toolCallId"]}
                self._message["parts"].append(part)
            part["toolMetadata"] = chunk["toolMetadata"]
            part["state"] = "input-streaming" if kind == "tool-input-start" else "input-available"
            if kind == "tool-input-available":
                part["input"] = chunk["input"]
        elif kind == "tool-approval-request":
            part, _ = self.call(chunk["toolCallId"])
            part["state"] = "approval-requested"
            part["approval"] = {"id": chunk["approvalId"]}
            if "approvalDescriptor" in chunk:
                part["approval"]["descriptor"] = chunk["approvalDescriptor"]  # T16a
        elif kind in ("tool-output-available", "tool-output-error", "tool-output-denied"):
            part, _ = self.call(chunk["toolCallId"])
            part["state"] = kind.removeprefix("tool-")
            part.update({name: chunk[name] for name in ("output", "errorText") if name in chunk})
        elif kind in ("file", "source-url"):
            self._message["parts"].append(chunk)
        elif kind in ("finish", "message-metadata"):
            self._describe(chunk)
        elif kind == "error":
            self.errors.append({"code": "error", "message": chunk["errorText"]})

    def _take_data(self, name, chunk):
        data = chunk["data"]
        if name == "session":
            self.session = data
        elif name == "error":
            self.errors.append(data)
        elif name == "accepted":
            self.accepted.add(data["requestId"])
        elif name == "floor":
            self.session["floor"] = data["connectionId"]
        elif name == "message":
            message = data["message"]
            if all(one["id"] != message["id"] for one in self.messages):
                self.messages.append(message)
        elif name == "decided":
            part, _ = self.call(data["toolCallId"])
            if part is not None:
                decide(part, data["approved"], data.get("reason"))
        elif name == "settled":
            part, _ = self.call(data["toolCallId"])
            if part is not None:
                part.update(state="output-error", errorText=data["errorText"])
        elif name == "rewind":
            places = [place for place, one in enumerate(self.messages) if one["id"] == data["messageId"]]
            if places:
                del self.messages[places[0] :]
        elif name == "reset":
            self.messages = data["messages"]  # R5a
        elif not chunk.get("transient") and self._message is not None:
            self._message["parts"].append({"type": "data-" + name, "data": data})

    def _describe(self, chunk):
        merge(self._message.setdefault("metadata", {}), chunk.get("messageMetadata") or {})


def merge(base, changes):
    """Merges metadata object by object (C11b)."""
    for name, value in changes.items():
        if isinstance(value, dict) and isinstance(base.get(name), dict):
            merge(base[name], value)
        else:
            base[name] = value


def decide(part, approved, reason=None):
    """Writes a decision on a call (C11c)."""
    if part["state"] == "approval-requested":
        part["state"] = "approval-responded"
        part["approval"]["approved"] = approved
        if reason:
            part["approval"]["reason"] = reason


def waits_for(part):
    """Whom a call waits for: T2."""
    facts, state = part["toolMetadata"], part["state"]
    approved = part.get("approval", {}).get("approved") is True
    if state == "approval-requested":
        return "person"
    if state == "input-available":
        return "server" if facts["asks"] and not approved else facts["runsOn"]
    if state == "approval-responded":
        return facts["runsOn"] if approved else "server"
    return "server" if state == "input-streaming" else None


class SseClient:
    """Talks over SSE: one post for each message or answer."""

    def __init__(self, url, session, person):
        self.conversation = Conversation()
        self._url = urlsplit(url)
        self._session = session
        self._person = person
        self._acted = set()
        self.drop_after = None  # Drops the connection after so many chunks, to try resuming.

    def say(self, text):
        message = {"id": str(uuid.uuid4()), "role": "user", "parts": [{"type": "text", "text": text}]}
        self.conversation.messages.append(message)
        self._post(message)
        while self._answer():
            pass

    def stored(self):
        return self._get_json("/sessions/" + quote(self._session, safe=""))["messages"]

    def _answer(self):
        """Answers what waits for the person or this client, all in one post (S6); false when nothing does."""
        message = self.conversation.messages[-1]
        calls = [part for part in message["parts"] if "toolCallId" in part]
        answered = False
        for part in calls:
            if part["toolMetadata"].get("optimistic") and part["toolCallId"] not in self._acted:
                self._acted.add(part["toolCallId"])  # The server has continued: act, and send nothing (T20a).
                self._person.run(part["type"].removeprefix("tool-"), part["input"])
            if waits_for(part) == "person":
                approved, reason = self._person.decide(part)
                decide(part, approved, reason)
                answered = True
            if waits_for(part) == "client":
                part["output"] = self._person.run(part["type"].removeprefix("tool-"), part["input"])
                part["state"] = "output-available"  # A decision and an output may come together (T19).
                answered = True
        if answered:
            self._post(message)
        return answered

    def _post(self, message):
        body = {"id": self._session, "messages": [message], "requestId": str(uuid.uuid4())}
        connection = self._connection()
        connection.request("POST", self._path("/stream"), json.dumps(body), {"content-type": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            raise RuntimeError(response.read().decode())
        self.conversation.last = response.headers["x-duologue-last"]  # Where to resume before the first chunk id (S2d).
        if not self._read(connection, response):
            self._resume()

    def _resume(self):
        """Gets the rest of the response after the last chunk (R2); 204 means that only its end is missing (R2b)."""
        while True:
            path = "/stream/%s/stream?last=%s" % (quote(self._session, safe=""), quote(self.conversation.last, safe=""))
            connection = self._connection()
            connection.request("GET", self._path(path))
            response = connection.getresponse()
            if response.status == 204 or self._read(connection, response):
                return

    def _read(self, connection, response):
        """Reads blocks up to [DONE] (C5); false when the connection ended before."""
        reader = BlockReader()
        try:
            while line := response.readline():
                for chunk_id, data in reader.push(line.decode()):
                    if data == "[DONE]":
                        return True
                    self.conversation.take(chunk_id, json.loads(data))
                    if self.drop_after is not None:
                        self.drop_after -= 1
                        if self.drop_after == 0:
                            self.drop_after = None
                            return False
            return False
        finally:
            connection.close()

    def _get_json(self, path):
        connection = self._connection()
        connection.request("GET", self._path(path))
        value = json.loads(connection.getresponse().read())
        connection.close()
        return value

    def _connection(self):
        kind = http.client.HTTPSConnection if self._url.scheme == "https" else http.client.HTTPConnection
        return kind(self._url.netloc, timeout=60)

    def _path(self, path):
        return self._url.path.rstrip("/") + path


class WebSocket:
    """A WebSocket connection of RFC 6455, as far as a client needs it."""

    def __init__(self, url, subprotocols):
        parts = urlsplit(url)
        self._socket = socket.create_connection((parts.hostname, parts.port or 80), timeout=60)
        key = base64.b64encode(os.urandom(16)).decode()
        self._socket.sendall(
            (
                f"GET {parts.path}?{parts.query} HTTP/1.1\r\nHost: {parts.netloc}\r\nUpgrade: websocket\r\n"
                f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
                f"Sec-WebSocket-Protocol: {', '.join(subprotocols)}\r\n\r\n"
            ).encode()
        )
        self._buffer = b""
        while b"\r\n\r\n" not in self._buffer:
            self._fill()
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        expected = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
        if not head.startswith(b"HTTP/1.1 101 ") or expected not in head:
            raise RuntimeError("The server refused the handshake: " + head.decode())

    def send(self, text, opcode=OPCODE_TEXT):
        payload = text.encode() if isinstance(text, str) else text
        mask = os.urandom(4)
        length = len(payload)
        if length < 126:
            size = bytes([0x80 | length])
        elif length < 65536:
            size = bytes([0x80 | 126]) + struct.pack(">H", length)
        else:
            size = bytes([0x80 | 127]) + struct.pack(">Q", length)
        masked = bytes(byte ^ mask[place % 4] for place, byte in enumerate(payload))
        self._socket.sendall(bytes([0x80 | opcode]) + size + mask + masked)

    def receive(self):
        """The next message, text or bytes; None when the connection is closed."""
        whole, kind = b"", OPCODE_TEXT
        while True:
            first, second = self._take(2)
            opcode, length = first & 15, second & 127
            if length == 126:
                (length,) = struct.unpack(">H", self._take(2))
            elif length == 127:
                (length,) = struct.unpack(">Q", self._take(8))
            payload = self._take(length)
            if opcode == OPCODE_CLOSE:
                return None
            if opcode == OPCODE_PING:
                self.send(payload, OPCODE_PONG)  # Otherwise the server closes the connection (B19).
            elif opcode != OPCODE_PONG:
                kind = opcode or kind
                whole += payload
                if first & 0x80:
                    return whole.decode() if kind == OPCODE_TEXT else whole

    def close(self):
        self._socket.close()

    def _take(self, count):
        while len(self._buffer) < count:
            self._fill()
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        return taken

    def _fill(self):
        more = self._socket.recv(65536)
        if not more:
            raise ConnectionError("The connection ended.")
        self._buffer += more


class BidiClient:
    """Talks over one WebSocket, and comes back after a drop (R6)."""

    def __init__(self, url, session, person):
        self.conversation = Conversation()
        self._url = url.replace("http", "ws", 1).rstrip("/") + "/live"
        self._session = session
        self._person = person
        self._unanswered = {}  # Requests that the server has neither accepted nor refused, in order (B26a).
        self._answered = set()
        self._reader = BlockReader()
        self._dones = 0
        self.drop_after = None
        self._connect()

    def say(self, text):
        message = {"id": str(uuid.uuid4()), "role": "user", "parts": [{"type": "text", "text": text}]}
        goal = self._dones + 1
        self._request("message", {"messages": [message]})
        while self._dones < goal:
            self._receive()

    def close(self):
        self._socket.close()

    def come_back_from(self, chunk_id):
        """Drops the connection and connects again as a client whose last chunk was this one."""
        self._socket.close()
        self.conversation.last = chunk_id
        self._connect()

    def _connect(self):
        query = "?session=" + quote(self._session, safe="")
        if self.conversation.last:
            query += "&last=" + quote(self.conversation.last, safe="")
        earlier = self.conversation.session.get("connectionId")
        self._socket = WebSocket(self._url + query, ["duologue.v2"])
        self._reader = BlockReader()
        self.conversation.session = {}
        while not self.conversation.session:
            self._receive()  # The first frame is data-session (B10).
        session = self.conversation.session
        for accepted in session["received"]:
            self._unanswered.pop(accepted["requestId"], None)
        for frame in list(self._unanswered.values()):
            self._socket.send(frame)
        if earlier is not None and session["floor"] == earlier:
            self._socket.send(json.dumps({"type": "floor", "version": "1.0", "data": {}}))  # B31a
        for call in session["open"]:
            self._act(call["toolCallId"])

    def _request(self, kind, data):
        request_id = str(uuid.uuid4())
        frame = json.dumps({"type": kind, "version": "1.0", "data": {**data, "requestId": request_id}})
        self._unanswered[request_id] = frame
        self._socket.send(frame)

    def _receive(self):
        try:
            frame = self._socket.receive()
        except ConnectionError:
            frame = None
        if frame is None:
            self._connect()
        elif isinstance(frame, str) and not frame.startswith("{"):  # Bare JSON is a pong.
            for chunk_id, data in self._reader.push(frame):
                self._take(chunk_id, data)
                if self._drops():
                    self._socket.close()
                    self._connect()
                    return

    def _drops(self):
        if self.drop_after is None:
            return False
        self.drop_after -= 1
        if self.drop_after > 0:
            return False
        self.drop_after = None
        return True

    def _take(self, chunk_id, data):
        if data == "[DONE]":
            self._dones += 1
            if self.conversation.last:  # [DONE] has the seq after the chunk before it (C5a).
                epoch, _, seq = self.conversation.last.rpartition("-")
                self.conversation.last = f"{epoch}-{int(seq) + 1}"
            return
        chunk = json.loads(data)
        self.conversation.take(chunk_id, chunk)
        kind = chunk["type"]
        # A request that was refused with these codes had no effect, and is sent again on the next connection (B34).
        if kind == "data-accepted" or (kind == "data-error" and chunk["data"]["code"] not in ("moved", "shutting_down")):
            self._unanswered.pop(chunk["data"].get("requestId"), None)
        if kind in ("tool-input-available", "tool-approval-request"):
            self._act(chunk["toolCallId"])
        elif kind == "data-decided":
            self._act(chunk["data"]["toolCallId"])
        elif kind == "data-floor":
            for message in self.conversation.messages:
                for part in message["parts"]:
                    if "toolCallId" in part:
                        self._act(part["toolCallId"])

    def _act(self, call_id):
        part, _ = self.conversation.call(call_id)
        waits = waits_for(part) if part is not None else None
        if waits is None or (call_id, waits) in self._answered:
            return
        if waits == "person":
            self._answered.add((call_id, waits))
            approved, reason = self._person.decide(part)
            status = "approved" if approved else "rejected"
            self._request("tool_result", {"toolCallId": call_id, "status": status, **({"reason": reason} if reason else {})})
        elif waits == "client" and self.conversation.session.get("floor") == self.conversation.session["connectionId"]:
            self._answered.add((call_id, waits))  # Only the active connection runs client tools (B30a).
            output = self._person.run(part["type"].removeprefix("tool-"), part["input"])
            self._request("tool_result", {"toolCallId": call_id, "result": output})
