import { ProtocolError } from 'duologue/protocol';
import { KeyRound } from 'lucide-react';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { plainError } from '../errors/plain-words.ts';
import type { Messages } from '../i18n/en.ts';
import { useMessages } from '../i18n/language.tsx';
import { Button } from '../ui/button.tsx';
import { http } from './http.ts';

/** Asks the user for the key that the server requires. */
export function LoginForm({ onEnter }: { onEnter: () => void }) {
  const { login: words, errors } = useMessages();
  const [key, setKey] = useState('');
  const [failure, setFailure] = useState<unknown>(null);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const isWrong = isKeyWrong(failure);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setFailure(null);
    http.login(key).then(onEnter, setFailure);
  };
  return (
    <main className="flex h-full items-center justify-center p-6">
      <form
        onSubmit={submit}
        className="w-full max-w-sm rounded-2xl border border-line bg-surface p-6 shadow-lift"
      >
        <KeyRound className="size-6 text-accent" aria-hidden="true" />
        <h1 className="mt-4 text-lg font-semibold">{words.title}</h1>
        <p className="mt-1 text-sm text-soft">{words.hint}</p>
        <label className="mt-5 block text-sm font-medium">
          {words.label}
          <input
            ref={field}
            type="password"
            autoComplete="current-password"
            value={key}
            onChange={(event) => setKey(event.target.value)}
            aria-invalid={isWrong}
            className="mt-1 block h-10 w-full rounded-lg border border-line-strong bg-surface px-3 font-normal"
          />
        </label>
        {failure ? (
          <p role="alert" className="mt-2 text-sm text-bad">
            {isWrong ? words.wrong : failureText(failure, words, errors)}
          </p>
        ) : null}
        <Button type="submit" look="accent" className="mt-5 w-full">
          {words.enter}
        </Button>
      </form>
    </main>
  );
}

/** Whether the server refused the key. After many wrong keys it answers `rate_limited` to each further wrong one; the right key still works. */
function isKeyWrong(failure: unknown): boolean {
  return failure instanceof ProtocolError && ['unauthorized', 'rate_limited'].includes(failure.code);
}

/** What failed when the key could not be checked: the network, or the server. */
function failureText(failure: unknown, words: Messages['login'], errors: Messages['errors']): string {
  const error = failure instanceof Error ? failure : new Error(String(failure));
  const { title, text } = plainError(error, errors, 'conversation');
  return words.failed(title, text);
}
