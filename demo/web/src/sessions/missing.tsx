import { SquarePen } from 'lucide-react';
import { useMessages } from '../i18n/language.tsx';
import { Button } from '../ui/button.tsx';

/** Shown in place of a conversation that the server does not have. */
export function Missing({ onNew }: { onNew: () => void }) {
  const { errors, sessions } = useMessages();
  return (
    <div role="status" className="flex min-h-full flex-col items-start justify-center py-10">
      <h2 className="text-3xl font-semibold tracking-tight">{errors.missingTitle}</h2>
      <p className="mt-3 max-w-prose text-soft">{errors.missingText}</p>
      <Button look="accent" onClick={onNew} className="mt-8">
        <SquarePen className="size-4" aria-hidden="true" />
        {sessions.new}
      </Button>
    </div>
  );
}
