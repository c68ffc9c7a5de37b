import type { Answer, Step } from '../../../scripts/fixtures/conversation.ts';

/** An action of the client, and the lines that the server must send before the next action. */
export interface Exchange {
  step: Step;
  expected: string[];
}

/** A golden conversation: a skeleton, and the rows of words it is held with. */
export interface Transcript {
  title: string;
  /** Settings of the server, from the environment. */
  settings: Record<string, string>;
  rows: { name: string; exchanges: Exchange[] }[];
}

/**
 * Reads a transcript. The first line is its title; `with NAME=value` sets the server up; then come what the client does
 * (`> words`, `! approve 1`, `! deny 2 too much`, `! output 1 {…}`, `! error 1 text`, `! wait`) and what the server says
 * (`< …`). A table at the end gives words for the `<names>` in it: its first line has the names, each further line is one
 * conversation. Lines that begin with `#` are remarks.
 */
export function readTranscript(text: string): Transcript {
  const [title = '', ...lines] = text
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'));
  const settings = lines.flatMap((line) => {
    const [, name = '', value = ''] = /^with (\w+)=(.*)$/.exec(line) ?? [];
    return name === '' ? [] : [[name, value] as const];
  });
  const skeleton = lines.filter((line) => /^[<>!] /.test(line));
  const [head, ...body] = lines.filter((line) => !/^([<>!] |with )/.test(line)).map(cellsOf);
  const rows = (head ? body : [[]]).map((cells) => {
    if (cells.length !== (head?.length ?? 0))
      throw new Error(`${title}: not a row of the table: ${cells.join(' | ')}`);
    const filled = skeleton.map((line) =>
      line.replace(/<(\w+)>/g, (_, name: string) => {
        const cell = cells[head?.indexOf(name) ?? -1];
        if (cell === undefined) throw new Error(`${title}: the table has no column ${name}`);
        return cell;
      }),
    );
    return { name: cells[0] ?? '', exchanges: exchangesIn(filled) };
  });
  return { title, settings: Object.fromEntries(settings), rows };
}

function cellsOf(line: string): string[] {
  return line.split(' | ').map((cell) => cell.trim());
}

function exchangesIn(lines: readonly string[]): Exchange[] {
  const exchanges: Exchange[] = [];
  for (const line of lines) {
    const last = exchanges.at(-1);
    const words = line.slice(2);
    if (line.startsWith('<')) {
      if (!last) throw new Error(`The server speaks first: ${line}`);
      last.expected.push(words);
    } else if (line.startsWith('>')) {
      const message = { role: 'user', content: [{ type: 'text', text: words }] };
      exchanges.push({ step: { input: { messages: [message] } }, expected: [] });
    } else if (words === 'wait') {
      exchanges.push({ step: 'wait', expected: [] });
    } else {
      // Answers that follow one another go together.
      const answers =
        last && last.expected.length === 0 && typeof last.step === 'object' && 'answers' in last.step
          ? last.step.answers
          : null;
      if (answers) merge(answers, answerIn(words));
      else exchanges.push({ step: { answers: [answerIn(words)] }, expected: [] });
    }
  }
  return exchanges;
}

function merge(answers: Answer[], answer: Answer): void {
  const same = answers.find(({ call }) => call === answer.call);
  if (same) Object.assign(same, answer);
  else answers.push(answer);
}

function answerIn(words: string): Answer {
  const [, kind, number = '', more = ''] = /^(\w+) (\d+) ?(.*)$/.exec(words) ?? [];
  const call = Number(number);
  switch (kind) {
    case 'approve':
    case 'deny':
      return { call, approved: kind === 'approve', ...(more === '' ? {} : { reason: more }) };
    case 'output':
      return { call, output: JSON.parse(more) as unknown };
    case 'error':
      return { call, errorText: more };
    default:
      throw new Error(`Not an answer: ${words}`);
  }
}
