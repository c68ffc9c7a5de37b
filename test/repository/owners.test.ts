import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cyclesOf, measureOwners, type OwnerCall } from './support/call-graph.ts';
import { root, sourcesUnder } from './support/repository.ts';

const FOLDER = 'src/server/conversation';
const MAX_OWNERS = 8;
const MAX_OWNER_LINES = 900;
const MAX_FILE_LINES = 450;

/** The owners of a conversation, from the bottom up, with their files. Each calls only those before it. */
const owners: Record<string, string[]> = {
  context: ['context', 'effects', 'inputs', 'policy', 'errors'].map((name) => `state/${name}.ts`),
  messages: ['messages', 'open-calls', 'paused-agents', 'call-states'].map((name) => `state/${name}.ts`),
  run: ['state/agent-run.ts', 'state/call-reports.ts'],
  speech: ['state/speech.ts'],
  calls: ['state/calls/'],
  driver: ['state/driver/'],
  turns: ['state/turns/'],
  runner: ['effect-runner.ts', 'store-writer.ts', 'agent-runs.ts', 'tool-runner.ts'],
};

/** The one way into the state. It passes inputs on to the owners of the state. */
const ENTRANCE = 'the entrance';
/** Files that put the owners together and give clients access to them. */
const COMPOSITION = 'the composition';

const around: Record<string, string[]> = {
  [ENTRANCE]: ['state/conversation-state.ts'],
  [COMPOSITION]: ['conversation.ts', 'client-requests.ts', 'reading.ts', 'recovery.ts'],
};

function ownerOf(path: string): string | null {
  const isIn = ([, files]: [string, string[]]) =>
    files.some((file) => path === file || (file.endsWith('/') && path.startsWith(file)));
  return Object.entries({ ...owners, ...around }).find(isIn)?.[0] ?? null;
}

/** Lines that are neither blank nor only a comment. */
function codeLines(text: string): number {
  return text
    .replace(/^\s*\/\*[\s\S]*?\*\/\s*$/gm, '')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.trim().startsWith('//')).length;
}

const shown = ({ from, to, member, at, through }: OwnerCall) =>
  `${from} -> ${to}: ${member} at ${at}${through === null ? '' : `, through ${through}`}`;

describe('the owners of a conversation', () => {
  const files = sourcesUnder(FOLDER).map((path) => path.slice(FOLDER.length + 1));
  const textOf = (path: string) => readFileSync(join(root, FOLDER, path), 'utf8');
  const { calls, writes, paths } = measureOwners(join(root, FOLDER), ownerOf);
  const isOwner = (name: string) => name in owners;

  test('are at most eight, and every file belongs to one of them, to the entrance or to the composition', () => {
    expect(Object.keys(owners).length).toBeLessThanOrEqual(MAX_OWNERS);
    expect(files.filter((path) => ownerOf(path) === null)).toEqual([]);
    expect(paths.toSorted()).toEqual(files.toSorted());
    const named = Object.values({ ...owners, ...around }).flat();
    expect(named.filter((name) => !files.some((path) => path === name || path.startsWith(name)))).toEqual([]);
  });

  test(`have at most ${MAX_OWNER_LINES} lines of code each, and no file has more than ${MAX_FILE_LINES} lines`, () => {
    const sizes = Object.keys(owners).map((owner) => {
      const own = files.filter((path) => ownerOf(path) === owner);
      return { owner, lines: own.reduce((sum, path) => sum + codeLines(textOf(path)), 0) };
    });
    expect(sizes.filter(({ lines }) => lines > MAX_OWNER_LINES)).toEqual([]);
    expect(files.filter((path) => textOf(path).split('\n').length - 1 > MAX_FILE_LINES)).toEqual([]);
  });

  test('call each other without a cycle, in one direction', () => {
    const order = Object.keys(owners);
    const between = calls.filter(({ from, to }) => isOwner(from) && isOwner(to));
    expect(cyclesOf(between)).toEqual([]);
    const upwards = between.filter(({ from, to }) => order.indexOf(from) < order.indexOf(to));
    expect(upwards.map(shown)).toEqual([]);
    // The graph is not empty: each owner above the first calls the first.
    const callers = new Set(between.filter(({ to }) => to === 'context').map(({ from }) => from));
    expect([...callers].toSorted()).toEqual(order.slice(1, -1).toSorted());
  });

  test('never call the entrance, except the runner, which calls nothing else of the state', () => {
    const entering = calls.filter(({ from, to }) => isOwner(from) && to === ENTRANCE);
    expect([...new Set(entering.map(({ from }) => from))]).toEqual(['runner']);
    expect(calls.filter(({ from, to }) => from === 'runner' && isOwner(to)).map(shown)).toEqual([]);
  });

  test('never call the composition; only the runner gets callbacks from it', () => {
    const calling = calls.filter(({ from, to }) => isOwner(from) && to === COMPOSITION);
    const isAllowed = ({ from, through }: OwnerCall) => from === 'runner' && through !== null;
    expect(calling.filter((call) => !isAllowed(call)).map(shown)).toEqual([]);
    const entering = calls.filter(({ from, to }) => from === ENTRANCE && to === COMPOSITION);
    expect(entering.map(shown)).toEqual([]);
  });

  test('write no field of another owner', () => {
    expect(writes).toEqual([]);
  });
});

/** Made-up sources: each file is an owner, and each folder a case. */
const sources: Record<string, string> = {
  'one-way/low.ts': `
    export class Low {
      count = 0;
      private readonly items: number[] = [];
      add(item: number) { this.count++; this.items.push(item); }
      some(isSuch: (item: number) => boolean) { return this.items.some(isSuch); }
    }`,
  'one-way/high.ts': `
    import { Low } from './low.ts';
    export class High {
      private readonly low = new Low();
      go(limit: number) { this.low.add(limit); return this.low.some((item) => item > limit); }
    }`,
  'direct/low.ts': `
    import { help } from './high.ts';
    export function work() { help(); }`,
  'direct/high.ts': `
    import { work } from './low.ts';
    export function help() {}
    export function go() { work(); }`,
  'getter/low.ts': `
    import type { High } from './high.ts';
    export function isDone(high: High) { return high.state === 'done'; }`,
  'getter/high.ts': `
    import { isDone } from './low.ts';
    export class High {
      get state() { return 'done'; }
      go() { return isDone(this); }
    }`,
  'destructured/low.ts': `
    import type { High } from './high.ts';
    export function isDone(high: High) { const { state } = high; return state === 'done'; }`,
  'destructured/high.ts': `
    import { isDone } from './low.ts';
    export class High {
      readonly state: string = 'done';
      go() { return isDone(this); }
    }`,
  'implemented/low.ts': `
    export interface Needs { ring(): void }
    export class Low {
      private readonly needs: Needs;
      constructor(needs: Needs) { this.needs = needs; }
      go() { this.needs.ring(); }
    }`,
  'implemented/high.ts': `
    import { Low, type Needs } from './low.ts';
    export class High implements Needs {
      private readonly low = new Low(this);
      ring() {}
      go() { this.low.go(); }
    }`,
  'assignable/low.ts': `
    export class Low {
      private readonly needs: { readonly high: { ring(): void } };
      constructor(needs: { readonly high: { ring(): void } }) { this.needs = needs; }
      go() { const { high } = this.needs; high.ring(); }
    }`,
  'assignable/high.ts': `
    import { Low } from './low.ts';
    export class High {
      private readonly low: Low = new Low({ high: this });
      ring() {}
      go() { this.low.go(); }
    }`,
  'callback/low.ts': `
    export function times(n: number, work: () => void) { for (let i = 0; i < n; i++) work(); }`,
  'callback/high.ts': `
    import { times } from './low.ts';
    function help() {}
    export function go() { times(2, () => help()); }`,
  'reference/low.ts': `
    export function times(n: number, work: () => void) { for (let i = 0; i < n; i++) work(); }`,
  'reference/high.ts': `
    import { times } from './low.ts';
    export class High {
      help() {}
      go() { const work = this.help.bind(this); times(2, work); }
    }`,
  'field/low.ts': `
    export class Low {
      private readonly onEnd: () => void;
      constructor(onEnd: () => void) { this.onEnd = onEnd; }
      end() { this.onEnd(); }
    }`,
  'field/high.ts': `
    import { Low } from './low.ts';
    export class High {
      private ended = false;
      private readonly low = new Low(() => { this.ended = true; });
      go() { this.low.end(); return this.ended; }
    }`,
  'literal/low.ts': `
    interface Needs { now: () => number }
    export class Low {
      private readonly needs: Needs;
      constructor(needs: Needs) { this.needs = needs; }
      go() { return this.needs.now(); }
    }`,
  'literal/high.ts': `
    import { Low } from './low.ts';
    export class High {
      private readonly time = 0;
      private readonly low: Low;
      constructor() {
        const needs = { now: () => this.time };
        this.low = new Low(needs);
      }
      go() { return this.low.go(); }
    }`,
  'listeners/low.ts': `
    export class Low {
      private readonly listeners: (() => void)[] = [];
      listen(listener: () => void) { this.listeners.push(listener); }
      go() { for (const listener of this.listeners) listener(); }
    }`,
  'listeners/high.ts': `
    import type { Low } from './low.ts';
    export class High {
      private count = 0;
      watch(low: Low) { const listener = () => { this.count++; }; low.listen(listener); return this.count; }
    }`,
  'three/a.ts': `import { b } from './b.ts'; export function a() { b(); }`,
  'three/b.ts': `import { c } from './c.ts'; export function b() { c(); }`,
  'three/c.ts': `import { a } from './a.ts'; export function c() { a(); }`,
  'written/low.ts': `
    export interface Place { line: number }
    export class Low {
      count = 0;
      note?: string;
      readonly items: string[] = [];
      readonly byName = new Map<string, number>();
      readonly place: Place = { line: 0 };
      private readonly lists = new Map<string, string[]>();
      add() { this.count++; this.items.push(''); }
      list() { return this.items; }
      of(name: string) { return this.lists.get(name) ?? this.list(); }
      where() { return this.place; }
      copy() { return [...this.items]; }
      sorted() { return this.items.toSorted(); }
    }`,
  'written/high.ts': `
    import type { Low } from './low.ts';
    export class High {
      private count = 0;
      go(low: Low) {
        low.count = 1;
        low.count++;
        delete low.note;
        Object.assign(low, { count: 2 });
        low.items.push('a');
        low.items[0] = 'b';
        const { byName, place } = low;
        byName.set('a', 1);
        place.line = 3;
        [low.count] = [4];
        low.list().push('c');
        low.of('d').length = 0;
        const list = low.list();
        list.sort();
        low.where().line = 5;
        low.copy().push('e');
        low.sorted().push('f');
        this.count = low.count;
        return this.count;
      }
    }`,
};

describe('the measurement', () => {
  let folder = '';
  let measured: ReturnType<typeof measureOwners>;

  beforeAll(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'owners-')));
    for (const [path, text] of Object.entries(sources)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    measured = measureOwners(folder, (path) => path.replace('.ts', ''));
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  const cyclesIn = (name: string) =>
    cyclesOf(measured.calls.filter(({ from }) => from.startsWith(`${name}/`))).map((cycle) =>
      cycle.map((owner) => owner.slice(name.length + 1)).join(' '),
    );

  test('finds no cycle and no write where one owner calls the other, and gives it a function that calls nothing', () => {
    const [first, ...others] = new Set(
      measured.calls.filter(({ from }) => from.startsWith('one-way/')).map(({ from, to }) => `${from} ${to}`),
    );
    expect([first, others]).toEqual(['one-way/high one-way/low', []]);
    expect(measured.writes.filter(({ by }) => !by.startsWith('written/'))).toEqual([]);
  });

  test.each([
    ['a direct call', 'direct'],
    ['a getter', 'getter'],
    ['a field that is destructured', 'destructured'],
    ['an interface that the caller implements', 'implemented'],
    ['a type that the caller can stand for', 'assignable'],
    ['a closure as an argument', 'callback'],
    ['a method as an argument', 'reference'],
    ['a field that holds a closure', 'field'],
    ['a closure in an object that a variable holds', 'literal'],
    ['a list of closures', 'listeners'],
  ])('finds a cycle through %s', (_, name) => {
    expect(cyclesIn(name)).toEqual(['high low']);
  });

  test('finds a cycle of three owners', () => {
    expect(cyclesIn('three')).toEqual(['a b c']);
  });

  test('finds each way in which an owner writes the field of another, also one that a call returns, and no write to its own', () => {
    const lines = measured.writes.map(({ owner, field, at }) => `${owner} ${field} ${at.split(':')[1]}`);
    expect(lines).toEqual([
      'written/low Low.count 6',
      'written/low Low.count 7',
      'written/low Low.note 8',
      'written/low Low.count 9',
      'written/low Low.items 10',
      'written/low Low.items 11',
      'written/low Low.byName 13',
      'written/low line 14',
      'written/low Low.count 15',
      'written/low Low.items 16',
      'written/low Low.lists 17',
      'written/low Low.items 17',
      'written/low Low.items 19',
      'written/low line 20',
    ]);
  });
});
