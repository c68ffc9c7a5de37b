import { type RefObject, useRef, useState } from 'react';
import { type Form, firstValues, type Problem, read } from './form.ts';
import type { JsonValue } from './json.ts';

/** The values of a form while a user fills it in. */
export interface FormState {
  form: Form;
  /** The element around the fields. */
  around: RefObject<HTMLDivElement | null>;
  values: readonly string[];
  /** For each field what is wrong with it, once the user has tried to send it. */
  problems: readonly (Problem | null)[];
  set: (index: number, value: string) => void;
  /** The answer; null when a field has to be changed first, which then gets the focus. */
  take: () => { answer: JsonValue } | null;
}

/** The state of the form that `make` makes once. */
export function useForm(make: () => Form): FormState {
  const [form] = useState(make);
  const [values, setValues] = useState(() => firstValues(form));
  const [problems, setProblems] = useState<readonly (Problem | null)[]>([]);
  const around = useRef<HTMLDivElement>(null);
  return {
    form,
    around,
    values,
    problems,
    set: (index, value) => {
      setValues((all) => all.with(index, value));
      setProblems([]);
    },
    take: () => {
      const found = read(form, values);
      if ('answer' in found) return found;
      setProblems(found.problems);
      const at = found.problems.findIndex((problem) => problem !== null);
      around.current?.querySelectorAll<HTMLElement>('input, select, textarea')[at]?.focus();
      return null;
    },
  };
}
