/** How an error code appears on each wire: HTTP status, WebSocket close code (when it ends the connection), whether the same request may succeed later. */
interface ErrorMeaning {
  status: number;
  close?: number;
  retryable: boolean;
}

/** Every error code that may cross the wire, with its meaning. */
export const ERRORS = {
  bad_json: { status: 400, retryable: false },
  bad_request: { status: 400, retryable: false },
  empty_message: { status: 400, retryable: false },
  unauthorized: { status: 401, close: 4401, retryable: false },
  forbidden: { status: 403, close: 4403, retryable: false },
  not_found: { status: 404, close: 4404, retryable: false },
  method_not_allowed: { status: 405, retryable: false },
  nothing_to_answer: { status: 409, retryable: false },
  nothing_to_continue: { status: 409, retryable: false },
  answer_refused: { status: 409, retryable: false },
  session_full: { status: 413, retryable: false },
  too_large: { status: 413, close: 1009, retryable: false },
  unsupported_media: { status: 415, retryable: false },
  bad_image: { status: 422, retryable: false },
  bad_audio: { status: 422, retryable: false },
  upgrade_required: { status: 426, close: 4426, retryable: false },
  rate_limited: { status: 429, retryable: true },
  busy: { status: 429, retryable: true },
  unknown_frame: { status: 400, retryable: false },
  bad_version: { status: 400, retryable: false },
  invalid_frame: { status: 400, close: 1002, retryable: false },
  taken_over: { status: 409, close: 4001, retryable: false },
  idle: { status: 408, close: 4002, retryable: true },
  too_slow: { status: 429, close: 4003, retryable: true },
  flooded: { status: 429, close: 1008, retryable: true },
  internal: { status: 500, close: 1011, retryable: true },
  model_error: { status: 502, retryable: true },
  model_not_configured: { status: 502, retryable: false },
  overloaded: { status: 503, close: 1013, retryable: true },
  moved: { status: 503, close: 4004, retryable: true },
  shutting_down: { status: 503, close: 1012, retryable: true },
} as const satisfies Record<string, ErrorMeaning>;

/** A code from the table above. */
export type ErrorCode = keyof typeof ERRORS;

/** The JSON body of an HTTP error and the data of a `data-error` chunk. */
export interface WireError {
  code: ErrorCode;
  message: string;
  retryable: boolean;
  retryAfterMs?: number;
  /** The request that it is about. */
  requestId?: string;
}

/** An error whose message is meant for the person at the other end. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
  readonly code: ErrorCode;
  readonly retryAfterMs: number | undefined;
  /** The request that it is about. */
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

  /** The same error, about a request. */
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

/** Any thrown value as a ProtocolError; what was not meant for the wire becomes `internal` without its message. */
export function toProtocolError(thrown: unknown): ProtocolError {
  if (thrown instanceof ProtocolError) return thrown;
  return new ProtocolError('internal', 'Something went wrong on the server. Please try again.');
}
