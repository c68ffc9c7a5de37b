import { useId } from 'react';
import { reveal } from '../approval/reveal.ts';
import { useMessages } from '../i18n/language.tsx';
import type { Field, Problem } from './form.ts';

const BOX =
  'mt-1 block w-full rounded-lg border border-line-strong bg-surface px-3 text-ink placeholder:text-soft aria-invalid:border-bad-line';
const LINE = `${BOX} h-10 pointer-coarse:h-11`;

/** An input with its label, its description and its error. */
export function FieldInput({
  field,
  label,
  value,
  problem,
  onChange,
}: {
  field: Field;
  /** The label for a field without a title. */
  label: string;
  value: string;
  problem: Problem | null;
  onChange: (value: string) => void;
}) {
  const { question } = useMessages();
  const id = useId();
  const { title, description, isRequired } = field;
  const note = description === null ? null : reveal(description);
  const about = [note === null ? null : `${id}-note`, problem === null ? null : `${id}-problem`].filter(
    (one) => one !== null,
  );
  const common = {
    id,
    value,
    required: isRequired,
    'aria-invalid': problem !== null,
    ...(about.length > 0 ? { 'aria-describedby': about.join(' ') } : {}),
    onChange: ({ target }: { target: { value: string } }) => onChange(target.value),
  };
  return (
    <div className="text-sm">
      <label htmlFor={id} className={title === '' ? 'sr-only' : 'text-soft'}>
        {title === '' ? label : reveal(title)}
        {isRequired || title === '' ? null : <span>{question.optional}</span>}
      </label>
      <Control field={field} common={common} />
      {note === null ? null : (
        <span id={`${id}-note`} className="mt-1 block text-xs text-soft">
          {note}
        </span>
      )}
      {problem === null ? null : (
        <span id={`${id}-problem`} className="mt-1 block text-xs font-medium text-bad">
          {question.problems[problem]}
        </span>
      )}
    </div>
  );
}

interface Common {
  id: string;
  value: string;
  required: boolean;
  onChange: (event: { target: { value: string } }) => void;
}

function Control({ field, common }: { field: Field; common: Common }) {
  const { question } = useMessages();
  switch (field.kind) {
    case 'text':
      // A question that has only this field may need a text of several lines. Enter sends it, as in the message box.
      return field.path.length === 0 ? (
        <textarea
          {...common}
          rows={2}
          maxLength={field.maxLength ?? undefined}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
            event.preventDefault();
            event.currentTarget.form?.requestSubmit();
          }}
          className={`${BOX} py-2`}
        />
      ) : (
        <input {...common} type={field.type} maxLength={field.maxLength ?? undefined} className={LINE} />
      );
    case 'number':
      return (
        <input
          {...common}
          type="number"
          inputMode={field.isInteger ? 'numeric' : 'decimal'}
          step={field.isInteger ? 1 : 'any'}
          min={field.minimum ?? undefined}
          max={field.maximum ?? undefined}
          className={LINE}
        />
      );
    case 'yes-no':
      return (
        <select {...common} className={LINE}>
          <option value="">{question.choose}</option>
          <option value="true">{question.yes}</option>
          <option value="false">{question.no}</option>
        </select>
      );
    case 'choice':
      return (
        <select {...common} className={LINE}>
          <option value="">{question.choose}</option>
          {field.choices.map(({ words }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a choice is known by its place alone
            <option key={index} value={String(index)}>
              {reveal(words)}
            </option>
          ))}
        </select>
      );
    case 'json':
      return <textarea {...common} rows={4} spellCheck={false} className={`${BOX} py-2 font-mono text-xs`} />;
  }
}
