import { describe, expect, test } from 'vitest';
import { CLOSE_REASONS } from '../../../src/models/gemini/live-provider.ts';
import { classifyClose } from '../../../src/models/live/close.ts';
import { LINK_LIMITS, type LinkEffect, type LinkInput, LiveLink } from '../../../src/models/live/link.ts';
import type { SocketClose } from '../../../src/models/live/provider.ts';

const LOST: SocketClose = { code: 1006, reason: '' };

/** A connection on a clock of its own: gives what comes of each input, in short. */
function connection(handle: string | null = null) {
  const link = new LiveLink({ ...LINK_LIMITS, ping: null, random: () => 0 }, CLOSE_REASONS);
  let now = 0;
  const short = (effect: LinkEffect) => {
    switch (effect.type) {
      case 'open':
        return `open ${effect.n}${effect.handle ? ` from ${effect.handle}` : ''}`;
      case 'ready':
        return effect.isResumed ? 'ready again' : 'ready';
      case 'over':
        return effect.failure ? `over: ${effect.failure.code}` : 'over';
      case 'waiting':
        return 'waiting';
      default:
        return effect.type;
    }
  };
  const push = (input: LinkInput) => link.push(input, now).map(short);
  return {
    push,
    link,
    /** Lets time pass up to where something is to be done. */
    wait() {
      now = link.wakesAt ?? now;
      return push({ type: 'time' });
    },
    pass(ms: number) {
      now += ms;
    },
    get now() {
      return now;
    },
    begin: () => push({ type: 'start', handle }),
  };
}

/** A connection that is open and can be resumed. */
function open() {
  const one = connection();
  one.begin();
  one.push({ type: 'opened', n: 1 });
  one.push({ type: 'handle', handle: 'H' });
  one.pass(60_000);
  return one;
}

describe('the link to a live server', () => {
  test('opens, and closes when it is told', () => {
    const one = connection();
    expect(one.begin()).toEqual(['open 1']);
    expect(one.push({ type: 'opened', n: 1 })).toEqual(['ready']);
    expect(one.push({ type: 'close' })).toEqual(['drop', 'over']);
    expect(one.push({ type: 'closed', n: 1, close: LOST })).toEqual([]);
  });

  test('gives up a setup that is not answered in ten seconds', () => {
    const one = connection();
    one.begin();
    expect(one.link.wakesAt).toBe(10_000);
    expect(one.wait()).toEqual(['drop', 'over: SILENT']);
  });

  test('tries a first connection three times, ever slower, and says so', () => {
    const one = connection();
    one.begin();
    expect(one.push({ type: 'closed', n: 1, close: LOST })).toEqual([]);
    expect(one.wait()).toEqual(['open 2']);
    expect(one.now).toBe(1000);
    expect(one.push({ type: 'closed', n: 2, close: LOST })).toEqual(['waiting']);
    expect(one.wait()).toEqual(['open 3']);
    expect(one.now).toBe(3000);
    expect(one.push({ type: 'closed', n: 3, close: LOST })).toEqual(['over: UNREACHABLE']);
  });

  test('an idle loss is resumed after a second, a busy one at once', () => {
    const idle = open();
    expect(idle.push({ type: 'closed', n: 1, close: LOST })).toEqual([]);
    expect(idle.link.wakesAt).toBe(idle.now + 1000);
    expect(idle.wait()).toEqual(['open 2 from H']);
    expect(idle.push({ type: 'opened', n: 2 })).toEqual(['ready again']);

    const busy = open();
    busy.push({ type: 'busy', isBusy: true });
    busy.push({ type: 'closed', n: 1, close: LOST });
    expect(busy.link.wakesAt).toBe(busy.now);
    expect(busy.wait()).toEqual(['open 2 from H']);
  });

  test('a server that refuses every resume is given up after five, with words only for who waits', () => {
    for (const isBusy of [true, false]) {
      const one = open();
      one.push({ type: 'busy', isBusy });
      const seen = one.push({ type: 'closed', n: 1, close: LOST });
      for (let n = 2; n <= 5; n++) {
        seen.push(...one.wait());
        const closed = { code: 1011, reason: 'Internal error encountered.' };
        seen.push(...one.push({ type: 'closed', n, close: closed }));
      }
      expect(seen.filter((what) => what.startsWith('open'))).toHaveLength(4);
      expect(seen.at(-1)).toBe(isBusy ? 'over: UNREACHABLE' : 'over');
    }
  });

  test('with nothing to resume from, what is being said breaks off; otherwise it ends in silence', () => {
    for (const isBusy of [true, false]) {
      const one = open();
      one.push({ type: 'handle', handle: null });
      one.push({ type: 'busy', isBusy });
      expect(one.push({ type: 'closed', n: 1, close: LOST })).toEqual([isBusy ? 'over: INCOMPLETE' : 'over']);
    }
  });

  test('a session of another process that cannot be resumed is begun anew', () => {
    const one = connection('OLD');
    expect(one.begin()).toEqual(['open 1 from OLD']);
    const gone = { code: 1008, reason: 'Requested entity was not found.' };
    expect(one.push({ type: 'closed', n: 1, close: gone })).toEqual(['forget']);
    expect(one.wait()).toEqual(['open 2']);
    expect(one.push({ type: 'opened', n: 2 })).toEqual(['ready']);
  });

  test('a server that is leaving is left between two turns', () => {
    const one = open();
    one.push({ type: 'busy', isBusy: true });
    expect(one.push({ type: 'goAway', inMs: 50_000 })).toEqual([]);
    expect(one.push({ type: 'busy', isBusy: false })).toEqual(['drop']);
    expect(one.wait()).toEqual(['open 2 from H']);
  });

  test('in the middle of a turn it is left when its time is up', () => {
    const one = open();
    one.push({ type: 'busy', isBusy: true });
    one.push({ type: 'goAway', inMs: 50_000 });
    expect(one.link.wakesAt).toBe(one.now + 47_000);
    expect(one.wait()).toEqual(['drop']);
    expect(one.wait()).toEqual(['open 2 from H']);
  });

  test('a server that leaves at once, again and again, is given up, ever slower', () => {
    for (const isBusy of [true, false]) {
      const one = open();
      one.push({ type: 'busy', isBusy });
      const opened: number[] = [];
      let last: string[] = [];
      for (let n = 1; n < 50 && !last.some((what) => what.startsWith('over')); n++) {
        last = one.push({ type: 'goAway', inMs: 0 });
        // Who is in the middle of something may finish it.
        if (isBusy) last = one.wait();
        if (last.some((what) => what.startsWith('over'))) break;
        const from = one.now;
        expect(one.wait()).toEqual([`open ${n + 1} from H`]);
        opened.push(one.now - from);
        one.push({ type: 'opened', n: n + 1 });
      }
      // The first socket was a good one.
      expect(opened).toEqual([isBusy ? 0 : 1000, isBusy ? 0 : 1000, 2000, 4000, 8000]);
      expect(last.at(-1)).toBe(isBusy ? 'over: UNREACHABLE' : 'over');
    }
  });

  test('a server that gives no sign of life is lost', () => {
    const link = new LiveLink({ ...LINK_LIMITS, random: () => 0 }, CLOSE_REASONS);
    link.push({ type: 'start', handle: 'H' }, 0);
    link.push({ type: 'opened', n: 1 }, 0);
    expect(link.push({ type: 'time' }, 5000)).toEqual([{ type: 'ping', n: 1 }]);
    link.push({ type: 'alive', n: 1 }, 5020);
    for (const at of [10_000, 15_000, 20_000, 25_000]) link.push({ type: 'time' }, at);
    expect(link.push({ type: 'time' }, 25_020)).toEqual([{ type: 'drop', n: 1, isDead: true }]);
    expect(link.wakesAt).toBe(26_020);
  });

  test('what comes of an older socket is passed over', () => {
    const one = open();
    one.push({ type: 'closed', n: 1, close: LOST });
    one.wait();
    expect(one.push({ type: 'opened', n: 1 })).toEqual([]);
    expect(one.push({ type: 'unreadable', n: 1 })).toEqual([]);
    expect(one.push({ type: 'opened', n: 2 })).toEqual(['ready again']);
  });
});

describe('what the end of a socket means', () => {
  const read = (closed: SocketClose, isSetUp = true, isResuming = false) => {
    const { then, failure } = classifyClose(closed, CLOSE_REASONS, { isSetUp, isResuming });
    return `${then} ${failure.code}`;
  };

  test.each<[number, string, string]>([
    [1000, '', 'retry INCOMPLETE'],
    [1001, '', 'retry INCOMPLETE'],
    [1006, '', 'retry INCOMPLETE'],
    [1007, 'Request contains an invalid argument.', 'restart INCOMPLETE'],
    [1008, 'The operation was aborted.', 'retry INCOMPLETE'],
    [1008, 'Operation is not implemented, or supported, or enabled.', 'retry INCOMPLETE'],
    [1008, 'Requested entity was not found.', 'restart INCOMPLETE'],
    [1009, 'Message too big', 'restart INCOMPLETE'],
    [1011, 'Deadline expired before operation could complete.', 'retry INCOMPLETE'],
    [1011, 'The service is currently unavailable.', 'retry 503'],
    [1011, 'You exceeded your current quota, please check your plan and billing details.', 'stop QUOTA'],
  ])('in a session: %s %s', (code, reason, meaning) => {
    expect(read({ code, reason })).toBe(meaning);
  });

  test.each<[SocketClose, string]>([
    [{ code: 1006, reason: 'Unexpected server response: 401', status: 401 }, 'stop 401'],
    [{ code: 1006, reason: 'Unexpected server response: 403', status: 403 }, 'stop 403'],
    [{ code: 1006, reason: 'Unexpected server response: 404', status: 404 }, 'stop 404'],
    [{ code: 1006, reason: 'Unexpected server response: 503', status: 503 }, 'retry 503'],
    [{ code: 1007, reason: 'API key not valid. Please pass a valid API key.' }, 'stop 401'],
    [{ code: 1008, reason: 'Method does not allow unregistered callers' }, 'stop 401'],
    [{ code: 1008, reason: 'models/gemini-x is not found for API version v1alpha' }, 'stop 404'],
    [{ code: 1007, reason: `Unknown name "x" at 'setup': Cannot find field.` }, 'stop SETUP'],
    [{ code: 1006, reason: 'connect ECONNREFUSED 127.0.0.1:9' }, 'retry UNREACHABLE'],
    [{ code: 1006, reason: 'Could not load the default credentials.' }, 'stop NO_CREDENTIALS'],
  ])('before one: %j', (closed, meaning) => {
    expect(read(closed, false)).toBe(meaning);
  });

  test('a resume that is refused as long as the old socket is held is tried again', () => {
    expect(read({ code: 1011, reason: 'Internal error encountered.' }, false, true)).toBe(
      'retry UNREACHABLE',
    );
    expect(read({ code: 1007, reason: 'Request contains an invalid argument.' }, false, true)).toBe(
      'restart INCOMPLETE',
    );
  });

  test('ADK finds no word in it after which it would try again by itself, and nobody finds a key', () => {
    const reason = 'connection closed: read ECONNRESET at ?key=AIzaSecret0123456789';
    const { failure } = classifyClose({ code: 1006, reason }, CLOSE_REASONS, {
      isSetUp: true,
      isResuming: false,
    });
    expect(failure.message).toBe(
      'The live model ended the connection (1006): connection ended: read cut off at ?key=…',
    );
  });

  test.each([
    ['ConnectionClosed by the peer', 'connection ended by the peer'],
    ['CONNECTION CLOSED', 'connection ended'],
    ['read econnreset', 'read cut off'],
    ['Socket Hang Up', 'cut off'],
  ])('the words of %j by which ADK would recognise a lost connection are replaced', (reason, detail) => {
    const { failure } = classifyClose({ code: 1006, reason }, CLOSE_REASONS, {
      isSetUp: true,
      isResuming: false,
    });
    expect(failure.message).toBe(`The live model ended the connection (1006): ${detail}`);
  });
});
