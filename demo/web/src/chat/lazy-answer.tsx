import { type ComponentProps, type ComponentType, lazy, Suspense } from 'react';
import { useMessages } from '../i18n/language.tsx';
import type Loaded from './answer.tsx';

type Props = ComponentProps<typeof Loaded>;

/** Loads what shows an answer with its cards; nothing of it is needed before the first word. */
export const loadAnswer = () => import('./answer.tsx');

const Content = lazy<ComponentType<Props>>(() => loadAnswer().catch(() => ({ default: Missing })));

/** A message of the assistant; nothing until what shows it is loaded. */
export function Answer(props: Props) {
  return (
    <Suspense fallback={null}>
      <Content {...props} />
    </Suspense>
  );
}

/** Stands where an answer cannot be shown, for want of a network. */
function Missing() {
  const { panel } = useMessages();
  return (
    <p role="alert" className="text-sm">
      {panel.missing}
    </p>
  );
}
