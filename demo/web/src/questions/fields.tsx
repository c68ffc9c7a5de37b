import { FieldInput } from './field-input.tsx';
import type { FormState } from './use-form.ts';

/** All inputs of a form. */
export function Fields({ state, label }: { state: FormState; label: string }) {
  const { form, around, values, problems, set } = state;
  return (
    <div ref={around} className="space-y-3">
      {form.fields.map((field, index) => (
        <FieldInput
          key={field.path.join('\0')}
          field={field}
          label={label}
          value={values[index] ?? ''}
          problem={problems[index] ?? null}
          onChange={(value) => set(index, value)}
        />
      ))}
    </div>
  );
}
