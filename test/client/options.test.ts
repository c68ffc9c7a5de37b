import { describe, expect, it } from 'vitest';
import {
  DuologueSseTransport,
  type DuologueSseTransportOptions,
  DuologueTransport,
  type DuologueTransportOptions,
} from '../../src/client/index.ts';
import { browserNetwork, systemTimers } from '../../src/client/platform.ts';

/** Makes a transport as JavaScript would. */
const WAYS = {
  DuologueTransport: (options: object) => new DuologueTransport(options as DuologueTransportOptions),
  DuologueSseTransport: (options: object) => new DuologueSseTransport(options as DuologueSseTransportOptions),
};

describe.each(Object.entries(WAYS))('the options of %s', (_, make) => {
  it.each<[object, string]>([
    [{ urls: '/' }, 'The transport has no option "urls". Did you mean "url"?'],
    [{ executer: {} }, 'The transport has no option "executer". Did you mean "executors"?'],
    [{ colour: 'red' }, 'The transport has no option "colour".'],
    [{ toString: 1 }, 'The transport has no option "toString".'],
    [{ url: 5 }, 'the option "url" must be a string.'],
    [{ url: null }, 'the option "url" must be a string.'],
    [{ key: 5 }, 'the option "key" must be a string or a function.'],
    [{ executors: [] }, 'the option "executors" must be an object of functions.'],
    [{ executors: null }, 'the option "executors" must be an object of functions.'],
    [{ executorTimeoutMs: -1 }, 'the option "executorTimeoutMs" must be a number that is not negative.'],
    [
      { executorTimeoutMs: Number.NaN },
      'the option "executorTimeoutMs" must be a number that is not negative.',
    ],
    [{ mergeMs: '16' }, 'the option "mergeMs" must be a number that is not negative.'],
    [{ onAbort: 'stop' }, 'the option "onAbort" must be "interrupt" or "detach".'],
    [{ onData: 'log' }, 'the option "onData" must be a function.'],
    [{ sharesStream: 'no' }, 'the option "sharesStream" must be a boolean.'],
    [{ executors: { place: 'here' } }, 'the option "executors" must be an object of functions.'],
    [{ executors: { place: async () => 'here', city: null } }, 'must be an object of functions.'],
    [{ executors: Promise.resolve({}) }, 'must be an object of functions.'],
    [{ executors: new Map() }, 'must be an object of functions.'],
    [{ headers: { 'x-shop': 5 } }, 'the option "headers" must be an object of strings.'],
    [{ headers: new Headers({ 'x-shop': 'Kyoto' }) }, 'must be an object of strings.'],
    [{ headers: [['x-shop', 'Kyoto']] }, 'must be an object of strings.'],
    [{ timers: {} }, 'the option "timers" must be an object with the function after.'],
    [{ network: { isOnline: true } }, 'the option "network" must be an object with the function onReturn.'],
  ])('%j is refused', (options, words) => {
    expect(() => make({ url: 'http://localhost:1', ...options })).toThrow(words);
  });

  it.each([[undefined], [null], [{}], [{ url: undefined }]])('need an address: %j', (options) => {
    expect(() => make(options as unknown as object)).toThrow(
      'The transport: the option "url" must be a string.',
    );
  });

  it('may be left out or undefined, but for the address', () => {
    const transport = make({
      url: 'http://localhost:1',
      key: () => 'key',
      onAbort: 'detach',
      executors: { place: async () => 'here' },
      mergeMs: 0,
      headers: undefined,
      timers: systemTimers,
      network: browserNetwork,
    });
    transport.close();
  });
});
