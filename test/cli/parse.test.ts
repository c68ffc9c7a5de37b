import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { run } from '../../src/cli/main.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const fixtures = new URL('../../fixtures/responses/', import.meta.url).pathname;

async function duologue(args: string[], stdin = '', { isTerminal = false, tick = 0 } = {}) {
  let out = '';
  let err = '';
  let time = 0;
  async function* input() {
    yield new TextEncoder().encode(stdin);
  }
  const code = await run(args, {
    out(text) {
      out += text;
    },
    err(text) {
      err += text;
    },
    stdin: input(),
    isTerminal,
    now() {
      time += tick;
      return time;
    },
  });
  return { code, out, err };
}

describe('duologue parse', () => {
  it('shows one response for a person', async () => {
    expect(await duologue(['parse', join(fixtures, 'anthropic_tool_use.json'), '--cost'])).toEqual({
      code: 0,
      err: '',
      out: [
        'api      anthropic.messages',
        'model    claude-sonnet-4-5-20250929',
        'finish   tool_calls (tool_use)',
        'tokens   380 in, 65 out, 445 in all',
        'cost     $0.002115',
        'tool     get_weather {"city":"Oslo"}  (toolu_01)',
        '',
        'Let me look.',
        '',
      ].join('\n'),
    });
  });

  it('reads standard input, whatever the framing', async () => {
    const { response } = JSON.parse(readFileSync(join(fixtures, 'anthropic_stream.json'), 'utf8'));
    const sse = response.map((event: unknown) => `data: ${JSON.stringify(event)}\n\n`).join('');
    const { code, out } = await duologue(['parse', '-', '--provider', 'anthropic', '--json'], sse);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      provider: 'anthropic',
      text: 'Take one.',
      streamed: true,
      complete: true,
    });
  });

  it('says what an error is, with exit code 1', async () => {
    const { code, out } = await duologue(['parse', join(fixtures, 'gemini_error.json')]);
    expect(code).toBe(1);
    expect(out).toContain('error    Quota exceeded. (429 RESOURCE_EXHAUSTED 429)\n');
  });

  it('shows a folder as a table with totals', async () => {
    const dir = temporaryFolder();
    writeFileSync(join(dir, 'a.json'), readFileSync(join(fixtures, 'anthropic_cache.json')));
    writeFileSync(join(dir, 'b.json'), readFileSync(join(fixtures, 'openai_tool_calls.json')));
    writeFileSync(join(dir, 'c.txt'), '<html>502</html>');
    const { code, out } = await duologue(['parse', dir]);
    expect(code).toBe(1);
    expect(out.replaceAll(`${dir}/`, '')).toMatch(
      new RegExp(
        [
          '^file +api +model +finish +in +out +tools',
          '-+',
          'a.json +anthropic.messages +claude-sonnet-4-5-20250929 +stop +2,459 +7 +0',
          'b.json +openai.chat +gpt-4o-2024-11-20 +tool_calls +84 +33 +2',
          'c.txt +- +- +error +\\? +\\? +0',
          '-+',
          '3 responses, 1 faulty +2,543 +40 +2\n$',
        ].join('\n'),
      ),
    );
  });

  it('prints one record a line for several files', async () => {
    const files = ['anthropic_text', 'gemini_text'].map((name) => join(fixtures, `${name}.json`));
    const { out } = await duologue(['parse', ...files, '--json']);
    expect(
      out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).text),
    ).toEqual(['Good morning.', 'Good morning.']);
  });

  it('shows progress only to a person and only past one second', async () => {
    const count = readdirSync(fixtures).filter((name) => name.endsWith('.json')).length;
    expect((await duologue(['parse', fixtures], '', { isTerminal: true, tick: 0 })).err).toBe('');
    expect((await duologue(['parse', fixtures], '', { isTerminal: false, tick: 400 })).err).toBe('');
    expect((await duologue(['parse', fixtures], '', { isTerminal: true, tick: 400 })).err).toMatch(
      new RegExp(`\\r\\[#*\\.+\\] \\d+/${count}`),
    );
  });

  it('keeps text from outside from steering the terminal', async () => {
    const { out } = await duologue(['parse', '-'], '{"choices":[{"message":{"content":"a\\u001b[31mb"}}]}');
    expect(out).toContain('\na[31mb\n');
  });

  it.each([
    [['parse'], 'no file given'],
    [['parse', '/no/such/file'], '/no/such/file: no such file or folder'],
    [['parse', '--nope', 'x'], "Unknown option '--nope'"],
    [['prase'], 'no command "prase"'],
  ])('%j is a mistake it explains, with exit code 2', async (args, message) => {
    const { code, err } = await duologue(args);
    expect(code).toBe(2);
    expect(err).toContain(message);
  });

  it('helps', async () => {
    expect(await duologue(['--help'])).toMatchObject({ code: 0, out: expect.stringContaining('parse') });
    expect(await duologue(['parse', '--help'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('exit codes'),
    });
  });
});
