import { KeyRound } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { useMessages } from '../i18n/language.tsx';
import { Button } from '../ui/button.tsx';
import { http } from './http.ts';

/** Asks the user for the key that the server requires. */
export function LoginForm({ onEnter }: { onEnter: () => void }) {
  const words = useMessages().login;
  const [key, setKey] = useState('');
  const [isWrong, setWrong] = useState(false);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    http.login(key).then(onEnter, () => setWrong(true));
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
            type="password"
            autoComplete="current-password"
            value={key}
            onChange={(event) => setKey(event.target.value)}
            aria-invalid={isWrong}
            className="mt-1 block h-10 w-full rounded-lg border border-line-strong bg-surface px-3 font-normal"
          />
        </label>
        {isWrong ? (
          <p role="alert" className="mt-2 text-sm text-bad">
            {words.wrong}
          </p>
        ) : null}
        <Button type="submit" look="accent" className="mt-5 w-full">
          {words.enter}
        </Button>
      </form>
    </main>
  );
}
