import { type RefObject, useRef, useState } from 'react';
import { type Form, firstValues, type Problem, read } from './form.ts';
import type { JsonValue } from './json.ts';

/** The values of a form while a user fills it in. */
export interface FormState {
  form: Form;
  /** A ref for the element that contains the inputs. */
  around: RefObject<HTMLDivElement | null>;
  values: readonly string[];
  /** What is wrong with each field, after the user tried to send; empty before, and after a change. */
  problems: readonly (Problem | null)[];
  set: (index: number, value: string) => void;
  /** Returns the answer. If a field is wrong, returns null and focuses that field. */
  take: () => { answer: JsonValue } | null;
}

/** Keeps the state of a form. `make` is called once. */
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
