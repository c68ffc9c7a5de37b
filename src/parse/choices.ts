import type { Obj } from './json.ts';
import { obj } from './json.ts';
import { emptyOutput, type Output, type ParsedChoice, type ParsedResponse } from './record.ts';
import { warn } from './warn.ts';

/** Reads every choice: the first into the record itself, all of them into `choices` when there are several. */
export function readChoices(
  choices: readonly unknown[],
  record: ParsedResponse,
  read: (choice: Obj, out: Output, record: ParsedResponse) => void,
): void {
  read(obj(choices[0]), record, record);
  if (choices.length < 2) return;
  warn(record.warnings, 'multiple_choices', String(choices.length));
  record.choices = choices.map((choice, position): ParsedChoice => {
    const raw = obj(choice);
    const out = emptyOutput();
    read(raw, out, record);
    return { index: typeof raw.index === 'number' ? raw.index : position, ...out };
  });
}
