/** How an error appears: its HTTP status, the WebSocket close code when it ends the connection, and whether the same request may succeed later. */
interface ErrorMeaning {
  status: number;
  close?: number;
  retryable: boolean;
}

/** Every error code that may cross the wire. A test writes the table of PROTOCOL.md (E1) from it, comments included. */
export const ERRORS = {
  /** The body cannot be parsed as JSON. */
  bad_json: { status: 400, retryable: false },
  /** A field is missing or not valid. `message` names it. */
  bad_request: { status: 400, retryable: false },
  /** The message has neither text nor a file. */
  empty_message: { status: 400, retryable: false },
  /** The server does not know the type of the frame. */
  unknown_frame: { status: 400, retryable: false },
  /** The `version` of the frame is not `1.0`. */
  bad_version: { status: 400, retryable: false },
  /** A text frame is not JSON. */
  invalid_frame: { status: 400, close: 1002, retryable: false },
  /** The request has no key or a wrong key, or the user is not signed in. */
  unauthorized: { status: 401, close: 4401, retryable: false },
  /** The `Origin` or `Host` is not allowed, or the sign-in for a tool belongs to another user. */
  forbidden: { status: 403, close: 4403, retryable: false },
  /** There is no such session, message, file or route, or the session belongs to another user. */
  not_found: { status: 404, close: 4404, retryable: false },
  /** The path does not take this HTTP method. The header `Allow` lists the methods that it takes. */
  method_not_allowed: { status: 405, retryable: false },
  /** The client was silent for too long, or a body or frame took too long to arrive. */
  idle: { status: 408, close: 4002, retryable: true },
  /** The message answers no open call, or the server has accepted the message before. */
  nothing_to_answer: { status: 409, retryable: false },
  /** The message to continue is not the last one, is not the agent's, or was not cut (S30). */
  nothing_to_continue: { status: 409, retryable: false },
  /** The call does not wait for this answer, or the answer does not fit the arguments or the schema of the call (T11, T13, T34b). */
  answer_refused: { status: 409, retryable: false },
  /** Another connection of the session became the active one, and this client cannot stay connected beside it. */
  taken_over: { status: 409, close: 4001, retryable: false },
  /** The session has reached its size limit (S26); start another session. */
  session_full: { status: 413, retryable: false },
  /** A part of the request is larger than rule A1 allows. */
  too_large: { status: 413, close: 1009, retryable: false },
  /** The `Content-Type` of the body is not `application/json`, or a file has a type that the server does not accept. */
  unsupported_media: { status: 415, retryable: false },
  /** The data are not a valid image of a type that the server accepts. */
  bad_image: { status: 422, retryable: false },
  /** The bytes of a file are not what its type says, or the file is empty or not valid base64. */
  bad_file: { status: 422, retryable: false },
  /** The sound is not 16 kHz, mono, 16-bit PCM, or it came after `audio_control` `stop`. */
  bad_audio: { status: 422, retryable: false },
  /** `GET /live` was not upgraded to a WebSocket (E8). A server never closes a socket with this code. */
  upgrade_required: { status: 426, close: 4426, retryable: false },
  /** The user sent too many requests, or opened too many connections or sessions. Or too many wrong keys came from the address of the client. */
  rate_limited: { status: 429, retryable: true },
  /** Too many messages or answers wait in this session, or too many responses are open on the connection. */
  busy: { status: 429, retryable: true },
  /** The client reads too slowly what the server sends. */
  too_slow: { status: 429, close: 4003, retryable: true },
  /** The client sent too many frames. */
  flooded: { status: 429, close: 1008, retryable: true },
  /** The server failed in a way that no other code describes. */
  internal: { status: 500, close: 1011, retryable: true },
  /** The model failed, or cannot be reached. */
  model_error: { status: 502, retryable: true },
  /** The provider's key, model or settings are missing or wrong on this server. */
  model_not_configured: { status: 502, retryable: false },
  /** The server is receiving too many bytes (A11), or its store or hub is unavailable. */
  overloaded: { status: 503, close: 1013, retryable: true },
  /** Another server owns the session now (E6). */
  moved: { status: 503, close: 4004, retryable: true },
  /** The server is shutting down. */
  shutting_down: { status: 503, close: 1012, retryable: true },
} as const satisfies Record<string, ErrorMeaning>;

/** The code of an error. */
export type ErrorCode = keyof typeof ERRORS;

/** The JSON body of an HTTP error and the data of a `data-error` chunk. */
export interface WireError {
  code: ErrorCode;
  message: string;
  retryable: boolean;
  retryAfterMs?: number;
  /** The `requestId` of the request that failed. */
  requestId?: string;
}

/** An error with a code of `ERRORS`. The server sends its message to the client, which may show it to the user. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
  readonly code: ErrorCode;
  readonly retryAfterMs: number | undefined;
  /** The `requestId` of the request that failed. */
  readonly requestId: string | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { retryAfterMs?: number | undefined; requestId?: string | undefined } = {},
  ) {
    super(message);
    this.code = code;
    this.retryAfterMs = options.retryAfterMs;
    this.requestId = options.requestId;
  }

  /** Returns a copy of this error that has the `requestId` of the request that failed. Without a `requestId` it returns this error. */
  about(requestId: string | undefined): ProtocolError {
    if (requestId === undefined) return this;
    return new ProtocolError(this.code, this.message, { retryAfterMs: this.retryAfterMs, requestId });
  }

  get status(): number {
    return ERRORS[this.code].status;
  }

  toWire(): WireError {
    return {
      code: this.code,
      message: this.message,
      retryable: ERRORS[this.code].retryable,
      ...(this.retryAfterMs === undefined ? {} : { retryAfterMs: this.retryAfterMs }),
      ...(this.requestId === undefined ? {} : { requestId: this.requestId }),
    };
  }
}

/**
 * Returns the thrown value if it is a `ProtocolError`. Any other thrown value becomes a new error with the code `internal` and a general
 * text, so that clients do not get the text of the thrown error.
 */
export function toProtocolError(thrown: unknown): ProtocolError {
  if (thrown instanceof ProtocolError) return thrown;
  return new ProtocolError('internal', 'Something went wrong on the server. Please try again.');
}
