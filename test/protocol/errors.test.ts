import { describe, expect, test } from 'vitest';
import { ERRORS, type ErrorCode, ProtocolError, toProtocolError } from '../../src/protocol/index.ts';

/** Every code: HTTP status, whether the same may succeed later, close code. */
const table: [ErrorCode, number, boolean, number | undefined][] = [
  ['bad_json', 400, false, undefined],
  ['bad_request', 400, false, undefined],
  ['empty_message', 400, false, undefined],
  ['unknown_frame', 400, false, undefined],
  ['bad_version', 400, false, undefined],
  ['invalid_frame', 400, false, 1002],
  ['unauthorized', 401, false, 4401],
  ['forbidden', 403, false, 4403],
  ['not_found', 404, false, 4404],
  ['method_not_allowed', 405, false, undefined],
  ['idle', 408, true, 4002],
  ['nothing_to_answer', 409, false, undefined],
  ['nothing_to_continue', 409, false, undefined],
  ['answer_refused', 409, false, undefined],
  ['taken_over', 409, false, 4001],
  ['session_full', 413, false, undefined],
  ['too_large', 413, false, 1009],
  ['unsupported_media', 415, false, undefined],
  ['bad_image', 422, false, undefined],
  ['bad_audio', 422, false, undefined],
  ['upgrade_required', 426, false, 4426],
  ['rate_limited', 429, true, undefined],
  ['busy', 429, true, undefined],
  ['too_slow', 429, true, 4003],
  ['flooded', 429, true, 1008],
  ['internal', 500, true, 1011],
  ['model_error', 502, true, undefined],
  ['model_not_configured', 502, false, undefined],
  ['overloaded', 503, true, 1013],
  ['moved', 503, true, 4004],
  ['shutting_down', 503, true, 1012],
];

describe('errors', () => {
  test.each(table)('[E1] %s is %i, may be retried: %s, closes with %s', (code, status, retryable, close) => {
    expect(ERRORS[code]).toEqual(close === undefined ? { status, retryable } : { status, close, retryable });
    const error = new ProtocolError(code, 'Say what to do.');
    expect({ status: error.status, name: error.name, message: error.message }).toEqual({
      status,
      name: 'ProtocolError',
      message: 'Say what to do.',
    });
    expect(error.toWire()).toEqual({ code, message: 'Say what to do.', retryable });
  });

  test('[E1] there are no other codes', () => {
    expect(Object.keys(ERRORS).sort()).toEqual(table.map(([code]) => code).sort());
  });

  test('[E1] close codes are different, and ones that a server may send', () => {
    const codes = table.flatMap(([, , , close]) => close ?? []);
    expect(new Set(codes).size).toBe(codes.length);
    expect(
      codes.filter(
        (code) => ![1002, 1008, 1009, 1011, 1012, 1013].includes(code) && (code < 4000 || code > 4999),
      ),
    ).toEqual([]);
  });

  test('[E2] an error says when to come back, if it knows', () => {
    expect(new ProtocolError('rate_limited', 'Slow down.', { retryAfterMs: 1_500 }).toWire()).toEqual({
      code: 'rate_limited',
      message: 'Slow down.',
      retryable: true,
      retryAfterMs: 1_500,
    });
  });

  test('[E3] an error that was meant for the other end goes there, any other keeps its message', () => {
    const meant = new ProtocolError('busy', 'Try later.');
    expect(toProtocolError(meant)).toBe(meant);
    const internal = {
      code: 'internal',
      message: 'Something went wrong on the server. Please try again.',
      retryable: true,
    };
    for (const thrown of [
      new Error('password is hunter2'),
      'hunter2',
      null,
      undefined,
      { code: 'busy', message: 'x' },
    ]) {
      expect(toProtocolError(thrown).toWire()).toEqual(internal);
    }
  });
});
