import { describe, expect, test } from 'vitest';
import { ERRORS, type ErrorCode, ProtocolError, toProtocolError } from '../../src/protocol/index.ts';

const table = Object.entries(ERRORS).map(
  ([code, { status, retryable, ...rest }]) =>
    [code as ErrorCode, status, retryable, 'close' in rest ? rest.close : undefined] as const,
);

describe('errors', () => {
  test.each(table)('[E1] %s has status %i, may be retried: %s', (code, status, retryable) => {
    const error = new ProtocolError(code, 'Say what to do.');
    expect({ status: error.status, name: error.name, message: error.message }).toEqual({
      status,
      name: 'ProtocolError',
      message: 'Say what to do.',
    });
    expect(error.toWire()).toEqual({ code, message: 'Say what to do.', retryable });
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
